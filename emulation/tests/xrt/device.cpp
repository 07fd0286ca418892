// The card: its memory, its kernels, and the time that it tells.
#include "isthmus/card/process/device.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <sstream>
#include <utility>

#include "../../../card/tests/u250.hpp"
#include "isthmus/card/card.hpp"
#include "no_host_memory.hpp"

using namespace isthmus::card;
using namespace isthmus::card::process;

namespace {

constexpr std::uint64_t vadd_at = 0x180'0000;
constexpr std::uint64_t read_at = 0x181'0000;
constexpr const char* description =
    "isthmus.card/1\n"
    "memory card 0 1073741824 bank0\n"
    "memory card 1073741824 1073741824 bank 1\n"
    "memory host 137438953472 1073741824 HOST[0]\n"
    "kernel vadd vadd_1 25165824 65536\n"
    "argument buffer 16 8 in1\n"
    "argument buffer 28 8 in2\n"
    "argument buffer 40 8 out\n"
    "argument value 52 4 size\n"
    "kernel read_bandwidth read_bandwidth_1 25231360 65536\n"
    "argument buffer 16 8 input0\n"
    "argument value 28 8 buf_size\n"
    "argument value 40 8 iter\n"
    "end\n";

Description described(const std::string& text) {
  std::istringstream lines(text);
  return Description::parse(lines);
}

/// A card, and a program that asks it as XRT does.
struct Bench {
  explicit Bench(const std::string& text = description)
      : device(described(text), timing, host, meter, {}) {}

  Timing timing{Board::from(u250())};
  Meter meter{Meter::Place{}};
  NoHostMemory host;
  Device device;

