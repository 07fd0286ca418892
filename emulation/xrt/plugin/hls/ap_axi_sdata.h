// Replaces AMD's header of this name, if that is absent: words of a stream with AXI4-Stream's
// sideband signals. A kernel in C++ receives all signals, a Verilog module those for which it has
// ports.
#pragma once

#include "isthmus_standard.h"

#include <ap_int.h>

#include <cstring>

template <class Data, int data_bits, int user_bits, int id_bits, int dest_bits>
struct isthmus_axis {
  // Here a field of 0 bits has 1 bit, because C++ has no empty field; a kernel must not use it.
  static constexpr int wide(int bits) { return bits > 0 ? bits : 1; }
  static constexpr int keep_bits = (data_bits + 7) / 8;

  Data data{};
  ap_uint<keep_bits> keep = ~ap_uint<keep_bits>(0);
  ap_uint<keep_bits> strb = ~ap_uint<keep_bits>(0);
  ap_uint<wide(user_bits)> user = 0;
  ap_uint<1> last = 0;
  ap_uint<wide(id_bits)> id = 0;
  ap_uint<wide(dest_bits)> dest = 0;

  Data get_data() const { return data; }
  ap_uint<keep_bits> get_keep() const { return keep; }
  ap_uint<keep_bits> get_strb() const { return strb; }
  ap_uint<wide(user_bits)> get_user() const { return user; }
  ap_uint<1> get_last() const { return last; }
  void set_data(const Data& value) { data = value; }
  void set_keep(const ap_uint<keep_bits>& value) { keep = value; }
  void set_strb(const ap_uint<keep_bits>& value) { strb = value; }
  void set_user(const ap_uint<wide(user_bits)>& value) { user = value; }
  void set_last(const ap_uint<1>& value) { last = value; }
  ap_uint<wide(id_bits)> get_id() const { return id; }
  ap_uint<wide(dest_bits)> get_dest() const { return dest; }
  void set_id(const ap_uint<wide(id_bits)>& value) { id = value; }
  void set_dest(const ap_uint<wide(dest_bits)>& value) { dest = value; }
  void keep_all() { keep = strb = ~ap_uint<keep_bits>(0); }
};

// Which fields a port has. Here all fields exist, but a kernel must use only the enabled ones.
#define AXIS_ENABLE_DATA 0b00000001
#define AXIS_ENABLE_DEST 0b00000010
#define AXIS_ENABLE_ID 0b00000100
#define AXIS_ENABLE_KEEP 0b00001000
#define AXIS_ENABLE_LAST 0b00010000
#define AXIS_ENABLE_STRB 0b00100000
#define AXIS_ENABLE_USER 0b01000000
#define AXIS_DISABLE_DATA (0b11111111 ^ AXIS_ENABLE_DATA)
#define AXIS_DISABLE_DEST (0b11111111 ^ AXIS_ENABLE_DEST)
#define AXIS_DISABLE_ID (0b11111111 ^ AXIS_ENABLE_ID)
#define AXIS_DISABLE_KEEP (0b11111111 ^ AXIS_ENABLE_KEEP)
#define AXIS_DISABLE_LAST (0b11111111 ^ AXIS_ENABLE_LAST)
#define AXIS_DISABLE_STRB (0b11111111 ^ AXIS_ENABLE_STRB)
#define AXIS_DISABLE_USER (0b11111111 ^ AXIS_ENABLE_USER)
#define AXIS_ENABLE_ALL 0b01111111
#define AXIS_DISABLE_ALL 0b00000000

template <int data_bits, int user_bits = 0, int id_bits = 0, int dest_bits = 0,
          unsigned char fields = AXIS_ENABLE_ALL, bool only_these = false>
using ap_axiu = isthmus_axis<ap_uint<data_bits>, data_bits, user_bits, id_bits, dest_bits>;
template <int data_bits, int user_bits = 0, int id_bits = 0, int dest_bits = 0,
          unsigned char fields = AXIS_ENABLE_ALL, bool only_these = false>
using ap_axis = isthmus_axis<ap_int<data_bits>, data_bits, user_bits, id_bits, dest_bits>;
template <int data_bits, int user_bits, int id_bits, int dest_bits>
using qdma_axis = ap_axiu<data_bits, user_bits, id_bits, dest_bits>;

/// The number of bits that a type has on a stream.
template <class Data>
struct isthmus_axis_data {
  using type = Data;
  template <class T>
  static constexpr int width(decltype(T::width)* /*there*/) {
    return T::width;
  }
  template <class T>
  static constexpr int width(...) {
    return 8 * static_cast<int>(sizeof(T));
  }
  static constexpr int bits = width<Data>(nullptr);
};
template <>
struct isthmus_axis_data<void> {  // a port without data has one byte here
  using type = ap_uint<8>;
  static constexpr int bits = 8;
};

namespace hls {

template <class Data, std::size_t user_bits = 0, std::size_t id_bits = 0, std::size_t dest_bits = 0,
          unsigned char fields = AXIS_ENABLE_ALL, bool only_these = false>
using axis = isthmus_axis<typename isthmus_axis_data<Data>::type, isthmus_axis_data<Data>::bits,
                          static_cast<int>(user_bits), static_cast<int>(id_bits),
                          static_cast<int>(dest_bits)>;
template <class Data, unsigned char fields = AXIS_ENABLE_ALL, bool only_these = false>
using axis_data = axis<Data, 0, 0, 0, fields, only_these>;
template <std::size_t user_bits, unsigned char fields = AXIS_ENABLE_ALL, bool only_these = false>
using axis_user = axis<void, user_bits, 0, 0, fields, only_these>;

template <class Data, int d, int u, int i, int t>
struct isthmus_word<isthmus_axis<Data, d, u, i, t>, void> {
  using Word = isthmus_axis<Data, d, u, i, t>;
  static constexpr std::size_t data_bytes = Word::keep_bits;
  static constexpr std::size_t sideband_bytes = sizeof(Word::last) + 2 * sizeof(Word::keep) +
                                                sizeof(Word::user) + sizeof(Word::id) +
                                                sizeof(Word::dest);

  static void pack(const Word& value, void* data, void* sideband) {
    std::memcpy(data, static_cast<const void*>(&value.data), data_bytes);
    auto* to = static_cast<unsigned char*>(sideband);
    each(value, [&to](const auto& field) {
      std::memcpy(to, static_cast<const void*>(&field), sizeof(field));
      to += sizeof(field);
    });
  }
  static void unpack(Word& value, const void* data, const void* sideband) {
    std::memcpy(static_cast<void*>(&value.data), data, data_bytes);
    const auto* from = static_cast<const unsigned char*>(sideband);
    each(value, [&from](auto& field) {
      std::memcpy(static_cast<void*>(&field), from, sizeof(field));
      from += sizeof(field);
    });
  }

 private:
  /// Calls `action` for each signal, in the order of rtl_stream.hpp.
  template <class Value, class Action>
  static void each(Value& value, const Action& action) {
    action(value.last);
    action(value.keep);
    action(value.strb);
    action(value.user);
    action(value.id);
    action(value.dest);
  }
};

}  // namespace hls
