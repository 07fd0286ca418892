// A libOpenCL.so.1 whose n-th call fails (strikes.hpp); it passes all others on to another loader.
// With ISTHMUS_FAULTY_FLIP no call fails, but each read of a buffer ends with one bit flipped.
#include <string_view>
#include <tuple>

#include "api.hpp"
#include "strikes.hpp"

namespace isthmus::cl {
namespace {

constexpr Int out_of_resources = -5;

using faulty::installed;
using faulty::strikes;

/// Flips a bit of what has been read; another one after each read.
void flip(Queue queue, void* data, std::size_t bytes) {
  static std::atomic<std::size_t> reads{0};
  reinterpret_cast<Int (*)(Queue)>(installed("clFinish"))(queue);
  const std::size_t bit = 7919 * reads++ % (8 * bytes);
  static_cast<unsigned char*>(data)[bit / 8] ^= static_cast<unsigned char>(1U << bit % 8);
}

template <class Function>
struct Call;

template <class Result, class... Arguments>
struct Call<Result(Arguments...)> {
  /// The error goes to the caller as OpenCL has it: as the result, or by the last argument.
  static Result failed(Arguments... arguments) {
    if constexpr (std::is_same_v<Result, Int>) {
      return out_of_resources;
    } else if constexpr (std::is_pointer_v<Result>) {
      const auto all = std::make_tuple(arguments...);
      const auto last = std::get<sizeof...(Arguments) - 1>(all);
      if constexpr (std::is_same_v<decltype(last), Int* const>) {
        if (last != nullptr) {
          *last = out_of_resources;
        }
      }
      return nullptr;
    } else {
      return Result();
    }
  }

  template <const char* name>
  static Result pass(Arguments... arguments) {
    if (strikes(name)) {
      return failed(arguments...);
    }
    const auto call = reinterpret_cast<Result (*)(Arguments...)>(installed(name));
    if constexpr (std::string_view(name) == "clEnqueueReadBuffer") {
      const Result result = call(arguments...);
      const auto all = std::make_tuple(arguments...);
      if (result == success && std::getenv("ISTHMUS_FAULTY_FLIP") != nullptr) {
        flip(std::get<0>(all), std::get<5>(all), std::get<4>(all));
      }
      return result;
    } else {
      return call(arguments...);
    }
  }
};

}  // namespace

// Declared with the types of the API alone: parameters need no names there.
#define ISTHMUS_PASS(Result, name, parameters)                                      \
  static constexpr char name_of_##name[] = #name;                                   \
  extern "C" void* resolve_##name() {                                               \
    return reinterpret_cast<void*>(&Call<Result parameters>::pass<name_of_##name>); \
  }                                                                                 \
  extern "C" __attribute__((visibility("default"), ifunc("resolve_" #name))) Result name parameters;
ISTHMUS_OPENCL_FUNCTIONS(ISTHMUS_PASS)
ISTHMUS_OPENCL_2_FUNCTIONS(ISTHMUS_PASS)

}  // namespace isthmus::cl
