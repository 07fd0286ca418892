// A function with pointers as a kernel of the emulated card. `isthmus card kernel build` compiles
// it with -fsanitize=thread, so that each access calls a function of kernel_call.cpp, which counts
// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace isthmus::card::plugin {

struct Argument {
  const char* name = nullptr;
  std::uint64_t offset = 0;         ///< of its register
  std::uint64_t bytes = 0;          ///< of a scalar's value, 8 of an address
  std::uint64_t element_bytes = 0;  ///< of what a pointer points to; 0: a scalar
};

struct Kernel {
  const Argument* arguments;
  std::size_t count;
  void (*call)(const std::uint64_t* values);
};

template <class T>
constexpr std::uint64_t element_bytes() {
  static_assert(!std::is_reference_v<T>,
                "the emulated card has no streams between kernels, and takes pointers, not "
                "references, as arguments");
  if constexpr (std::is_pointer_v<T>) {
    using Element = std::remove_cv_t<std::remove_pointer_t<T>>;
    if constexpr (std::is_void_v<Element>) {
      return 1;
    } else {
      return sizeof(Element);
    }
  } else {
    static_assert(sizeof(T) <= sizeof(std::uint64_t) && std::is_trivially_copyable_v<T>,
                  "a scalar argument has at most 8 bytes");
    return 0;
  }
}

template <class T>
T value_of(const std::uint64_t& stored) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(stored);
  } else {
    T value;
    std::memcpy(&value, &stored, sizeof(value));
    return value;
  }
}

template <auto function, class Type = decltype(function)>
struct Call;

template <auto function, class Result, class... Types>
struct Call<function, Result (*)(Types...)> {
  static constexpr std::size_t count = sizeof...(Types);
  static constexpr std::array<std::uint64_t, count + 1> elements = {element_bytes<Types>()..., 0};
  static constexpr std::array<std::uint64_t, count + 1> sizes = {sizeof(Types)..., 0};

  static void with(const std::uint64_t* values) {
    each(values, std::index_sequence_for<Types...>());
  }

 private:
  template <std::size_t... n>
  static void each([[maybe_unused]] const std::uint64_t* values,
                   std::index_sequence<n...> /*which*/) {
    function(value_of<Types>(values[n])...);
  }
};

}  // namespace isthmus::card::plugin
