// Compares our declarations with nccl.h if it is installed; tests the error if NCCL is missing.
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
// A C function takes this type by value.
static_assert(std::is_trivial_v<nccl::UniqueId> && std::is_standard_layout_v<nccl::UniqueId>);

TEST_CASE("cuda: the error of a missing NCCL says what to install", "[cuda]") {
  REQUIRE(setenv("ISTHMUS_NCCL", "/nowhere/libnccl.so.2", 1) == 0);
  const std::string message = nccl::missing();
  REQUIRE(unsetenv("ISTHMUS_NCCL") == 0);
  CHECK_THAT(message, Catch::Matchers::Contains("/nowhere/libnccl.so.2"));
  CHECK_THAT(message, Catch::Matchers::Contains("install"));
}

TEST_CASE("cuda: unknown links count as no links", "[cuda]") {
  CHECK_FALSE(nvlink_of("ffff:ff:1f.7", "/nowhere/libcuda.so.1").has_value());
  CHECK_FALSE(condition_of("ffff:ff:1f.7", "/nowhere/libcuda.so.1").has_value());
}

}  // namespace
}  // namespace isthmus::cuda
