// What hls_half.h and hls_math.h make of half, ap_fixed and ap_int. Ends with 1 and names what is
// wrong.
#include <ap_fixed.h>
#include <ap_int.h>
#include <hls_half.h>
#include <hls_math.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <sstream>

#include "hls_check.hpp"

namespace {

std::uint16_t bits_of(const half& number) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, static_cast<const void*>(&number), sizeof(bits));
  return bits;
}

half made_of(std::uint16_t bits) {
  half number;
  std::memcpy(static_cast<void*>(&number), &bits, sizeof(bits));
  return number;
}

/// Every half as a float and back, and what lies between two of them.
void every_half() {
  static_assert(sizeof(half) == 2 && std::is_trivially_copyable_v<half>);
  int lost = 0;
  int misrounded = 0;
  for (std::uint32_t bits = 0; bits < 0x7C00; ++bits) {
    for (const std::uint32_t sign : {0U, 0x8000U}) {
      const auto whole = static_cast<std::uint16_t>(bits | sign);
      const float value = made_of(whole);
      lost += bits_of(half(value)) != whole || std::signbit(value) != (sign != 0) ? 1 : 0;
      const double next = bits == 0x7BFF ? (sign != 0 ? -65536.0 : 65536.0)
                                         : static_cast<double>(made_of(whole + 1));
      const double middle = (static_cast<double>(value) + next) / 2;
      const auto even = static_cast<std::uint16_t>(bits % 2 == 0 ? whole : whole + 1);
      misrounded += bits_of(half(middle)) != even ? 1 : 0;
      misrounded += bits_of(half(std::nextafter(middle, 0.0))) != whole ? 1 : 0;
      misrounded += bits_of(half(std::nextafter(middle, 2 * next))) != whole + 1 ? 1 : 0;
    }
  }
  CHECK(lost == 0);
  CHECK(misrounded == 0);
  CHECK(bits_of(half(1e30)) == 0x7C00 && bits_of(half(-1e30)) == 0xFC00);
  CHECK(std::isinf(static_cast<float>(half(HUGE_VAL))) && hls::isnan(half(std::nan(""))));
  CHECK(bits_of(half(1e-30)) == 0 && bits_of(half(-1e-30)) == 0x8000);
}

void half_arithmetic() {
  const half tenth = 0.1;
  CHECK(static_cast<float>(tenth) == 0.0999755859375F);
  CHECK(tenth + half(1.5F) == half(1.6F) && half(2048) + half(1) == half(2048));
  CHECK(-half(3) / 2 == -1.5F && half(7) * 2 == 14 && 1 - half(3) == half(-2));
  static_assert(std::is_same_v<decltype(tenth + 1), half>);
  static_assert(std::is_same_v<decltype(tenth + 1.0F), float>);
  static_assert(std::is_same_v<decltype(2.0 * tenth), double>);
  half sum = 1;
  sum += 2;
  sum *= 1.5F;
  CHECK(sum++ == 4.5F && sum == 5.5F && --sum == half(4.5));
  CHECK(half(1) < half(2) && half(2) > 1 && half(2) != 3 && 2.0 >= half(2));
  CHECK(static_cast<int>(half(-3.75F)) == -3 && !(half(std::nan("")) == half(std::nan(""))));
  CHECK(std::numeric_limits<half>::max() == 65504 && std::numeric_limits<half>::digits == 11);
  CHECK(std::numeric_limits<half>::epsilon() == std::ldexp(1.0, -10));
  CHECK(std::numeric_limits<half>::min() == std::ldexp(1.0, -14));
  std::ostringstream out;
  out << half(0.5) << ' ' << half(-1024);
  CHECK(out.str() == "0.5 -1024");
  half read = 0;
  std::istringstream("2.25") >> read;
  CHECK(read == 2.25);
}

void conversions() {
  const ap_fixed<16, 8> fixed = half(2.75);
  CHECK(fixed == 2.75 && half(fixed) == 2.75 && half(fixed + fixed) == 5.5);
  CHECK(ap_int<8>(half(-3.75)) == -3 && half(ap_uint<9>(300)) == 300);
  ap_fixed<24, 12, AP_RND, AP_SAT> rounded = half(0.1);
  CHECK(rounded == 0.10009765625);
  rounded = half(5000);
  CHECK(rounded == 2048 - 1.0 / 4096);
  CHECK(ap_fixed<70, 10>(0.1L).to_double() == 0.1);
}

void reading() {
  ap_fixed<16, 8> fixed = 1;
  std::istringstream in("3.5 -1.25e1 word");
  in >> fixed;
  CHECK(fixed == 3.5);
  in >> fixed;
  CHECK(fixed == -12.5);
  in >> fixed;
  CHECK(in.fail() && fixed == -12.5);
  ap_ufixed<8, 4, AP_TRN, AP_SAT> large;
  std::istringstream("99") >> large;
  CHECK(large == 15.9375);
}

