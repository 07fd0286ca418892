// What ap_fixed.h makes of numbers of fixed point. Ends with 1 and names what is wrong.
#include <ap_fixed.h>

#include <cmath>
#include <cstdio>
#include <sstream>

#include "hls_check.hpp"

namespace {

template <ap_q_mode mode>
double halves(double value) {
  return ap_fixed<3, 2, mode, AP_SAT>(value).to_double();
}

void quantisation() {
  CHECK(halves<AP_RND>(1.25) == 1.5 && halves<AP_RND>(-1.25) == -1);
  CHECK(halves<AP_RND_ZERO>(1.25) == 1 && halves<AP_RND_ZERO>(-1.25) == -1);
  CHECK(halves<AP_RND_MIN_INF>(1.25) == 1 && halves<AP_RND_MIN_INF>(-1.25) == -1.5);
  CHECK(halves<AP_RND_INF>(1.25) == 1.5 && halves<AP_RND_INF>(-1.25) == -1.5);
  CHECK(halves<AP_RND_CONV>(0.75) == 1 && halves<AP_RND_CONV>(-1.25) == -1);
  CHECK(halves<AP_RND_CONV>(0.25) == 0 && halves<AP_RND_CONV>(1.2501) == 1.5);
  CHECK(halves<AP_TRN>(1.25) == 1 && halves<AP_TRN>(-1.25) == -1.5);
  CHECK(halves<AP_TRN_ZERO>(1.25) == 1 && halves<AP_TRN_ZERO>(-1.25) == -1);
  CHECK(halves<AP_RND_ZERO>(0.3125) == 0.5 && halves<AP_RND_MIN_INF>(-0.3125) == -0.5);
  // Numbers far below the last bit.
  CHECK(ap_fixed<8, 4>(-1e-30) == -0.0625 && ap_fixed<8, 4, AP_TRN_ZERO>(-1e-30) == 0);
  CHECK(ap_fixed<8, 4, AP_RND>(-1e-60) == 0 && ap_fixed<8, 4>(1e-60) == 0);
}

template <ap_o_mode mode>
double four(double value) {
  return ap_fixed<4, 4, AP_TRN, mode>(value).to_double();
}
template <ap_o_mode mode>
double four_unsigned(double value) {
  return ap_ufixed<4, 4, AP_TRN, mode>(value).to_double();
}

void overflow() {
  CHECK(four<AP_SAT>(19) == 7 && four<AP_SAT>(-19) == -8);
  CHECK(four_unsigned<AP_SAT>(19) == 15 && four_unsigned<AP_SAT>(-19) == 0);
  CHECK(four<AP_SAT_ZERO>(19) == 0 && four<AP_SAT_ZERO>(-19) == 0 && four<AP_SAT_ZERO>(-8) == -8);
  CHECK(four<AP_SAT_SYM>(19) == 7 && four<AP_SAT_SYM>(-19) == -7 && four<AP_SAT_SYM>(-8) == -7);
  CHECK(four_unsigned<AP_SAT_SYM>(19) == 15 && four_unsigned<AP_SAT_SYM>(-19) == 0);
  CHECK(four<AP_WRAP>(31) == -1 && four<AP_WRAP>(-19) == -3);
  CHECK(four_unsigned<AP_WRAP>(19) == 3 && four_unsigned<AP_WRAP>(-19) == 13);
  CHECK(ap_ufixed<8, 8, AP_RND, AP_SAT>(255.5) == 255);  // what is rounded up overflows, too
  CHECK(ap_fixed<8, 4, AP_RND, AP_SAT>(1e30) == 7.9375 && ap_fixed<8, 4>(1e30) == 0);
  CHECK(ap_fixed<8, 4, AP_RND, AP_SAT>(-1e300) == -8);
}

void places() {
  const ap_fixed<2, 0> least = -0.5;
  const ap_ufixed<1, 0> half = 0.5;
  const ap_ufixed<1, -1> quarter = 0.25;
  const ap_fixed<1, -7> small = -1.0 / 256;
  const ap_fixed<4, 6> large = 20;  // in steps of 4
  CHECK(least == -0.5 && half == 0.5 && quarter == 0.25 && small == -1.0 / 256 && large == 20);
  CHECK(ap_fixed<4, 6>(23) == 20 && ap_fixed<4, 6>(-21) == -24 && large.to_int() == 20);
  CHECK(large + quarter == 20.25 && large * half == 10 && large > small && quarter != half);
  const ap_fixed<128, 64> step = ap_fixed<128, 64>(1) >> 64;
  CHECK(step.to_double() == std::ldexp(1.0, -64) && step.range(63, 0) == 1);
  CHECK(sizeof(ap_fixed<16, 8>) == 2 && sizeof(ap_ufixed<24, 8>) == 4);
}

void results() {
  const ap_fixed<11, 6> narrow = 22.96875;
  const ap_ufixed<12, 11> positive = 512.5;
  const ap_fixed<16, 11> sum = narrow + positive;
  CHECK(sum == 535.46875);
  static_assert(decltype(narrow + positive)::width == 18);  // 12 with a sign, 5 behind the point
  static_assert(decltype(narrow - positive)::iwidth == 13);
  const ap_fixed<5, 2> one = 1.125;
  const ap_fixed<75, 62> other = 6721.35595703125;
  static_assert(decltype(one + other)::width == 76 && decltype(one + other)::iwidth == 63);
  static_assert(decltype(one * other)::width == 80 && decltype(one * other)::iwidth == 64);
  CHECK(one + other == 6722.48095703125 && other - one == 6720.23095703125);
  CHECK(one * other == 7561.52545166015625);
  CHECK(other / one == 48943420.0 / 8192);  // 55061348 * 8 / 9, cut off
  CHECK(ap_ufixed<8, 8>(3) - ap_ufixed<8, 8>(5) == -2);
  CHECK(-ap_fixed<4, 4>(-8) == 8 && ~ap_fixed<4, 4>(3) == -4 && +one == one);
  const ap_fixed<8, 4> third = ap_fixed<8, 4>(1) / 3;
  CHECK(third == 0.3125 && ap_fixed<8, 4>(-1) / 3 == -0.3125);
  ap_fixed<64, 32> wide = 1;
  wide = wide / 3;
  CHECK(wide.range(63, 0) == 0x55555555);
  wide = wide * wide;
  CHECK(wide.range(31, 0) == 0x1C71C71C);
  const ap_fixed<16, 8> values[] = {1, 2.5, -3};
  ap_fixed<24, 12> squares = 0;
  for (const auto& value : values) {
    squares += value * value;
  }
  CHECK(squares == 16.25);
  ap_fixed<8, 4> kept = 7.5;
  kept += 1;
  CHECK(kept == -7.5);
  kept *= 2;
  CHECK(kept == 1 && kept++ == 1 && ++kept == 3 && kept-- == 3 && --kept == 1);
  kept /= 4;
  CHECK(kept == 0.25);
  CHECK((kept | ap_ufixed<2, 2>(2)) == 2.25 && (kept & 3) == 0 && (kept ^ kept) == 0);
}

void others() {
  const ap_fixed<16, 8> up = 3.7;  // 947 / 256
  const ap_fixed<16, 8> down = -3.7;
  CHECK(up.range(15, 0) == 947 && down == -3.703125 && up == 3.69921875);
  CHECK(up.to_int() == 3 && down.to_int() == -3 && static_cast<int>(down) == -3);
  const ap_int<8> whole = down;
  CHECK(whole == -3 && ap_uint<2>(up) == 3);
  CHECK(up + 1 == 4.69921875 && 2 * up == 7.3984375 && up - ap_uint<3>(4) == -0.30078125);
  CHECK(up + whole == 0.69921875 && up > whole && whole < up && up >= 3 && 3 <= up && up != down);
  CHECK(up < 3.7 && 3.7 > up && up <= 3.69921875F);
  CHECK((up >> 1) == 473.0 / 256 && (up << 1) == 947.0 / 128 && (up << -1) == 473.0 / 256);
  CHECK((down >> 20) == -1.0 / 256 && (up << 8) == -77);
  const double exactly = up;
  const float nearly = down;
  CHECK(exactly == 947.0 / 256 && nearly == -948.0F / 256 && up && !ap_fixed<4, 2>(0));
  ap_fixed<8, 4> bits = 0;
  bits[7] = 1;
  bits.range(3, 0) = 8;
  CHECK(bits == -7.5 && bits[7] && !bits[0] && bits.is_neg());
  ap_uint<16> word = 0;
  word.range(15, 8) = bits.range(7, 0);
  bits.range(7, 0) = 0x28;
  CHECK(word == 0x8800 && bits == 2.5);
  std::ostringstream text;
  text << ap_fixed<8, 4>(0.0625) << ' ' << ap_fixed<8, 4>(-8) << ' ' << ap_ufixed<1, -1>(0.25)
       << ' ' << ap_fixed<4, 6>(-20) << ' ' << ap_fixed<8, 4>(0) << ' ' << ap_ufixed<8, 8>(100);
  CHECK(text.str() == "0.0625 -8 0.25 -20 0 100");
}

}  // namespace

int main() {
  quantisation();
  overflow();
  places();
  results();
  others();
  return wrong == 0 ? 0 : 1;
}
