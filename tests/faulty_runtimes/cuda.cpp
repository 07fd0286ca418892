// A libcuda.so.1 whose n-th call fails (strikes.hpp); it passes all others on to another driver.
#include "api.hpp"
#include "strikes.hpp"

namespace isthmus::cuda {
namespace {

constexpr Result unknown_error = 999;

template <class Function>
struct Call;

template <class... Arguments>
struct Call<Result(Arguments...)> {
  template <const char* name>
  static Result pass(Arguments... arguments) {
    if (faulty::strikes(name)) {
      return unknown_error;
    }
    return reinterpret_cast<Result (*)(Arguments...)>(faulty::installed(name))(arguments...);
  }
};

}  // namespace

#define ISTHMUS_PASS(name, symbol, parameters)                                        \
  static constexpr char name_of_##symbol[] = #symbol;                                 \
  extern "C" void* resolve_##symbol() {                                               \
    return reinterpret_cast<void*>(&Call<Result parameters>::pass<name_of_##symbol>); \
  }                                                                                   \
  extern "C"                                                                          \
      __attribute__((visibility("default"), ifunc("resolve_" #symbol))) Result symbol parameters;
ISTHMUS_CUDA_FUNCTIONS(ISTHMUS_PASS)

}  // namespace isthmus::cuda
