// Registers and SRAM: values, and latencies exact in clock cycles.
#include <map>

#include "watched.hpp"

using isthmus::card::make_rtl_kernel;
using isthmus::card::RtlSram;
using namespace isthmus::card::testing;

TEST_CASE("rtl: a register is read in eight cycles", "[rtl]") {
  const auto registers = make_rtl_kernel("register_block", period);
  const auto offset = GENERATE(0x00U, 0x04U, 0x08U, 0x10U);
  for (int again = 0; again < 3; ++again) {
    std::uint64_t cycles = 0;
    registers->read_register(offset, &cycles);
    CHECK(cycles == 8);
  }
}

TEST_CASE("rtl: registers hold what was written, byte by byte", "[rtl]") {
  const auto registers = make_rtl_kernel("register_block", period);
  CHECK(registers->read_register(0x00) == 0x49535448);
  CHECK(registers->read_register(0x04) == 0);
  registers->write_register(0x04, 0x11223344);
  registers->write_register(0x04, 0xAABBCCDD, 0b0101);
  CHECK(registers->read_register(0x04) == 0x11BB33DD);
  registers->write_register(0x00, 0);
  CHECK(registers->read_register(0x00) == 0x49535448);
  CHECK(registers->read_register(0x10) == 3);
  CHECK(registers->read_register(0x14) == 5);
}

TEST_CASE("rtl: the counter counts clock cycles", "[rtl]") {
  const auto registers = make_rtl_kernel("register_block", period);
  const auto count = registers->read_register(0x08);
  const auto edges = registers->edges();
  for (int n = 0; n < 1000; ++n) {
    registers->clock();
  }
  const auto later = registers->read_register(0x08);
  CHECK(later - count == registers->edges() - edges);
  CHECK(registers->read_register(0x0C) == 0);
}

TEST_CASE("rtl: arguments can be read back", "[rtl]") {
  const auto kernel = make_rtl_kernel("bandwidth", period);
  for (std::size_t n = 0; n < 4; ++n) {
    kernel->set_argument(n, 0x0123456789ABCDEF + n);
  }
  for (std::uint32_t n = 0; n < 4; ++n) {
    CHECK(kernel->read_register(0x10 + 12 * n) == 0x89ABCDEF + n);
    CHECK(kernel->read_register(0x14 + 12 * n) == 0x01234567);
  }
  CHECK(kernel->read_register(0x00) == 0b0100);  // idle
}

TEST_CASE("rtl: done and ready are seen once, idle stays", "[rtl]") {
  const auto kernel = make_rtl_kernel("vadd", period);
  run(*kernel);
  CHECK(kernel->read_register(0x00) == 0b1110);
  CHECK(kernel->read_register(0x00) == 0b0100);
  CHECK(kernel->done());  // the interrupt, until the next start
}

TEST_CASE("rtl: SRAM answers five cycles later, an access a clock on both ports", "[rtl]") {
  constexpr std::size_t latency = 5;
  RtlSram sram;
  std::mt19937 random(1);
  std::map<std::uint32_t, std::uint64_t> model;
  for (std::uint32_t address = 0; address < RtlSram::words; ++address) {
    model[address] = random();
    REQUIRE_FALSE(sram.clock(RtlSram::Write{address, model[address]}, std::nullopt));
  }
  std::deque<std::optional<std::uint64_t>> expected(latency - 1);
  for (int n = 0; n < 20'000; ++n) {
    std::optional<RtlSram::Write> write;
    std::optional<std::uint32_t> read;
    if (random() % 4 != 0) {
      read = random() % 64;  // often where a write was, or is at this very clock
    }
    expected.push_back(read ? std::optional(model[*read]) : std::nullopt);
    if (random() % 4 != 0) {
      write = RtlSram::Write{static_cast<std::uint32_t>(random() % 64), random(),
                             static_cast<std::uint8_t>(random())};
      for (unsigned byte = 0; byte < 8; ++byte) {
        const std::uint64_t mask = std::uint64_t{0xFF} << (8 * byte);
        if ((write->strobes >> byte & 1U) != 0) {
          model[write->address] = (model[write->address] & ~mask) | (write->data & mask);
        }
      }
    }
    // Taken at clock n, there at clock n + 5: the controller shows it after clock n + 4.
    REQUIRE(sram.clock(write, read) == expected.front());
    expected.pop_front();
  }
}