  void allocate(std::uint64_t address, std::uint64_t bytes) {
    device.allocate(address, bytes, false);
  }
  void write(std::uint64_t address, std::span<const std::byte> data) {
    device.copy_to_card(address, data);
  }
  std::vector<std::byte> read(std::uint64_t address, std::uint64_t bytes) {
    const auto data = device.copy_from_card(address, bytes);
    return {data.begin(), data.end()};
  }
  void write_registers(std::uint64_t address, std::span<const std::uint32_t> values) {
    device.write_registers(address, std::as_bytes(values));
  }
  std::uint32_t read_register(std::uint64_t address) {
    std::uint32_t value = 0;
    device.read_registers(address, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  [[nodiscard]] Time elapsed() { return static_cast<Time>(meter.slot().elapsed_fs.load()); }
};

std::vector<std::byte> counted(std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    data[i] = static_cast<std::byte>(i * 7 + 1);
  }
  return data;
}

/// What the card itself says that a transfer takes.
Time transfer_time(Direction direction, std::size_t bytes) {
  Card card(Board::from(u250()));
  const auto buffer = card.allocate(0, bytes);
  const Pages host = card.pinned(bytes);
  const Transfer transfer{.direction = direction,
                          .host = host.data(),
                          .device = buffer.get(),
                          .offset = 0,
                          .bytes = bytes};
  return card.transfer(std::span(&transfer, 1));
}

}  // namespace

TEST_CASE("Data come back from where they were put", "[card][process]") {
  Bench bench;
  bench.allocate(4096, 10'000);
  const auto data = counted(5'000);
  bench.write(4096 + 5'000, data);
  CHECK(bench.read(4096 + 5'000, 5'000) == data);
  CHECK(bench.read(4096, 4'000) == std::vector<std::byte>(4'000));
  CHECK(bench.meter.slot().bytes_to_card == 5'000);
  CHECK(bench.meter.slot().bytes_from_card == 9'000);
}

TEST_CASE("A transfer takes what the card takes for it", "[card][process]") {
  const auto bytes = GENERATE(std::size_t{1}, std::size_t{4096}, std::size_t{1} << 20U);
  Bench bench;
  bench.allocate(0, bytes);
  bench.write(0, counted(bytes));
  const Time written = bench.elapsed();
  CHECK(written == transfer_time(Direction::h2d, bytes));
  bench.read(0, bytes);
  CHECK(bench.elapsed() - written == transfer_time(Direction::d2h, bytes));
  CHECK(bench.meter.slot().elapsed_fs ==
        bench.meter.slot().simulated_fs + bench.meter.slot().driver_fs);
  CHECK(bench.meter.slot().driver_fs > 0);
}

TEST_CASE("What calls of several threads have in common counts once", "[card][process]") {
  Meter meter{Meter::Place{}};
  const auto waited = [&] { return meter.slot().simulated_fs + meter.slot().driver_fs; };
  meter.spend({.simulated = 800, .driver = 200});
  CHECK(waited() == 1000);
  meter.slot().offset_fs -= 400;  // another thread's call begins before the first one ends
  meter.spend({.simulated = 480, .driver = 120});
  CHECK(waited() == 1200);
  CHECK(meter.slot().driver_fs == 240);
  meter.slot().offset_fs -= 600;
  meter.spend({.simulated = 500, .driver = 0});  // within what was counted
  CHECK(waited() == 1200);
  meter.slot().offset_fs += 1000;  // later
  meter.spend({.simulated = 100, .driver = 0});
  CHECK(waited() == 1300);
}

TEST_CASE("Reaching where nothing is allocated is an error", "[card][process]") {
  Bench bench;
  bench.allocate(0, 4096);
  CHECK_THROWS_AS(bench.read(0, 5000), MemoryError);  // overlaps, so it is no other buffer
  CHECK_THROWS_AS(bench.read(std::uint64_t{1} << 40U, 16), MemoryError);
  CHECK_THROWS_AS(bench.read(~std::uint64_t{0} - 8, 16), MemoryError);
  CHECK_THROWS_AS(bench.read(137438953472, 16), MemoryError);
}

TEST_CASE("A buffer takes the place of what was reached for without one", "[card][process]") {
  Bench bench;
  const auto data = counted(8192);
  bench.write(4096, data);       // reaches into the buffer from below
  bench.write(16384, data);      // from above
  bench.write(32768, data);      // is elsewhere
  bench.allocate(8192, 12'288);  // up to 20480
  bench.write(8192, std::vector<std::byte>(12'288, std::byte{9}));
  CHECK(bench.read(8192, 12'288) == std::vector<std::byte>(12'288, std::byte{9}));
  CHECK(bench.read(4096, 4096) == std::vector<std::byte>(4096));
  CHECK(bench.read(32768, 8192) == data);
}

TEST_CASE("Memory that the board lacks is refused by name", "[card][process]") {
  Timing timing{Board::from(u250())};
  Meter meter{Meter::Place{}};
  NoHostMemory host;
  const auto device_of = [&](const std::string& memories) {
    return Device(described("isthmus.card/1\n" + memories + "end\n"), timing, host, meter, {});
  };
  CHECK_THROWS_WITH(device_of("memory hbm 0 4096 HBM[0]\n"),
                    Catch::Contains("HBM[0]") && Catch::Contains("like a U250 has none"));
  std::string five;
  for (int bank = 0; bank < 5; ++bank) {
    five += "memory card " + std::to_string(bank * 65536) + " 65536 DDR[" + std::to_string(bank) +
            "]\n";
  }
  Device device = device_of(five);
  const auto allocate = [&](std::uint64_t address) { device.allocate(address, 4096, false); };
  allocate(196'608);
  CHECK_THROWS_WITH(allocate(262'144), Catch::Contains("bank 4") && Catch::Contains("4 banks"));
}

TEST_CASE("Access through an argument that was never set names it", "[card][process]") {
  constexpr std::uint64_t bank = 274'877'906'944;  // as isthmus_emulation.xclbin.design places it
  Bench bench(
      "isthmus.card/1\nmemory card 274877906944 1073741824 bank0\n"
      "kernel vadd vadd_1 25165824 65536\nargument buffer 16 8 in1\nargument buffer 28 8 in2\n"
      "argument buffer 40 8 out\nargument value 52 4 size\n"
      "kernel bandwidth bandwidth_1 25231360 65536\nargument buffer 16 8 input0\n"
      "argument buffer 28 8 output0\nargument value 40 8 bytes\nargument value 52 8 sweeps\n"
      "argument stream 0 0 beside\nargument buffer 64 8 unused\nend\n");
  bench.allocate(bank, 4096);
  std::vector<std::uint32_t> map(18);
  const auto set = [&map](std::size_t word) { map[word + 1] = bank >> 32U; };
  map[0] = 1;
  map[13] = 8;  // elements; for bandwidth, sweeps

  SECTION("it alone, by its index and name") {
    set(4);
    set(10);
    CHECK_THROWS_WITH(
        bench.write_registers(vadd_at, map),
        "kernel vadd_1 reads 32 bytes at 0x0: argument 1 (in2) was never set, or is null");
  }
  SECTION("all that may have led there, and no value nor stream is counted in vain") {
    set(4);
    map[10] = 64;  // bytes
    CHECK_THROWS_WITH(bench.write_registers(read_at, map),
                      "kernel bandwidth_1 writes 64 bytes at 0x0: arguments 1 (output0) and 5 "
                      "(unused) were never set, or are null");
  }
  SECTION("one that the kernel leaves alone may be null") {
    set(4);
    set(7);
    map[10] = 64;
    CHECK_NOTHROW(bench.write_registers(read_at, map));
  }
}

TEST_CASE("DDR is numbered behind HBM, memory within the FPGA apart", "[card][process]") {
  std::string text = "isthmus.card/1\n";
  std::uint64_t address = 4096;
  const auto add = [&](const std::string& kind, const std::string& name) {
    text += "memory " + kind + ' ' + std::to_string(address) + " 4096 " + name + '\n';
    return std::exchange(address, address + 4096);
  };
  std::uint64_t last_hbm = 0;
  for (int n = 0; n < 32; ++n) {
    last_hbm = add("hbm", "HBM[" + std::to_string(n) + ']');
  }
  const std::uint64_t first_ddr = add("card", "DDR[0]");
  const std::uint64_t last_ddr = add("card", "DDR[1]");
  const std::uint64_t chip = add("chip", "PLRAM[0]");
  const Description found = described(text + "end\n");
  CHECK(found.bank_of(4096) == 0);
  CHECK(found.bank_of(last_hbm) == 31);
  CHECK(found.bank_of(first_ddr) == 32);
  CHECK(found.bank_of(last_ddr) == 33);
  CHECK(found.bank_of(chip) == 0);
}

TEST_CASE("Kernels compute, and are done when their time has come", "[card][process]") {
  Bench bench;
  constexpr std::uint32_t n = 1000;
  std::vector<std::uint32_t> a(n);
  std::iota(a.begin(), a.end(), 5U);
  std::vector<std::uint32_t> b(n, 7);
  bench.allocate(0, 4096);
  bench.allocate(8192, 4096);
  bench.allocate(16384, 4096);
  bench.write(0, std::as_bytes(std::span(a)));
  bench.write(8192, std::as_bytes(std::span(b)));
  std::vector<std::uint32_t> map(14);
  map[4] = 0;
  map[7] = 8192;
  map[10] = 16384;
  map[13] = n;
  const Time before = bench.elapsed();

  SECTION("started by XRT: the launch, then the kernel") {
    bench.write_registers(vadd_at, map);
    CHECK(bench.elapsed() == before);
    map[0] = 1;
    bench.write_registers(vadd_at, map);
    const Time launch = from_nanoseconds(bench.timing.board().kernel.value().launch_ns);
    CHECK(bench.elapsed() - before == launch);
    CHECK(bench.meter.slot().busy == 1);
    CHECK(bench.read_register(vadd_at) == 6);
    const Time kernel = static_cast<Time>(bench.meter.slot().kernel_fs.load());
    CHECK(kernel > 0);
    CHECK(bench.elapsed() - before == launch + kernel);
    CHECK(bench.meter.slot().registers == 0);
  }
  SECTION("started by the program's own hands: each access counts") {
    for (const std::size_t index : {4, 7, 10, 13}) {
      bench.write_registers(vadd_at + 4 * index, std::span(map).subspan(index, 1));
    }
    const std::array<std::uint32_t, 1> start = {1};
    bench.write_registers(vadd_at, start);
    CHECK(bench.read_register(vadd_at) == 6);
    CHECK(bench.read_register(vadd_at + 52) == n);
    CHECK(bench.meter.slot().registers == 7);
    CHECK(bench.elapsed() > before);
  }
  CHECK(bench.meter.slot().busy == 0);
  CHECK(bench.read_register(vadd_at) == 4);
  const auto sums = bench.read(16384, n * sizeof(std::uint32_t));
  std::vector<std::uint32_t> found(n);
  std::memcpy(found.data(), sums.data(), sums.size());
  for (std::uint32_t i = 0; i < n; ++i) {
    REQUIRE(found[i] == i + 5 + 7);
  }
}

TEST_CASE("A kernel computes as long as the xclbin says, while its memory works",
          "[card][process]") {
  const auto kernel_time = [](const std::string& lines) {
    std::string text = description;
    text.insert(text.find("argument buffer 16"), lines);
    Bench bench(text);
    for (const std::uint64_t address : {0, 8192, 16384}) {
      bench.allocate(address, 4096);
    }
    std::vector<std::uint32_t> map(14);
    map[7] = 8192;
    map[10] = 16384;
    map[13] = 1000;
    bench.write_registers(vadd_at, map);
    map[0] = 1;
    bench.write_registers(vadd_at, map);
    CHECK(bench.read_register(vadd_at) == 6);
    return static_cast<Time>(bench.meter.slot().kernel_fs.load());
  };
  const Time memory = kernel_time("");
  const Time clock = Pace::of_clock(300).of(4120);
  CHECK(kernel_time("cycles u3 4 * 120 +\n") == clock);
  CHECK(kernel_time("cycles u3 4 * 120 +\nleast u3\ncomputing 4 n + 120 cycles\n") == clock);
  CHECK(kernel_time("cycles 1\n") == memory);
  CHECK_THROWS_WITH(kernel_time("computing -n cycles (given)\ncycles u3 neg\n"),
                    "kernel 'vadd' computes -n cycles (given), which is no time: -1000 cycles");
  CHECK_THROWS_AS(kernel_time("cycles u3 +\n"), DescriptionError);
  CHECK_THROWS_AS(kernel_time("cycles u0\n"), DescriptionError);  // an address
}

TEST_CASE("A kernel with streams that starts itself again can be stopped", "[card][process]") {
  std::string text = description;
  text.insert(text.rfind("end\n"), "restarts\nstream vadd_1 9 read_bandwidth_1 0 4 a:b\n");
  Bench bench(text);
  bench.allocate(0, 4096);
  const std::array<std::uint32_t, 1> for_ever = {0xffff'ffff};
  const std::array<std::uint32_t, 1> on = {1};
  const std::array<std::uint32_t, 1> off = {0};
  for (int round = 0; round < 2; ++round) {
    bench.write_registers(read_at + restart_counter, for_ever);
    bench.write_registers(read_at, on);
    CHECK(bench.read_register(read_at) == 1);
    bench.write(0, counted(4096));  // time goes by
    bench.write_registers(read_at + restart_counter, off);
    CHECK(bench.read_register(read_at) == 6);
    CHECK(bench.read_register(read_at) == 4);
  }
}

TEST_CASE("A kernel that starts itself again ends with its bitstream, or the program",
          "[card][process]") {
  std::string text = description;
  text.insert(text.rfind("end\n"), "restarts\n");
  Bench bench(text);
  bench.write_registers(read_at + restart_counter, std::array<std::uint32_t, 1>{0xffff'ffff});
  for (const Ending ending : {Ending::bitstream, Ending::program}) {
    bench.meter.slot().ending = Ending::none;
    bench.write_registers(read_at, std::array<std::uint32_t, 1>{1});
    CHECK(bench.read_register(read_at) == 1);
    bench.meter.slot().ending = ending;
    CHECK(bench.read_register(read_at) == 6);
    CHECK(bench.read_register(read_at) == 4);
  }
}

TEST_CASE("Sweeps are computed once and take their time", "[card][process]") {
  Bench bench;
  constexpr std::uint32_t bytes = 1U << 20U;
  bench.allocate(0, bytes);
  std::vector<std::uint64_t> words(bytes / 8, 3);
  bench.write(0, std::as_bytes(std::span(words)));
  std::vector<std::uint32_t> map(12);
  map[7] = bytes;
  const auto run = [&](std::uint32_t iterations) {
    const std::uint64_t before = bench.meter.slot().kernel_fs;
    map[0] = 0;
    map[10] = iterations;
    bench.write_registers(read_at, map);
    map[0] = 1;
    bench.write_registers(read_at, map);
    CHECK(bench.read_register(read_at) == 6);
    return bench.meter.slot().kernel_fs - before;
  };
  const std::uint64_t once = run(1);
  const std::uint64_t often = run(1000);
  CHECK(static_cast<double>(often) == Approx(1000.0 * static_cast<double>(once)).epsilon(0.02));
  CHECK(bench.meter.slot().kernel_bytes == std::uint64_t{1001} * bytes);
  CHECK(bench.read_register(read_at + 0x88) == 3 * bytes / 8);
}

TEST_CASE("Sizes and counts that cannot be are refused", "[card][process]") {
  Bench bench;
  constexpr std::uint32_t bytes = 4096;
  bench.allocate(0, bytes);
  const auto run = [&](std::uint64_t iterations) {
    std::vector<std::uint32_t> map(12);
    map[0] = 1;
    map[7] = bytes;
    map[10] = static_cast<std::uint32_t>(iterations);
    map[11] = static_cast<std::uint32_t>(iterations >> 32U);
    bench.write_registers(read_at, map);
  };
  CHECK_THROWS_AS(run(~std::uint64_t{0}), KernelError);        // -1
  CHECK_THROWS_AS(run(std::uint64_t{1} << 52U), KernelError);  // 2^64 bytes
  CHECK(bench.meter.slot().kernel_bytes == 0);
  run(2);
  CHECK(bench.meter.slot().kernel_bytes == std::uint64_t{2} * bytes);
}

TEST_CASE("Registers where no kernel is are left alone", "[card][process]") {
  Bench bench;
  bench.write_registers(0x100, std::array<std::uint32_t, 1>{1});
  CHECK(bench.read_register(0x100) == 0);
}

TEST_CASE("A description that is none is refused", "[card][process]") {
  const std::string good = description;
  CHECK(described(good).units.size() == 2);
  CHECK(described(good).memories[1].name == "bank 1");
  CHECK_THROWS_AS(described(""), DescriptionError);
  CHECK_THROWS_AS(described(std::string(16, '\0')), DescriptionError);
  for (std::size_t length = 0; length + 1 < good.size(); ++length) {
    CHECK_THROWS_AS(described(good.substr(0, length)), DescriptionError);
  }
  CHECK_THROWS_AS(described("isthmus.card/1\nargument value 0 4 x\nend\n"), DescriptionError);
  CHECK_THROWS_AS(described("isthmus.card/1\nkernel a a_1 0 16\nargument value 15 4 x\nend\n"),
                  DescriptionError);
  const std::string reaching = "isthmus.card/1\nmemory card 65536 4096 DDR[0]\nkernel a a_1 0 16\n";
  const Description connected = described(reaching + "argument buffer 0 8 x\nreaches 0\nend\n");
  CHECK(connected.units[0].arguments[0].memories == std::vector<std::size_t>{0});
  CHECK_THROWS_AS(described(reaching + "reaches 0\nend\n"), DescriptionError);
  for (const char* memories : {"reaches 1", "reaches 0 x", "reaches"}) {
    CHECK_THROWS_AS(described(reaching + "argument buffer 0 8 x\n" + memories + "\nend\n"),
                    DescriptionError);
  }
  // A range may be larger than the registers that are kept; arguments are in those.
  const std::string large = "isthmus.card/1\nkernel a a_1 0 1048576\nargument value ";
  CHECK(described(large + "65532 4 x\nend\n").units.size() == 1);
  CHECK_THROWS_AS(described(large + "65533 4 x\nend\n"), DescriptionError);
}

TEST_CASE("A kernel that nobody has is named", "[card][process]") {
  const ComputeUnit unknown{.kernel = "warp", .instance = "warp_1", .arguments = {}};
  CHECK_THROWS_WITH(make_kernel(unknown, {}), Catch::Contains("no kernel 'warp'"));
  const ComputeUnit bare{.kernel = "vadd", .instance = "vadd_1", .arguments = {}};
  CHECK_THROWS_WITH(make_kernel(bare, {}), Catch::Contains("4 arguments"));
}
