// Makes a C++ function a kernel of the emulated card. `isthmus card kernel build` compiles it with
// -fsanitize=thread: the compiler then inserts calls of kernel_call.cpp at each access, which count
// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

namespace hls {
template <class T, int depth>
class stream;
class isthmus_outside;
}  // namespace hls

namespace isthmus::card::plugin {

enum class Kind : std::uint8_t {
  value,
  buffer,  ///< a pointer
  stream,  ///< a reference to a stream
  result   ///< a reference to a value, which is written to its register at the end
};

struct Argument {
  const char* name = nullptr;
  std::uint64_t offset = 0;  ///< position of the argument's register
  std::uint64_t bytes = 0;   ///< size of a value; 8 for all other kinds
  Kind kind = Kind::value;
  std::uint64_t element_bytes = 0;  ///< size of a pointer's elements
  bool writes = false;              ///< whether a pointer's elements are not const
};

constexpr std::size_t words_of(std::uint64_t bytes) {
  return static_cast<std::size_t>((bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
}

struct Kernel {
  const Argument* arguments;
  std::size_t count;
  /// Calls the function. Each argument begins at a new word of `values` and has `words_of` words: a
  /// register's value, the address of a buffer's copy, or of a stream's outer end.
  void (*call)(std::uint64_t* values);
};

/// Whether T is hls::stream or derived from it.
template <class T, class = void>
struct LeadsOut : std::false_type {};
template <class T>
struct LeadsOut<T, std::void_t<decltype(std::declval<T&>().isthmus_lead_to(
                       std::declval<hls::isthmus_outside&>()))>> : std::true_type {};

/// Returns the stream in an argument, which may be a structure with the stream as its only member.
template <class T>
auto& only_member(T& value) {
  auto& [only] = value;
  static_assert(LeadsOut<std::remove_reference_t<decltype(only)>>::value,
                "an argument that cannot be copied is a stream, or a structure of one");
  return only;
}
template <class T>
auto& stream_in(T& value) {
  if constexpr (LeadsOut<T>::value) {
    return value;
  } else {
    return only_member(value);
  }
}

/// Whether T is a stream, derived from one, or a structure whose only member is a stream.
template <class T>
struct IsStream
    : std::bool_constant<LeadsOut<T>::value || (std::is_aggregate_v<T> && std::is_class_v<T> &&
                                                !std::is_copy_constructible_v<T>)> {};
template <class T, int depth>
struct IsStream<hls::stream<T, depth>> : std::true_type {
  static_assert(sizeof(typename hls::stream<T, depth>::isthmus_value) > 0,
                "streams between kernels need Isthmus's hls_stream.h: build without XILINX_HLS");
};

/// An argument that accesses memory: a pointer, or a port of hls_burst_maxi.h.
template <class T, class = void>
struct Memory {
  static constexpr bool is = false;
};
template <class T>
struct Memory<T*> {
  static constexpr bool is = true;
  using Element = T;
};
template <class T>
struct Memory<T, std::void_t<typename T::isthmus_element>> {
  static constexpr bool is = true;
  using Element = typename T::isthmus_element;  // NOLINT(*-redundant-typename): C++17 needs it
};

template <class T>
constexpr Kind kind_of() {
  if constexpr (Memory<T>::is) {
    return Kind::buffer;
  } else if constexpr (!std::is_reference_v<T>) {
    return Kind::value;
  } else {
    return IsStream<std::remove_reference_t<T>>::value ? Kind::stream : Kind::result;
  }
}

template <class T>
constexpr std::uint64_t element_bytes() {
  if constexpr (Memory<T>::is) {
    using Element = std::remove_cv_t<std::remove_all_extents_t<typename Memory<T>::Element>>;
    if constexpr (std::is_void_v<Element>) {
      return 1;
    } else {
      return sizeof(Element);
    }
  } else {
    using Value = std::remove_reference_t<T>;
    static_assert(kind_of<T>() == Kind::stream || std::is_trivially_copy_constructible_v<Value>,
                  "a scalar argument is copied byte by byte");
    return 0;
  }
}

/// Returns the bytes of a value in registers; 8 for an address or a stream.
template <class T>
constexpr std::uint64_t argument_bytes() {
  constexpr bool is_value = kind_of<T>() == Kind::value || kind_of<T>() == Kind::result;
  return is_value ? sizeof(T) : sizeof(std::uint64_t);
}

template <class T>
constexpr bool writes() {
  if constexpr (Memory<T>::is) {
    return !std::is_const_v<typename Memory<T>::Element>;
  } else {
    return false;
  }
}

/// Holds argument number `n` while the kernel's function runs.
template <class T, std::size_t n, Kind kind = kind_of<T>()>
struct Given {
  explicit Given(std::uint64_t& stored) { std::memcpy(&value, &stored, sizeof(value)); }
  T pass() { return value; }
  std::remove_const_t<T> value;
};
template <class T, std::size_t n>
struct Given<T, n, Kind::buffer> {
  explicit Given(std::uint64_t& stored) : address(stored) {}
  T pass() {
    // NOLINTNEXTLINE(*-redundant-typename, *-int-to-ptr): C++17 needs it; registers hold addresses
    return reinterpret_cast<typename Memory<T>::Element*>(address);
  }
  std::uint64_t address;
};
template <class T, std::size_t n>
struct Given<T, n, Kind::stream> {
  explicit Given(std::uint64_t& stored) {
    // NOLINTNEXTLINE(*-int-to-ptr)
    stream_in(pass()).isthmus_lead_to(*reinterpret_cast<hls::isthmus_outside*>(stored));
  }
  T pass() {
    static std::remove_reference_t<T> stream;  // static: tasks use it in later runs
    return stream;
  }
};
template <class T, std::size_t n>
struct Given<T, n, Kind::result> {
  explicit Given(std::uint64_t& stored) : stored_(stored) {
    std::memcpy(&value, &stored, sizeof(value));
  }
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;
  ~Given() { std::memcpy(&stored_, &value, sizeof(value)); }
  T pass() { return value; }
  std::remove_const_t<std::remove_reference_t<T>> value;

 private:
  std::uint64_t& stored_;
};

template <auto function, class Type = decltype(function)>
struct Call;

template <auto function, class Result, class... Types>
struct Call<function, Result (*)(Types...)> {
  static constexpr std::size_t isthmus_count = sizeof...(Types);
  static constexpr std::array<std::uint64_t, isthmus_count + 1> isthmus_elements = {
      element_bytes<Types>()..., 0};
  static constexpr std::array<std::uint64_t, isthmus_count + 1> isthmus_sizes = {
      argument_bytes<Types>()..., 0};
  static constexpr std::array<Kind, isthmus_count + 1> isthmus_kinds = {kind_of<Types>()...,
                                                                        Kind::value};

  static constexpr std::array<bool, isthmus_count + 1> isthmus_written = {writes<Types>()...,
                                                                          false};
  /// The index of each argument's first word; the last entry is the number of all words.
  static constexpr std::array<std::size_t, isthmus_count + 1> isthmus_words = [] {
    std::array<std::size_t, isthmus_count + 1> begin{};
    for (std::size_t n = 0; n < isthmus_count; ++n) {
      begin[n + 1] = begin[n] + words_of(isthmus_sizes[n]);
    }
    return begin;
  }();

  static void isthmus_with(std::uint64_t* values) {
    each(values, std::index_sequence_for<Types...>());
  }

 private:
  template <std::size_t... n>
  // NOLINTNEXTLINE(*-non-const-parameter): results are written through it
  static void each([[maybe_unused]] std::uint64_t* values, std::index_sequence<n...> /*which*/) {
    [[maybe_unused]] std::tuple<Given<Types, n>...> given(values[isthmus_words[n]]...);
    function(std::get<n>(given).pass()...);
  }
};

}  // namespace isthmus::card::plugin

// The only name that the file generated from a kernel's source uses after that source, in which
// macros may have replaced any other name.
template <auto function>
using isthmus_call = isthmus::card::plugin::Call<function>;
using isthmus_argument = isthmus::card::plugin::Argument;
using isthmus_kernel_type = isthmus::card::plugin::Kernel;
inline constexpr auto isthmus_is_value = isthmus::card::plugin::Kind::value;
extern const isthmus_kernel_type isthmus_described;
