#include "isthmus/card/card.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "u250.hpp"

namespace isthmus::card {
namespace {

/// A buffer in host memory that begins `offset` bytes into a page.
class HostMemoryForTest {
 public:
  explicit HostMemoryForTest(std::size_t bytes, std::size_t offset = 0)
      : block_(bytes + offset + 4096), offset_(offset) {}
  std::byte* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(block_.data());
    return block_.data() + (4096 - address % 4096) % 4096 + offset_;
  }

 private:
  std::vector<std::byte> block_;
  std::size_t offset_;
};

void fill(std::byte* data, std::size_t bytes, std::uint64_t seed) {
  Random random(seed);
  for (std::size_t i = 0; i < bytes; ++i) {
    data[i] = static_cast<std::byte>(random());
  }
}

/// Returns the simulated time of transfers of a size, after a reset.
Time transfer_time(const Board& board, bool fast_forward, bool up, bool down, std::size_t bytes,
                   std::uint64_t* skipped = nullptr, std::size_t offset = 0) {
  Card card(board);
  card.set_fast_forward(fast_forward);
  HostMemoryForTest to_card(bytes, offset);
  HostMemoryForTest from_card(bytes, offset);
  const auto in = card.allocate(0, bytes);
  const auto out = card.allocate(1, bytes);
  std::vector<Transfer> transfers;
  if (down) {
    transfers.push_back({Direction::h2d, to_card.data(), in.get(), 0, bytes});
  }
  if (up) {
    transfers.push_back({Direction::d2h, from_card.data(), out.get(), 0, bytes});
  }
  const Time time = card.transfer(transfers);
  if (skipped != nullptr) {
    *skipped = card.fast_forwarded();
  }
  return time;
}

TEST_CASE("transfers move the data, both ways and queued") {
  Card card(u250_with());
  const std::size_t bytes = GENERATE(1, 4095, 100'001);
  HostMemoryForTest source(bytes, 3);
  HostMemoryForTest destination(bytes);
  fill(source.data(), bytes, 1);
  const auto device = card.allocate(2, bytes + 10);
  const std::vector<Transfer> there = {{Direction::h2d, source.data(), device.get(), 10, bytes}};
  CHECK(card.transfer(there) > 0);
  card.reset();
  const std::vector<Transfer> back = {
      {Direction::d2h, destination.data(), device.get(), 10, bytes},
      {Direction::d2h, destination.data(), device.get(), 10, bytes}};
  CHECK(card.transfer(back) > 0);
  CHECK(std::equal(source.data(), source.data() + bytes, destination.data()));
}

TEST_CASE("fast forward changes no time, and skips") {
  const std::size_t bytes = GENERATE(1, 65'536, 1 << 20, (1 << 20) + 5, 3'000'001);
  const bool up = GENERATE(false, true);
  const std::size_t offset = GENERATE(0, 64, 1);
  std::uint64_t skipped = 0;
  const Time fast = transfer_time(u250_with(), true, up, !up, bytes, &skipped, offset);
  CHECK(fast == transfer_time(u250_with(), false, up, !up, bytes, nullptr, offset));
  CHECK((skipped > 0) == (bytes > 1'000'000));
}

TEST_CASE("fast forward changes no time where pages miss, are translated, or gaps come between") {
  const Parameters changes = GENERATE(
      Parameters{{"host.cache_read_bytes", "0"}, {"host.cache_write_bytes", "0"}},
      Parameters{{"host.cache_read_bytes", "8388608"}, {"host.cache_write_bytes", "8388608"}},
      Parameters{{"host.translation_entries", "24"},
                 {"host.translation_miss_ns", "300"},
                 {"host.cache_read_bytes", "0"},
                 {"host.cache_write_bytes", "0"}},
      Parameters{{"dma.h2d_descriptor_ns", "24"}, {"dma.d2h_descriptor_ns", "31"}},
      Parameters{{"dma.h2d_bandwidth_Bps", "7e9"}},
      Parameters{{"link.generation", "2"}, {"link.lanes", "8"}, {"dma.engines", "2"}});
  const bool up = GENERATE(false, true);
  CAPTURE(changes, up);
  const std::size_t bytes = (std::size_t{72} << 20U) + 4097;
  std::uint64_t skipped = 0;
  const Board board = u250_with(changes);
  const Time fast = transfer_time(board, true, up, !up, bytes, &skipped);
  CHECK(fast == transfer_time(board, false, up, !up, bytes));
  CHECK(skipped > 0);
}

TEST_CASE("both directions at once: as exact, and slower than one, faster than in turns") {
  const std::size_t bytes = (std::size_t{4} << 20U) + 12345;
  const Time both = transfer_time(u250_with(), true, true, true, bytes);
  CHECK(both == transfer_time(u250_with(), false, true, true, bytes));
  const Time up = transfer_time(u250_with(), true, true, false, bytes);
  const Time down = transfer_time(u250_with(), true, false, true, bytes);
  CHECK(both >= std::max(up, down));
  CHECK(both < up + down);
}

TEST_CASE("reads go at tags x request / round trip") {
  const int tags = GENERATE(1, 2, 8);
  const Board board = u250_with({{"dma.tags", std::to_string(tags)}});
  constexpr std::size_t more = std::size_t{256} << 10U;
  const Time window = transfer_time(board, true, false, true, 2 * more) -
                      transfer_time(board, true, false, true, more);
  // The transfer takes a request, memory's latency, and two completions of 256 B in a row on the
  // user bus.
  const Link link(board.link, 1);
  const Time round_trip = link.wire_time(Packet::read_request, 0) + 2 * link.latency() +
                          from_nanoseconds(350) + 2 * link.bus_time(Packet::completion, 256);
  const auto windows = static_cast<Time>(more / 512) / tags;
  // Beyond that the acknowledgements take time (8 B for every 1024 B, at most twice), and requests
  // of one window that wait for one another.
  const Time wait = Time{2} * tags * link.wire_time(Packet::read_request, 0);
  CHECK(window >= windows * round_trip);
  CHECK(window <= windows * (round_trip + wait));
}

TEST_CASE("posted writes go at credits / return time") {
  // With 16 credits, 16 packets of 256 B are in flight.
  const Board board = u250_with({{"link.posted_header_credits", "16"}});
  constexpr std::size_t more = std::size_t{256} << 10U;
  const Time time = transfer_time(board, true, true, false, 2 * more) -
                    transfer_time(board, true, true, false, more);
  const Link link(board.link, 1);
  const Time round =
      link.bus_time(Packet::write, 256) + 2 * link.latency() + from_nanoseconds(780 + 50);
  CHECK(time == static_cast<Time>(more / (std::size_t{16} * 256)) * round);
}

TEST_CASE("a channel's thread waits for its transfer before it takes the next") {
  Card card(u250_with({{"dma.engines", "2"}}));
  HostMemoryForTest destination(64);
  const auto device = card.allocate(0, 64);
  const auto time = [&](std::size_t count) {
    card.reset();
    return card.transfer(std::vector<Transfer>(
        count, Transfer{Direction::d2h, destination.data(), device.get(), 0, 64}));
  };
  const Time one = time(1);
  // For packets of other transfers on the link and at the bank.
  const Time packets = from_nanoseconds(100);
  CHECK(time(2) <= one + packets);
  CHECK(time(3) >= 2 * one);
  CHECK(time(4) <= 2 * one + 2 * packets);
}

TEST_CASE("channels together keep a limit of the card, and a gap rests the bus") {
  constexpr std::size_t bytes = std::size_t{8} << 20U;
  const auto rate = [&](bool up, std::size_t count, Parameters changes) {
    changes["dma.engines"] = "2";
    changes["dma.tags"] = "128";
    Card card(u250_with(changes));
    HostMemoryForTest memory(bytes);
    fill(memory.data(), bytes, 1);
    const auto device = card.allocate(0, bytes);
    const Transfer one{up ? Direction::d2h : Direction::h2d, memory.data(), device.get(), 0, bytes};
    const Time time = card.transfer(std::vector<Transfer>(count, one));
    return static_cast<double>(count * bytes) / (1e-15 * static_cast<double>(time));
  };
  CHECK(rate(false, 1, {{"dma.h2d_bandwidth_Bps", "7e9"}}) == Approx(7e9).epsilon(0.01));
  CHECK(rate(false, 2, {{"dma.h2d_bandwidth_Bps", "7e9"}}) == Approx(7e9).epsilon(0.01));
  // A descriptor of 4 KiB has 16 packets, which take 20 ns each on the user bus.
  CHECK(rate(true, 1, {{"dma.d2h_descriptor_ns", "80"}}) == Approx(4096 / 400e-9).epsilon(0.01));
  CHECK(rate(true, 2, {{"dma.d2h_descriptor_ns", "80"}}) >
        1.1 * rate(true, 1, {{"dma.d2h_descriptor_ns", "80"}}));
}

TEST_CASE("work that cannot be is refused") {
  const Board board = Board::from(u250());
  Machine machine(board, 1);
  KernelUnit kernel(machine);
  const auto run = [&](std::int64_t bytes, std::int64_t iterations) {
    return kernel.run({.kernel = Kernel::read_bandwidth,
                       .target = Target::device,
                       .bytes = bytes,
                       .iterations = iterations,
                       .page_offsets = {},
                       .read_banks = {0},
                       .write_banks = {}});
  };
  CHECK_THROWS_AS(run(64, -1), TooLongError);
  CHECK_THROWS_AS(run(-64, 1), TooLongError);
  CHECK_THROWS_AS(run(64, std::int64_t{1} << 58U), TooLongError);
  CHECK(run(64, 1) > 0);
}

TEST_CASE("single blocks end where the buffer does") {
  // As in the published loop, each block begins an interval after the previous one.
  const std::size_t bytes = GENERATE(1, 64, 4096, 5000, 8191, 8192);
  const std::int64_t blocks = bytes > 4096 ? 2 : 1;
  const auto time_of = [&](std::int64_t iterations) {
    Card card(u250_with());
    HostMemoryForTest input(bytes, 0);
    return card
        .run_kernel({.kernel = Kernel::read_bandwidth,
                     .target = Target::host,
                     .bytes = bytes,
                     .iterations = iterations,
                     .host_input = input.data(),
                     .host_output = nullptr,
                     .inputs = {},
                     .output = nullptr})
        .kernel;
  };
  CHECK(time_of(1024) - time_of(512) == 512 * blocks * from_nanoseconds(710));
}

TEST_CASE("more than 64 bits of femtoseconds are refused") {
  Card card(u250_with({{"memory.bandwidth_Bps", "1000"}}));
  const std::size_t bytes = std::size_t{64} << 20U;
  HostMemoryForTest destination(bytes);
  const auto device = card.allocate(0, bytes);
  const std::vector<Transfer> back = {{Direction::d2h, destination.data(), device.get(), 0, bytes}};
  CHECK_THROWS_AS(card.transfer(back), TooLongError);
}

TEST_CASE("times are these, whatever compiled them") {
  const auto transfer = [](bool up, std::size_t bytes, const Parameters& changes) {
    return transfer_time(u250_with(changes), true, up, !up, bytes);
  };
  CHECK(transfer(true, 1, {}) == 6'560'088'808);
  CHECK(transfer(true, 1'000'003, {}) == 84'697'370'058);
  CHECK(transfer(false, 1, {}) == 7'313'579'627);
  CHECK(transfer(false, 1'000'003, {}) == 85'459'683'794);
  CHECK(transfer(false, 20'000'000, {}) == 1'571'454'678'501);
  CHECK(transfer(true, 1'000'003, {{"link.error_rate", "0.01"}}) == 99'757'268'958);
}

TEST_CASE("a register's load is the sum of its parts") {
  Card card(u250_with());
  const Link link(card.board().link, 1);
  const Time parts =
      from_nanoseconds(170 + 200 + 200 + 8 * 5) + link.wire_time(Packet::read_request, 0) +
      std::max(link.wire_time(Packet::completion, 4), link.bus_time(Packet::completion, 4));
  CHECK(card.access({.instruction = Instruction::load}) == parts);
  card.reset();
  CHECK(card.access({.instruction = Instruction::load, .place = Place::sram}) ==
        parts + from_nanoseconds(13 * 5));
  card.reset();
  // Each load waits for the one before; ten requests have no acknowledgement yet.
  CHECK(card.access({.instruction = Instruction::load, .count = 10}) == 10 * parts);
  card.reset();
  CHECK(card.access({.instruction = Instruction::streaming_load, .count = 10}) < 2 * parts);
}

TEST_CASE("combined stores fill the wire: payload and header") {
  const Board board = u250_with({{"link.generation", "2"}, {"link.lanes", "8"}});
  Card card(board);
  const CpuAccess stores{.instruction = Instruction::combined_store, .width = 64, .count = 10'000};
  const Time once = card.access(stores);
  const Link link(board.link, 1);
  const Time wire = 10'000 * link.wire_time(Packet::write, 64);
  // Beyond the wire's time, the first store must reach the card.
  CHECK(once >= wire);
  CHECK(once <= wire + from_nanoseconds(60 + 200 + (8 + 15) * 5));
  card.reset();
  const Time uncached = card.access({.instruction = Instruction::store, .width = 8, .count = 1000});
  const Time one = from_nanoseconds(60) + link.wire_time(Packet::write, 8);
  CHECK(uncached == 1000 * one + from_nanoseconds(200 + (8 + 1) * 5));
}

TEST_CASE("copies by a kernel in host memory: data, and times that do not depend on the way") {
  const std::size_t bytes = GENERATE(4096, 8192, 16'384, 300'000, 24 << 20);
  const Kernel kernel =
      GENERATE(Kernel::read_bandwidth, Kernel::write_bandwidth, Kernel::bandwidth);
  CAPTURE(bytes, kernel);
  HostMemoryForTest in(bytes);
  HostMemoryForTest out(bytes);
  fill(in.data(), bytes, 3);
  KernelCall call;
  call.kernel = kernel;
  call.target = Target::host;
  call.bytes = bytes;
  call.iterations = bytes > 1'000'000 ? 4 : 201;
  call.host_input = in.data();
  call.host_output = out.data();
  Card card(u250_with());
  const KernelTime fast = card.run_kernel(call);
  CHECK(card.fast_forwarded() > 0);
  if (kernel == Kernel::bandwidth) {
    CHECK(std::equal(in.data(), in.data() + bytes, out.data()));
  }
  card.reset();
  card.set_fast_forward(false);
  const KernelTime full = card.run_kernel(call);
  CHECK(card.fast_forwarded() == 0);
  CHECK(fast.kernel == full.kernel);
  CHECK(fast.total == fast.kernel + from_nanoseconds(90'000));
}

TEST_CASE("kernels on card memory are bound by banks, or by their own clock") {
  Card card(u250_with());
  const std::size_t bytes = 4 << 20;
  const auto a = card.allocate(0, bytes);
  const auto b = card.allocate(1, bytes);
  const auto sum = card.allocate(2, bytes);
  fill(a->data(), bytes, 1);
  fill(b->data(), bytes, 2);
  KernelCall call;
  call.kernel = Kernel::vadd;
  call.bytes = bytes;
  call.inputs = {a.get(), b.get()};
  call.output = sum.get();
  const Time apart = card.run_kernel(call).kernel;
  std::uint32_t left = 0;
  std::uint32_t right = 0;
  std::uint32_t result = 0;
  std::memcpy(&left, a->data() + bytes - 4, 4);
  std::memcpy(&right, b->data() + bytes - 4, 4);
  std::memcpy(&result, sum->data() + bytes - 4, 4);
  CHECK(result == left + right);
  // The chunk uses three banks at 19.2 GB/s each; filling and draining take two latencies and three
  // bursts.
  const Time stream = Pace::of_rate(19.2e9).of(bytes);
  const Time burst = Pace::of_rate(19.2e9).of(4096);
  CHECK(apart >= stream);
  CHECK(apart <= stream + 2 * from_nanoseconds(150) + 3 * burst);
  card.reset();
  call.kernel = Kernel::bandwidth;
  call.inputs = {a.get()};
  call.output = a.get();  // reads and writes share one bank
  const Time shared = card.run_kernel(call).kernel;
  CHECK(shared >= 2 * stream);
  CHECK(shared <= 2 * stream + 2 * from_nanoseconds(150) + 3 * burst);
}

TEST_CASE("chunks stream through the card, and more slots overlap more") {
  constexpr std::size_t bytes = 1 << 20;
  constexpr std::int64_t chunks = 8;
  Card card(u250_with({{"kernel.launch_ns", "20000"}}));
  HostMemoryForTest in(bytes);
  HostMemoryForTest out(bytes);
  fill(in.data(), bytes, 5);
  const auto device_in = card.allocate(0, bytes);
  const auto device_out = card.allocate(1, bytes);
  const StreamSlot slot{in.data(), out.data(), device_in.get(), device_out.get()};
  const auto time = [&](std::size_t slots, std::int64_t count) {
    card.reset();
    return card.stream(std::vector<StreamSlot>(slots, slot), count);
  };
  const Time one = time(1, 1);
  CHECK(std::equal(in.data(), in.data() + bytes, out.data()));
  // One chunk takes the sum of its stages: transfer to the card, launch, kernel, transfer back.
  card.reset();
  const std::vector<Transfer> there = {{Direction::h2d, in.data(), device_in.get(), 0, bytes}};
  const std::vector<Transfer> back = {{Direction::d2h, out.data(), device_out.get(), 0, bytes}};
  KernelCall copy;
  copy.kernel = Kernel::bandwidth;
  copy.bytes = bytes;
  copy.inputs = {device_in.get()};
  copy.output = device_out.get();
  const Time apart = card.transfer(there) + card.run_kernel(copy).total + card.transfer(back);
  // Acknowledgements on the wire delay a stage's begin by less than a nanosecond.
  CHECK(std::abs(one - apart) <= nanosecond);
  CHECK(std::abs(time(1, chunks) - chunks * one) <= chunks * nanosecond);
  const Time twice = time(2, chunks);
  const Time thrice = time(3, chunks);
  CHECK(twice < chunks * one);
  CHECK(thrice < twice);
  // Three chunks are not faster than the slowest stage, repeated for each chunk.
  CHECK(thrice > chunks * (card.launch() + Pace::of_rate(19.2e9).of(bytes)));
  card.set_fast_forward(false);
  CHECK(time(2, chunks) == twice);
  CHECK(time(3, chunks) == thrice);
}

TEST_CASE("a reset card answers the same again") {
  Card card(u250_with({{"link.error_rate", "0.001"}}), 9);
  HostMemoryForTest host(200'000);
  const auto device = card.allocate(0, 200'000);
  const std::vector<Transfer> transfers = {{Direction::h2d, host.data(), device.get(), 0, 200'000}};
  const Time first = card.transfer(transfers);
  CHECK(card.replays() > 0);
  const Time later = card.transfer(transfers);
  card.reset();
  CHECK(card.now() == 0);
  CHECK(card.transfer(transfers) == first);
  CHECK(card.now() == first);
  CHECK(later != first);
}

TEST_CASE("a kernel's argument that was never set is named") {
  Card card(Board::from(u250()));
  const auto buffer = card.allocate(0, 4096);
  const CardBuffer* const given = buffer.get();
  const auto refused = [&card](const KernelCall& call, const std::string& said) {
    CHECK_THROWS_WITH(card.run_kernel(call), said);
  };
  refused({.kernel = Kernel::vadd, .bytes = 64, .inputs = {given}, .output = given},
          "kernel vadd: argument 1 (in2) was never set, or is null");
  refused({.kernel = Kernel::vadd, .bytes = 64, .inputs = {nullptr, given}, .output = given},
          "kernel vadd: argument 0 (in1) was never set, or is null");
  refused({.kernel = Kernel::vadd, .bytes = 64, .inputs = {given, given}},
          "kernel vadd: argument 2 (out) was never set, or is null");
  refused({.kernel = Kernel::bandwidth,
           .target = Target::host,
           .bytes = 64,
           .host_input = given->data(),
           .inputs = {}},
          "kernel bandwidth: argument 1 (output0) was never set, or is null");
  refused({.kernel = Kernel::write_bandwidth,
           .implementation = Implementation::rtl,
           .bytes = 64,
           .inputs = {}},
          "kernel write_bandwidth: argument 0 (output0) was never set, or is null");
  refused({.kernel = Kernel::read_bandwidth, .bytes = 64, .inputs = {given, given}},
          "kernel read_bandwidth has 1 inputs, it was given 2");
  CHECK_NOTHROW(card.run_kernel({.kernel = Kernel::read_bandwidth,
                                 .bytes = 64,
                                 .inputs = {given}}));  // this kernel has no output
}

TEST_CASE("what a card lacks is refused") {
  Parameters parameters = u250();
  std::erase_if(parameters, [](const auto& entry) {
    return entry.first.starts_with("dma.") || entry.first.starts_with("kernel.") ||
           entry.first.starts_with("registers.") || entry.first.starts_with("sram.");
  });
  Card card(Board::from(parameters));
  CHECK_THROWS_AS(card.transfer({}), CardError);
  CHECK_THROWS_AS(card.launch(), CardError);
  CHECK_THROWS_AS(card.run_kernel({}), CardError);
  CHECK_THROWS_AS(card.access({}), BoardError);
  CHECK_THROWS_AS(card.allocate(4, 1), CardError);
  const auto most = card.allocate(0, std::size_t{16} << 30U);
  CHECK_THROWS_AS(card.allocate(0, 1), CardError);
}

}  // namespace
}  // namespace isthmus::card
