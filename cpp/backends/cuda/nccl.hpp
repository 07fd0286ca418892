// The part of NCCL that Isthmus uses; it loads NCCL at run time, so that neither build nor start
// needs it.
//
// Types and values follow the stable ABI of libnccl.so.2. A test compares them with nccl.h if it is
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

/// Data that rank 0 creates and sends to all ranks, so that their communicators connect; passed by
/// value.
struct UniqueId {
  std::array<char, 128> bytes;
};

inline constexpr Status ok = 0;
inline constexpr Status in_progress = 7;
inline constexpr int type_byte = 1;

// Each line: the name, the type of the result, the parameters.
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

/// Pointers to the functions of one library.
struct Api {
#define ISTHMUS_DECLARE(name, result, parameters) result(*name) parameters = nullptr;
  ISTHMUS_NCCL_FUNCTIONS(ISTHMUS_DECLARE)
#undef ISTHMUS_DECLARE
  std::string library;  ///< the name by which the library was opened
};

/// Opens `$ISTHMUS_NCCL`, else libnccl.so.2, at the first call. Throws BackendError that says what
/// is missing and what helps.
const Api& api();

/// Returns why NCCL cannot be used and what helps; "" if it can.
std::string missing();
/// Returns the version of the loaded library, e.g. "2.21.5".
std::string version();

/// Throws BackendError "CALL: NCCL's message (CODE)" unless the status is success.
void check(Status status, const char* call);

}  // namespace isthmus::cuda::nccl
