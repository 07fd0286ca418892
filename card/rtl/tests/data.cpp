// Tests every byte that the RTL kernels move, with and without back-pressure, and AXI's rules.
#include <bit>

#include "watched.hpp"

using isthmus::card::LinkedMemory;
using isthmus::card::make_rtl_kernel;
using namespace isthmus::card::testing;

namespace {

constexpr std::uint64_t base = 0x1'2345'6000;
constexpr std::size_t room = std::size_t{256} * 1024;

std::uint64_t word_at(const std::vector<std::byte>& bytes, std::size_t offset, std::size_t end) {
  std::uint64_t word = 0;
  if (offset < end) {
    std::memcpy(&word, &bytes[offset], std::min<std::size_t>(8, end - offset));
  }
  return word;
}

/// Computes the checksum as read_bandwidth.sv describes it.
std::uint64_t checksum(const std::vector<std::byte>& bytes, std::size_t offset, std::size_t size,
                       unsigned iterations) {
  std::uint64_t sum = 0;
  for (unsigned iteration = 0; iteration < iterations; ++iteration) {
    for (std::size_t beat = 0; beat < size; beat += beat_bytes) {
      sum = std::rotl(sum, 1);
      for (int n = 0; n < 8; ++n) {
        const std::size_t at = offset + beat + 8 * static_cast<std::size_t>(n);
        sum ^= std::rotl(word_at(bytes, at, offset + size), n);
      }
    }
  }
  return sum;
}

/// Returns the pattern as write_bandwidth.sv describes it.
std::vector<std::byte> pattern(std::size_t size, std::uint64_t iteration) {
  std::vector<std::byte> bytes(size + 8);
  for (std::uint64_t word = 0; 8 * word < size; ++word) {
    const std::uint64_t value = iteration << 48U | word;
    std::memcpy(&bytes[8 * word], &value, sizeof value);
  }
  bytes.resize(size);
  return bytes;
}

/// A buffer's size and offset, the iterations, and how many of 256 offers the memory refuses.
struct Case {
  std::size_t size;
  std::size_t offset;
  unsigned iterations;
  unsigned stalls;
};

Case cases() {
  const auto size = GENERATE(as<std::size_t>{}, 1, 63, 64, 65, 4095, 4096, 4097, 6000, 8192, 8193,
                             12288, 100'003, 131'072);
  const auto offset = GENERATE(as<std::size_t>{}, 0, 320);
  const auto iterations = GENERATE(1U, 3U);
  const auto stalls = GENERATE(0U, 40U, 200U);
  return {size, offset, iterations, stalls};
}

}  // namespace

TEST_CASE("rtl: read_bandwidth reads every byte", "[rtl]") {
  const Case c = cases();
  CAPTURE(c.size, c.offset, c.iterations, c.stalls);
  auto bytes = noise(room, 1);
  LinkedMemory memory(base, bytes, {.read_latency = 100 * period});
  Watched port(memory, c.stalls, 2);
  const auto kernel = make_rtl_kernel("read_bandwidth", period);
  kernel->connect(0, port);
  kernel->set_argument(0, base + c.offset);
  kernel->set_argument(1, c.size);
  kernel->set_argument(2, c.iterations);
  for (int again = 0; again < 2; ++again) {
    run(*kernel);
    CHECK(kernel->result(0) == checksum(bytes, c.offset, c.size, c.iterations));
    CHECK(kernel->result(1) == 0);
  }
  CHECK(port.most_reads <= outstanding);
}

TEST_CASE("rtl: write_bandwidth writes its pattern and nothing else", "[rtl]") {
  const Case c = cases();
  CAPTURE(c.size, c.offset, c.iterations, c.stalls);
  auto bytes = noise(room, 3);
  auto expected = bytes;
  LinkedMemory memory(base, bytes, {.write_latency = 100 * period});
  Watched port(memory, c.stalls, 4);
  const auto kernel = make_rtl_kernel("write_bandwidth", period);
  kernel->connect(0, port);
  kernel->set_argument(0, base + c.offset);
  kernel->set_argument(1, c.size);
  kernel->set_argument(2, c.iterations);
  run(*kernel);
  const auto last = pattern(c.size, c.iterations - 1);
  std::ranges::copy(last, expected.begin() + static_cast<std::ptrdiff_t>(c.offset));
  CHECK((bytes == expected));
  CHECK(kernel->result(0) == 0);
  CHECK(port.beats == c.iterations * ((c.size + beat_bytes - 1) / beat_bytes));
  CHECK(port.most_writes <= outstanding);
}

