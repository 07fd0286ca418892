// The part of NCCL that Isthmus uses, found at run time: NCCL is not needed to build, nor to run.
//
// Types and values are those of the ABI that libnccl.so.2 keeps; a test compares them with nccl.h
// where it is.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "api.hpp"

namespace isthmus::cuda::nccl {

using Status = int;

struct CommTag;
using Comm = CommTag*;

/// What ranks need to find one another. It is passed by value.
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

/// The API of `$ISTHMUS_NCCL`, else of libnccl.so.2. Throws BackendError that says what is missing
/// and how to get it.
const Api& api();

/// Why there is no NCCL here, with the cure; "" where there is.
std::string missing();
/// As "2.21.5", of a library that is there.
std::string version();

/// Throws BackendError "CALL: what NCCL says (CODE)".
void check(Status status, const char* call);

}  // namespace isthmus::cuda::nccl
