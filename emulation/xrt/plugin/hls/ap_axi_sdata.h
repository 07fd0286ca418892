// Stands in for AMD's header of the name, where that is not there: words of a stream with what
// AXI4-Stream sends beside the data. All of it arrives at another kernel in C++; at a module in
// Verilog what it has ports for.
#pragma once

#include <ap_int.h>

#include <cstring>

template <class Data, int data_bits, int user_bits, int id_bits, int dest_bits>
struct isthmus_axis {
  // A field of no bits has one here, as nobody may look at it.
  static constexpr int wide(int bits) { return bits > 0 ? bits : 1; }
  static constexpr int keep_bits = (data_bits + 7) / 8;

  Data data = 0;
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
  void keep_all() { keep = strb = ~ap_uint<keep_bits>(0); }
};

template <int data_bits, int user_bits, int id_bits, int dest_bits>
using ap_axiu = isthmus_axis<ap_uint<data_bits>, data_bits, user_bits, id_bits, dest_bits>;
template <int data_bits, int user_bits, int id_bits, int dest_bits>
using ap_axis = isthmus_axis<ap_int<data_bits>, data_bits, user_bits, id_bits, dest_bits>;
template <int data_bits, int user_bits, int id_bits, int dest_bits>
using qdma_axis = ap_axiu<data_bits, user_bits, id_bits, dest_bits>;

namespace hls {

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
  /// In the order of rtl_stream.hpp.
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