TEST_CASE("rtl: bandwidth copies every byte and nothing else", "[rtl]") {
  const Case c = cases();
  CAPTURE(c.size, c.offset, c.iterations, c.stalls);
  auto from = noise(room, 5);
  auto to = noise(room, 6);
  auto expected = to;
  LinkedMemory source(base, from, {.read_latency = 100 * period});
  LinkedMemory destination(base + room, to, {.write_latency = 70 * period});
  Watched input(source, c.stalls, 7);
  Watched output(destination, c.stalls, 8);
  const auto kernel = make_rtl_kernel("bandwidth", period);
  kernel->connect(0, input);
  kernel->connect(1, output);
  kernel->set_argument(0, base + c.offset);
  kernel->set_argument(1, base + room + 128);
  kernel->set_argument(2, c.size);
  kernel->set_argument(3, c.iterations);
  run(*kernel);
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(c.offset), c.size, expected.begin() + 128);
  CHECK((to == expected));
  CHECK(kernel->result(0) == 0);
  CHECK(input.most_reads <= outstanding);
  CHECK(output.most_writes <= outstanding);
}

TEST_CASE("rtl: as many bursts are in flight as there may be", "[rtl]") {
  auto bytes = noise(room, 15);
  LinkedMemory memory(base, bytes, {.read_latency = 5000 * period, .write_latency = 5000 * period});
  Watched input(memory, 0, 0);
  Watched output(memory, 0, 0);
  const auto kernel = make_rtl_kernel("bandwidth", period);
  kernel->connect(0, input);
  kernel->connect(1, output);
  kernel->set_argument(0, base);
  kernel->set_argument(1, base + room / 2);
  kernel->set_argument(2, room / 2);
  kernel->set_argument(3, 1);
  run(*kernel);
  CHECK(input.most_reads == outstanding);
  CHECK(output.most_writes == outstanding);
  CHECK(input.read_bursts == room / 2 / 4096);
  CHECK(output.write_bursts == room / 2 / 4096);
}

TEST_CASE("rtl: answers with an error are counted", "[rtl]") {
  auto bytes = noise(std::size_t{3} * 4096, 16);
  LinkedMemory memory(base, bytes, {});
  const auto reader = make_rtl_kernel("read_bandwidth", period);
  const auto writer = make_rtl_kernel("write_bandwidth", period);
  for (auto* kernel : {reader.get(), writer.get()}) {
    kernel->connect(0, memory);
    kernel->set_argument(0, base);
    kernel->set_argument(1, bytes.size() + 4096);  // more than the kernel's largest block
    kernel->set_argument(2, 1);
    run(*kernel);
  }
  CHECK(reader->result(1) == burst_beats);
  CHECK(writer->result(0) == 1);
}

TEST_CASE("rtl: nothing to move is done at once", "[rtl]") {
  const auto* const name = GENERATE("read_bandwidth", "write_bandwidth", "bandwidth");
  const auto kernel = make_rtl_kernel(name, period);  // all arguments are 0 after reset
  run(*kernel);
  CHECK(kernel->cycles() <= 4);
}

TEST_CASE("rtl: an unknown kernel and an impossible clock are refused", "[rtl]") {
  CHECK_THROWS_AS(make_rtl_kernel("bandwith", period), std::invalid_argument);
  CHECK_THROWS_AS(make_rtl_kernel("bandwidth", 0), std::invalid_argument);
  CHECK_THROWS_AS(
      make_rtl_kernel("bandwidth", period)
          ->connect(2, *std::make_unique<LinkedMemory>(0, std::span<std::byte>{},
                                                       isthmus::card::LinkedMemoryOptions{})),
      std::out_of_range);
}
