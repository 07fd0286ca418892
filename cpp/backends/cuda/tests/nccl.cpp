// Our declarations of NCCL's API: against nccl.h where there is one; and what is said without it.
#include "../nccl.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <type_traits>

#include "../nvml.hpp"

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>

namespace {

static_assert(sizeof(isthmus::cuda::nccl::UniqueId) == sizeof(ncclUniqueId));
static_assert(isthmus::cuda::nccl::ok == ncclSuccess);
static_assert(isthmus::cuda::nccl::in_progress == ncclInProgress);
static_assert(isthmus::cuda::nccl::type_byte == ncclUint8);

}  // namespace
#endif

namespace isthmus::cuda {
namespace {

static_assert(sizeof(nccl::UniqueId) == 128);
// Passed by value as C passes it.
static_assert(std::is_trivial_v<nccl::UniqueId> && std::is_standard_layout_v<nccl::UniqueId>);

TEST_CASE("cuda: a missing NCCL is told with its cure", "[cuda]") {
  REQUIRE(setenv("ISTHMUS_NCCL", "/nowhere/libnccl.so.2", 1) == 0);
  const std::string told = nccl::missing();
  REQUIRE(unsetenv("ISTHMUS_NCCL") == 0);
  CHECK_THAT(told, Catch::Matchers::Contains("/nowhere/libnccl.so.2"));
  CHECK_THAT(told, Catch::Matchers::Contains("install"));
}

TEST_CASE("cuda: links that nobody tells of are no links", "[cuda]") {
  CHECK_FALSE(nvlink_of("ffff:ff:1f.7", "/nowhere/libcuda.so.1").has_value());
  CHECK_FALSE(condition_of("ffff:ff:1f.7", "/nowhere/libcuda.so.1").has_value());
}

}  // namespace
}  // namespace isthmus::cuda
