// What the headers that stand in for HLS's make of integers and words of streams. Ends with 1 and
// names what is wrong.
#include <ap_axi_sdata.h>
#include <ap_int.h>
#include <ap_shift_reg.h>
#include <ap_utils.h>
#include <hls_math.h>
#include <hls_print.h>
#include <hls_stream.h>
#include <hls_vector.h>

#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "hls_check.hpp"

namespace {

void vectors() {
  using Four = hls::vector<int, 4>;
  const Four counted = {1, 2, 3, 4};
  Four sum = counted + 10;
  CHECK(sum[0] == 11 && sum[3] == 14);
  sum *= counted;
  CHECK(sum[3] == 56);
  CHECK((2 * counted - 1)[2] == 5);
  CHECK((counted << 2)[3] == 16 && (counted % 2)[2] == 1);
  const Four greater = {1, 2, 4, 0};
  CHECK(counted < greater && counted <= greater && !(counted > greater) && !(counted >= greater));
  CHECK(counted == Four(std::array<int, 4>{1, 2, 3, 4}) && counted != greater);
  CHECK(counted.reduce_add() == 10 && counted.reduce_mult() == 24 && counted.reduce_xor() == 4);
  CHECK((++sum)[0] == 12 && (sum++)[0] == 12 && (sum--)[0] == 13 && (--sum)[0] == 11);
  CHECK(sizeof(Four) == 16 && alignof(Four) == 16);
  CHECK(sizeof(hls::vector<std::uint8_t, 12>) == 12 && alignof(hls::vector<std::uint8_t, 12>) == 4);
  const hls::vector<ap_uint<8>, 2> bytes = ap_uint<8>(200);
  CHECK((bytes + bytes)[1] == 144);
  int total = 0;
  for (const int value : counted) {
    total += value;
  }
  CHECK(total == 10);
  bool refused = false;
  try {
    const Four three = {1, 2, 3};
    refused = three[0] == 0;
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
  hls::stream<Four> stream("of vectors");
  stream << counted;
  CHECK(stream.read().reduce_or() == 7);
}

void others() {
  ap_shift_reg<int, 3> shifted("shifted");
  CHECK(shifted.shift(1) == 0 && shifted.shift(2) == 0 && shifted.shift(3) == 0);
  CHECK(shifted.read() == 1 && shifted.read(0) == 3);
  CHECK(shifted.shift(4, 1) == 2 && shifted.read(1) == 3);
  CHECK(shifted.shift(5, 0, false) == 4 && shifted.read(0) == 4);
  CHECK(hls::sqrt(2.25F) == 1.5F && hls::abs(-3) == 3 && hls::rsqrt(4.0) == 0.5);
  CHECK(hls::max(2, 3) == 3 && hls::min(2, 3) == 2 && hls::recip(4.0F) == 0.25F);
  CHECK(hls::floor(-1.5) == -2 && hls::isnan(hls::log(-1.0)));
  ap_wait();
  ap_wait_n(3);
  hls::print("");
}

void narrow() {
  ap_uint<8> byte = 250;
  byte += 10;
  CHECK(byte == 4);
  ap_uint<8> zero = 0;
  CHECK(zero - 1 == -1);
  CHECK(--zero == 255);
  ap_int<5> five = 15;
  five++;
  CHECK(five == -16);
  const ap_uint<8> high = 0xF0;
  CHECK((high << 4) == 0);
  CHECK((high >> 4U) == 15);
  CHECK((high << ap_uint<3>(1)) == 0xE0);
  CHECK(~high == 0x0F);
  const ap_int<8> least = -128;
  CHECK((least >> 3) == -16);
  CHECK((least >> 9) == -1);
  ap_uint<64> all = ~0ULL;
  CHECK(++all == 0);
  ap_int<33> wide = ap_uint<8>(200);
  wide = -wide;
  CHECK(wide == -200);
  CHECK(wide * wide == 40000);
  CHECK(wide / 3 == -66);
  CHECK(wide % 7 == -4);
  int counted = 0;
  for (ap_uint<5> i = 0; i < 20; i++) {
    counted += i.to_int();
  }
  CHECK(counted == 190);
  std::ostringstream text;
  text << five << ' ' << byte;
  CHECK(text.str() == "-16 4");
  CHECK(sizeof(ap_uint<16>) == 2 && sizeof(ap_uint<24>) == 4 && sizeof(ap_int<64>) == 8);
}

void bits() {
  ap_uint<8> number = 0xF0;
  number.range(3, 0) = 5;
  CHECK(number == 0xF5);
  CHECK(number(7, 4) == 15);
  number[0] = 0;
  CHECK(number == 0xF4);
  CHECK(number[2] && !number[3]);
  CHECK(ap_uint<8>(255).and_reduce() && !ap_uint<8>(254).and_reduce());
  CHECK(ap_uint<8>(7).xor_reduce() && !ap_uint<8>(0).or_reduce());
  const ap_uint<16> both = (ap_uint<8>(0xAB), ap_uint<8>(0xCD));
  CHECK(both == 0xABCD);
  const ap_uint<72> more = (ap_uint<8>(0xAB), ap_uint<64>(~0ULL));
  CHECK(more.range(71, 64) == 0xAB);
}

void words() {
  CHECK(sizeof(ap_uint<512>) == 64);
  ap_uint<512> word = 0;
  for (int lane = 0; lane < 16; ++lane) {
    word.range(32 * lane + 31, 32 * lane) = 1000 + lane;
  }
  const ap_uint<512> kept = word;
  for (int lane = 0; lane < 16; ++lane) {
    CHECK(kept(32 * lane + 31, 32 * lane).to_int() == 1000 + lane);
  }
  CHECK((word >> 32).range(31, 0) == 1001);
  CHECK((word << 32).range(511, 480) == 1014);
  word(31, 0) = word(63, 32);
  CHECK(word.range(31, 0) == 1001);
  ap_uint<128> power = ap_uint<128>(1) << 100;
  CHECK(power - 1 < power);
  power -= 1;
  CHECK(power.range(99, 64) == 0xFFFFFFFFFULL);
  CHECK(power.range(127, 100) == 0);
  ap_int<100> negative = -5;
  negative += 3;
  CHECK(negative == -2 && negative < 0 && negative >> 50 == -1);
  ap_uint<96> sum = 0;
  for (int n = 0; n < 100; ++n) {
    sum += ap_uint<96>(1) << 63;
  }
  CHECK(static_cast<int>(sum >> 63) == 100);
  CHECK(ap_uint<68>("0x123456789abcdef01").to_string(16) == "0x123456789ABCDEF01");
}

void results() {
  const ap_uint<64> a = ~0ULL;
  const ap_uint<64> b = 1;
  const ap_uint<65> sum = a + b;
  CHECK(sum.to_string(16) == "0x10000000000000000");
  CHECK(b - a < 0);
  const ap_uint<128> square = a * a;
  CHECK(square.to_string(16) == "0xFFFFFFFFFFFFFFFE0000000000000001");
  const ap_uint<40> d = (1ULL << 40) - 1;
  const ap_uint<80> product = d * d;
  CHECK(product.to_string(16) == "0xFFFFFFFFFE0000000001");
  const ap_uint<32> c = ~0U;
  CHECK(c * c > 0);
  CHECK(c * c == 0xFFFFFFFE00000001ULL);
  const ap_int<64> least = 1LL << 63;
  const ap_int<64> minus = -1;
  CHECK((least + minus).to_string(16, false) == "0x17FFFFFFFFFFFFFFF");
  CHECK(least * minus == ap_uint<64>(1ULL << 63) && -least > 0 && least / minus > 0);
  CHECK(minus < a && minus < 1U && minus * a < 0 && a > minus);
  CHECK(minus % 7U == -1 && a / 10 == ~0ULL / 10 && 7 - b == 6);
  CHECK((a & minus) == a && (b | 6) == 7);
  ap_uint<128> held = 0;
  held += a;
  held %= ap_uint<65>(a) + 1U;
  ++held;
  CHECK((held >> ap_uint<7>(64)) == 1 && held / 3U == 0x5555555555555555ULL);
  CHECK(held + a == sum + a - 0 && held + ap_uint<512>(1) > held);
  CHECK(a + held.range(127, 64) == held && b * held.range(64, 60) == 16);
  enum Place : int { before = -1, first };
  CHECK(held != first && minus == before && held + before == a && b > before);
  CHECK(b * 2.5 == 2.5);
  const unsigned long long low = held + 5;
  CHECK(low == 5);
}

template <class Number>
bool is_refused(const char* digits, int radix = 10) {
  try {
    return Number(digits, radix) == 0 && false;
  } catch (const std::invalid_argument&) {
    return true;
  }
}

void digits() {
  CHECK(ap_uint<128>("100", 10) == 100 && ap_uint<128>("100") == 100);
  CHECK(ap_uint<128>("100", 16) == 256 && ap_uint<128>("100", 8) == 64);
  CHECK(ap_uint<128>("100", 2) == 4 && ap_uint<128>("0b101") == 5);
  CHECK(ap_uint<128>("0b1", 16) == 0xb1 && ap_uint<128>("0X1f", 16) == 31);
  CHECK(ap_int<128>("-18446744073709551617") + 1 == -ap_int<66>(ap_uint<65>(1) << 64));
  CHECK(ap_int<8>("-128") == -128 && ap_uint<8>("+0x1F") == 31 && ap_int<6>("0o17", 8) == 15);
  CHECK(ap_uint<64>("18446744073709551615") == ~0ULL && ap_uint<4>("101", 2) == 5);
  CHECK(is_refused<ap_uint<128>>("12a") && is_refused<ap_uint<8>>("2", 2));
  CHECK(ap_uint<8>(10).to_string() == "0b00001010" && ap_uint<8>(10).to_string(8) == "0o12");
  CHECK(ap_int<72>(-1).to_string(16) == "-0x01" && ap_uint<72>(0).to_string(16) == "0x0");
  CHECK(ap_int<12>(-5).to_string(10) == "-5" && ap_int<12>(-5).to_string(16, false) == "0xffb");
  std::stringstream text("12 -7 ff 0x10 z");
  ap_uint<72> wide;
  ap_int<8> narrow;
  text >> wide >> narrow;
  CHECK(wide == 12 && narrow == -7);
  text >> std::hex >> wide >> narrow;
  CHECK(wide == 255 && narrow == 16 && !(text >> narrow));
  std::ostringstream shown;
  shown << (ap_uint<128>(1) << 100) << ' ' << -(ap_int<100>(1) << 70) << ' ' << std::hex
        << ap_uint<72>("0x0fedcba9876543210") << ' ' << ap_uint<72>(0) << ' ' << ap_uint<9>(255);
  CHECK(shown.str() ==
        "1267650600228229401496703205376 -1180591620717411303424 "
        "0x0FEDCBA9876543210 0x0 0xff");
  CHECK(is_refused<ap_uint<8>>("") && is_refused<ap_uint<8>>("1", 7));
}

void streams() {
  CHECK(hls::isthmus_word<ap_uint<24>>::data_bytes == 3);
  using Packet = ap_axis<512, 4, 0, 3>;
  using Word = hls::isthmus_word<Packet>;
  CHECK(Word::data_bytes == 64);
  Packet sent;
  sent.data.range(31, 0) = 77;
  sent.user = 9;
  sent.dest = 5;
  sent.last = 1;
  unsigned char data[Word::data_bytes];
  unsigned char beside[Word::sideband_bytes];
  Word::pack(sent, data, beside);
  CHECK(beside[0] == 1);  // TLAST is first
  Packet got;
  Word::unpack(got, data, beside);
  CHECK(got.data == sent.data && got.user == 9 && got.dest == 5 && got.last == 1);
  CHECK(got.keep.and_reduce());
  hls::stream<Packet> within("within");
  within << sent;
  CHECK(within.size() == 1 && within.read().user == 9 && within.empty());
}

}  // namespace

int main() {
  vectors();
  others();
  narrow();
  bits();
  words();
  results();
  digits();
  streams();
  return wrong == 0 ? 0 : 1;
}
