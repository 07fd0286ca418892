// Preloaded before libxrt_coreutil: the n-th call of its C++ interface throws (strikes.hpp), as XRT
// itself reports errors. symbols.inc has ISTHMUS_XRT_CALL(symbol) for each function that the
// backend calls. x86-64: the arguments stay where they are, whatever their types.
#include <cerrno>
#include <system_error>

#include "strikes.hpp"

/// The function to go on with; throws where this call is the one that fails.
extern "C" void* isthmus_faulty_target(const char* symbol) {
  if (isthmus::faulty::strikes(symbol)) {
    throw std::system_error(EIO, std::generic_category(), "made to fail");
  }
  return isthmus::faulty::installed(symbol);
}

// Saves the six registers of arguments and those of floating-point ones. The stack stays aligned:
// return address, six registers, and 136 bytes.
#define ISTHMUS_XRT_CALL(symbol)                                                   \
  asm(".text\n.globl " #symbol "\n.type " #symbol ", @function\n" #symbol          \
      ":\n.cfi_startproc\n"                                                        \
      "push %rdi\n.cfi_adjust_cfa_offset 8\npush %rsi\n.cfi_adjust_cfa_offset 8\n" \
      "push %rdx\n.cfi_adjust_cfa_offset 8\npush %rcx\n.cfi_adjust_cfa_offset 8\n" \
      "push %r8\n.cfi_adjust_cfa_offset 8\npush %r9\n.cfi_adjust_cfa_offset 8\n"   \
      "sub $136, %rsp\n.cfi_adjust_cfa_offset 136\n"                               \
      "movups %xmm0, (%rsp)\nmovups %xmm1, 16(%rsp)\n"                             \
      "lea 1f(%rip), %rdi\ncall isthmus_faulty_target@PLT\nmov %rax, %r11\n"       \
      "movups (%rsp), %xmm0\nmovups 16(%rsp), %xmm1\n"                             \
      "add $136, %rsp\n.cfi_adjust_cfa_offset -136\n"                              \
      "pop %r9\n.cfi_adjust_cfa_offset -8\npop %r8\n.cfi_adjust_cfa_offset -8\n"   \
      "pop %rcx\n.cfi_adjust_cfa_offset -8\npop %rdx\n.cfi_adjust_cfa_offset -8\n" \
      "pop %rsi\n.cfi_adjust_cfa_offset -8\npop %rdi\n.cfi_adjust_cfa_offset -8\n" \
      "jmp *%r11\n.cfi_endproc\n.size " #symbol ", .-" #symbol                     \
      "\n"                                                                         \
      ".section .rodata\n1: .asciz \"" #symbol "\"\n.text\n");
#include "symbols.inc"
