// Sends a kernel's output to stderr, because stdout belongs to the program in whose process the
// kernel runs. This file is linked to each kernel and replaces functions and objects of libc and
// libstdc++ in the kernel's library.
#include <cstdarg>
#include <cstdio>
#include <ostream>

#define ISTHMUS_IN_KERNEL __attribute__((visibility("hidden")))

// libc's and libstdc++'s own names for these objects.
extern std::ostream isthmus_errors asm("_ZSt4cerr");
ISTHMUS_IN_KERNEL extern std::ostream isthmus_output asm("_ZSt4cout");
ISTHMUS_IN_KERNEL extern FILE* isthmus_stdout asm("stdout");

// Constructed before all other static objects (101), which may print. std::cerr exists already,
// because libstdc++ makes it.
// NOLINTNEXTLINE(*-throwing-static-initialization,*-global-init)
__attribute__((init_priority(101))) std::ostream isthmus_output(isthmus_errors.rdbuf());
FILE* isthmus_stdout = nullptr;
__attribute__((constructor(101))) static void lead_stdout() { isthmus_stdout = stderr; }

// C's header declares its functions as visible, so these have other names in C++.
ISTHMUS_IN_KERNEL int isthmus_vprintf(const char* format, std::va_list values) asm("vprintf");
ISTHMUS_IN_KERNEL int isthmus_printf(const char* format, ...) asm("printf");
ISTHMUS_IN_KERNEL int isthmus_puts(const char* text) asm("puts");
ISTHMUS_IN_KERNEL int isthmus_putchar(int character) asm("putchar");

int isthmus_vprintf(const char* format, std::va_list values) {
  return std::vfprintf(stderr, format, values);
}

// Replaces C's printf. NOLINTNEXTLINE(modernize-avoid-variadic-functions)
int isthmus_printf(const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  const int printed = std::vfprintf(stderr, format, values);
  va_end(values);
  return printed;
}

int isthmus_puts(const char* text) {
  return std::fputs(text, stderr) < 0 ? EOF : std::fputc('\n', stderr);
}

int isthmus_putchar(int character) { return std::fputc(character, stderr); }
