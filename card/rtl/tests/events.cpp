// Compares the times of RTL kernels with those of the event models of the same kernels.
//
// The RTL's memory answers as the modelled link and host do: after a request's round trip, at the
// pace of the card's interface. Both count the same data, so only their begins differ. The event
// models count a request's data when its last completion has come (one request more). The RTL has
// cycles before the first address and after the last answer (at most 8).
#include "../../tests/u250.hpp"
#include "isthmus/card/card.hpp"
#include "watched.hpp"

using namespace isthmus::card;
using namespace isthmus::card::testing;

namespace {

constexpr std::int64_t request_bytes = 512;
constexpr std::int64_t control_cycles = 8;
constexpr std::uint64_t base = 0x4000'0000;

/// Returns a U250 with so many requests and credits that only latency and interface limit the rate.
Board plenty() {
  return u250_with({{"kernel.tags", "1024"},
                    {"link.nonposted_header_credits", "1024"},
                    {"link.posted_header_credits", "4096"},
                    {"link.posted_data_credits", "65536"}});
}

Time by_events(const Board& board, Kernel kernel, std::size_t bytes, std::int64_t iterations) {
  Card card(board);
  const Pages input = card.pinned(bytes);
  const Pages output = card.pinned(bytes);
  return card
      .run_kernel({.kernel = kernel,
                   .target = Target::host,
                   .bytes = bytes,
                   .iterations = iterations,
                   .host_input = input.data(),
                   .host_output = output.data(),
                   .inputs = {},
                   .output = nullptr})
      .kernel;
}

Time by_rtl(const Board& board, const char* name, std::size_t bytes, std::uint64_t iterations) {
  const Link link(board.link, 1);
  const Time clock = Pace::of_clock(board.kernel.value().clock_MHz).of(1);
  const LinkedMemoryOptions options{
      .read_latency = link.wire_time(Packet::read_request, 0) + 2 * link.latency() +
                      from_nanoseconds(board.host.memory_latency_ns) +
                      from_nanoseconds(board.kernel.value().host_latency_ns),
      .write_latency = from_nanoseconds(board.kernel.value().write_response_ns),
      .beat_time = link.bus_time(Packet::completion, 256) * beat_bytes / 256};
  std::vector<std::byte> input(bytes);
  std::vector<std::byte> output(bytes);
  LinkedMemory first(base, input, options);
  LinkedMemory second(base, output, options);
  const auto kernel = make_rtl_kernel(name, clock);
  const std::size_t masters = kernel->masters();
  kernel->connect(0, first);
  if (masters == 2) {
    kernel->connect(1, second);
  }
  for (std::size_t n = 0; n < masters; ++n) {
    kernel->set_argument(n, base);
  }
  kernel->set_argument(masters, bytes);
  kernel->set_argument(masters + 1, iterations);
  run(*kernel);
  return static_cast<Time>(kernel->cycles()) * clock;
}

}  // namespace

TEST_CASE("rtl: kernels on host memory take the time that events say", "[rtl]") {
  const Board board = plenty();
  const Link link(board.link, 1);
  const Time clock = Pace::of_clock(board.kernel.value().clock_MHz).of(1);
  const auto bytes = GENERATE(as<std::size_t>{}, 16'384, 65'536, 1'048'576);
  const auto iterations = GENERATE(as<std::int64_t>{}, 1, 3);
  const auto [name, kernel] =
      GENERATE(table<const char*, Kernel>({{"read_bandwidth", Kernel::read_bandwidth},
                                           {"write_bandwidth", Kernel::write_bandwidth},
                                           {"bandwidth", Kernel::bandwidth}}));
  CAPTURE(name, bytes, iterations);
  const Time events = by_events(board, kernel, bytes, iterations);
  const Time rtl = by_rtl(board, name, bytes, static_cast<std::uint64_t>(iterations));
  const Time apart =
      link.bus_time(Packet::completion, 256) * (request_bytes / 256) + control_cycles * clock;
  CHECK(rtl <= events + iterations * apart);
  CHECK(rtl >= events - iterations * apart);
}
