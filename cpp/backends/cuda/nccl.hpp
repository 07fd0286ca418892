// The part of NCCL that Isthmus uses, loaded at run time: neither build nor start needs NCCL.
//
// Types and values follow the stable ABI of libnccl.so.2; a test compares them with nccl.h if it is
// installed.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "api.hpp"

namespace isthmus::cuda::nccl {

using Status = int;

struct CommTag;
using Comm = CommTag*;

/// Data by which ranks find one another; passed by value.
struct UniqueId {
  std::array<char, 128> bytes;
};

inline constexpr Status ok = 0;
inline constexpr Status in_progress = 7;
inline constexpr int type_byte = 1;

// name, result, parameters
#define ISTHMUS_NCCL_FUNCTIONS(X)                                         \
  X(ncclGetVersion, Status, (int*))                                       \
  X(ncclGetErrorString, const char*, (Status))                            \
  X(ncclGetUniqueId, Status, (UniqueId*))                                 \
  X(ncclCommInitRank, Status, (Comm*, int, UniqueId, int))                \
  X(ncclCommAbort, Status, (Comm))                                        \
  X(ncclCommGetAsyncError, Status, (Comm, Status*))                       \
  X(ncclGroupStart, Status, ())                                           \
  X(ncclGroupEnd, Status, ())                                             \
  X(ncclSend, Status, (const void*, std::size_t, int, int, Comm, Stream)) \
  X(ncclRecv, Status, (void*, std::size_t, int, int, Comm, Stream))

/// The functions, bound to one library.
struct Api {
#define ISTHMUS_DECLARE(name, result, parameters) result(*name) parameters = nullptr;
  ISTHMUS_NCCL_FUNCTIONS(ISTHMUS_DECLARE)
#undef ISTHMUS_DECLARE
  std::string library;  ///< as opened
};

/// The API of `$ISTHMUS_NCCL`, else of libnccl.so.2. Throws BackendError with the missing part and
/// the remedy.
const Api& api();

/// Why NCCL is missing here, with the remedy; "" if it is present.
std::string missing();
/// Version of the loaded library, e.g. "2.21.5".
std::string version();

/// Throws BackendError "CALL: NCCL's message (CODE)".
void check(Status status, const char* call);

}  // namespace isthmus::cuda::nccl
