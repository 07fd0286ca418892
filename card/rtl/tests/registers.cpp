// Tests the values of the control registers, and their latencies, which are exact in clock cycles.
#include "watched.hpp"

using isthmus::card::make_rtl_kernel;
using namespace isthmus::card::testing;

TEST_CASE("rtl: arguments can be read back", "[rtl]") {
  const auto kernel = make_rtl_kernel("bandwidth", period);
  for (std::size_t n = 0; n < 4; ++n) {
    kernel->set_argument(n, 0x0123456789ABCDEF + n);
  }
  for (std::uint32_t n = 0; n < 4; ++n) {
    CHECK(kernel->read_register(0x10 + 12 * n) == 0x89ABCDEF + n);
    CHECK(kernel->read_register(0x14 + 12 * n) == 0x01234567);
  }
  std::uint64_t cycles = 0;
  kernel->read_register(0x10, &cycles);
  CHECK(cycles == 2);
  CHECK(kernel->read_register(0x00) == 0b0100);  // idle
}

TEST_CASE("rtl: registers hold what was written, byte by byte", "[rtl]") {
  const auto kernel = make_rtl_kernel("bandwidth", period);
  kernel->write_register(0x10, 0x11223344);
  kernel->write_register(0x10, 0xAABBCCDD, 0b0101);
  CHECK(kernel->read_register(0x10) == 0x11BB33DD);
}

TEST_CASE("rtl: done and ready are seen once, idle stays", "[rtl]") {
  const auto kernel = make_rtl_kernel("bandwidth", period);
  run(*kernel);
  CHECK(kernel->read_register(0x00) == 0b1110);
  CHECK(kernel->read_register(0x00) == 0b0100);
  CHECK(kernel->done());  // the interrupt stays high until the next start
}