void functions_of_fixed() {
  using Fixed = ap_fixed<16, 8>;
  CHECK(hls::sqrt(Fixed(2.25)) == 1.5 && hls::cbrt(Fixed(27)) == 3);
  CHECK(hls::signbit(Fixed(-0.5)) && !hls::signbit(Fixed(0)) && signbit(Fixed(-1)));
  CHECK(!signbit(ap_ufixed<8, 4>(15)) && signbit(Fixed(1) - Fixed(2)));
  CHECK(hls::abs(Fixed(-3.5)) == 3.5 && hls::fabs(Fixed(-3.5)) == 3.5);
  CHECK(hls::floor(Fixed(-1.5)) == -2 && hls::ceil(Fixed(-1.5)) == -1);
  CHECK(hls::trunc(Fixed(-1.5)) == -1 && hls::round(Fixed(2.5)) == 3 && hls::rint(Fixed(2.5)) == 2);
  CHECK(hls::cos(Fixed(0)) == 1 && hls::sin(Fixed(0)) == 0 && hls::exp(Fixed(0)) == 1);
  CHECK(hls::exp2(Fixed(3)) == 8 && hls::log2(Fixed(0.25)) == -2 && hls::log10(Fixed(100)) == 2);
  CHECK(hls::pow(Fixed(1.5), Fixed(2)) == 2.25 && hls::hypot(Fixed(3), Fixed(4)) == 5);
  CHECK(hls::recip(Fixed(4)) == 0.25 && hls::rsqrt(Fixed(4)) == 0.5);
  CHECK(hls::divide(Fixed(9), Fixed(4)) == 2.25 && hls::fmod(Fixed(7.5), Fixed(2)) == 1.5);
  CHECK(hls::fmax(Fixed(1), Fixed(2)) == 2 && hls::maxmag(Fixed(-3), Fixed(2)) == -3);
  CHECK(hls::minmag(Fixed(-3), Fixed(2)) == 2 && hls::fdim(Fixed(3), Fixed(1)) == 2);
  CHECK(hls::isgreater(Fixed(2), Fixed(1)) && hls::isequal(Fixed(2), Fixed(2)));
  CHECK(hls::isnotequal(Fixed(2), Fixed(1)) && !hls::isless(Fixed(2), Fixed(1)));
  CHECK(hls::sinpi(Fixed(0.5)) == 1 && hls::cospi(Fixed(1)) == -1 && hls::cospi(Fixed(0.5)) == 0);
  Fixed sine, cosine, whole;
  hls::sincos(Fixed(0), &sine, &cosine);
  CHECK(sine == 0 && cosine == 1);
  CHECK(hls::modf(Fixed(-2.75), &whole) == -0.75 && whole == -2);
  CHECK(hls::lround(Fixed(-2.5)) == -3 && hls::ilogb(Fixed(5)) == 2);
  // Cut off downwards, by the argument's bits, whatever its modes are: 1.0986 in steps of 1/256.
  CHECK(hls::log(Fixed(3)) == 281.0 / 256 && hls::sin(Fixed(-1)) == -216.0 / 256);
  CHECK(hls::log(ap_fixed<16, 8, AP_RND, AP_SAT>(3)) == 281.0 / 256);
  // A 33-bit integer part and 32 bits behind the point, the most that HLS has.
  using Wide = ap_fixed<65, 33>;
  CHECK(hls::floor(Wide(4294967295.75)) == 4294967295.0 && hls::sqrt(Wide(4)) == 2);
  CHECK(hls::sqrt(ap_uint<32>(4000000000)) == 63245 && hls::abs(ap_int<8>(-7)) == 7);
}

void functions_of_half() {
  const half two_and_a_quarter = 2.25;
  CHECK(hls::sqrt(two_and_a_quarter) == 1.5 && hls::half_sqrt(two_and_a_quarter) == 1.5);
  CHECK(hls::signbit(half(-0.0)) && hls::fabs(half(-2)) == 2 && hls::abs(half(-2)) == 2);
  CHECK(hls::exp(half(1)) == half(2.718281828) && hls::half_log(half(10)) == half(2.302585));
  CHECK(hls::fmax(half(1), half(3)) == 3 && hls::fma(half(2), half(3), half(1)) == 7);
  static_assert(std::is_same_v<decltype(hls::sin(two_and_a_quarter)), half>);
  CHECK(hls::isinf(std::numeric_limits<half>::infinity()) && hls::isfinite(half(65504)));
  CHECK(hls::half_recip(half(4)) == 0.25 && hls::round(half(2.5)) == 3);
}

void functions_of_floating_point() {
  CHECK(hls::sqrtf(4.0F) == 2.0F && hls::recipf(4.0F) == 0.25F && hls::exp10(2.0) == 100.0);
  CHECK(hls::sinpi(0.5) == 1.0 && hls::sinpi(1.0) == 0.0 && hls::cospi(0.5) == 0.0);
  CHECK(hls::cospi(3.0F) == -1.0F && hls::tanpi(0.25) == 1.0 && hls::atan2pi(1.0, 1.0) == 0.25);
  CHECK(hls::acospi(-1.0) == 1.0 && hls::asinpi(1.0) == 0.5 && hls::atanpi(1.0F) == 0.25F);
  CHECK(hls::maxmag(-3.0, 2.0) == -3.0 && hls::minmag(-2.0, 2.0) == -2.0);
  double sine = 0;
  double cosine = 0;
  hls::sincos(0.0, &sine, &cosine);
  CHECK(sine == 0.0 && cosine == 1.0 && hls::isequal(1.0F, 1.0F) && hls::signbit(-1.0));
}

}  // namespace

int main() {
  every_half();
  half_arithmetic();
  conversions();
  reading();
  functions_of_fixed();
  functions_of_half();
  functions_of_floating_point();
  return wrong == 0 ? 0 : 1;
}
