// Tests RTL kernels in the machine: behind the link with its tags and credits, and at memory banks.
#include "../../tests/u250.hpp"
#include "isthmus/card/card.hpp"
#include "isthmus/card/rtl_unit.hpp"
#include "watched.hpp"

using namespace isthmus::card;
using namespace isthmus::card::testing;

namespace {

constexpr std::int64_t control_cycles = 8;

/// A card, a buffer in host memory and a buffer in card memory for each master.
class Bench {
 public:
  Bench(std::size_t bytes, const Parameters& changes)
      : card(u250_with(changes), 1, make_rtl_unit),
        bytes_(bytes),
        input_(card.pinned(bytes)),
        output_(card.pinned(bytes)),
        near_input_(card.allocate(0, bytes)),
        near_output_(card.allocate(1, bytes)) {}

  KernelTime run(Kernel kernel, std::int64_t iterations, Target target = Target::host,
                 Implementation implementation = Implementation::rtl) {
    const auto data = noise(bytes_, 1);
    std::copy_n(data.begin(), data.size(), input_.data());
    std::copy_n(data.begin(), data.size(), near_input_->data());
    std::fill_n(output_.data(), bytes_, std::byte{0x5A});
    std::fill_n(near_output_->data(), bytes_, std::byte{0x5A});
    KernelCall call{.kernel = kernel,
                    .target = target,
                    .implementation = implementation,
                    .bytes = bytes_,
                    .iterations = iterations,
                    .host_input = input_.data(),
                    .host_output = output_.data(),
                    .inputs = {},
                    .output = near_output_.get()};
    if (kernel != Kernel::write_bandwidth) {
      call.inputs = {near_input_.get()};
    }
    card.reset();
    return card.run_kernel(call);
  }
  [[nodiscard]] std::vector<std::byte> read() const { return copy_of(input_.data()); }
  [[nodiscard]] std::vector<std::byte> written(Target target) const {
    return copy_of(target == Target::host ? output_.data() : near_output_->data());
  }

  Card card;

 private:
  [[nodiscard]] std::vector<std::byte> copy_of(const std::byte* data) const {
    return {data, data + bytes_};
  }

  std::size_t bytes_;
  Pages input_;
  Pages output_;
  std::unique_ptr<CardBuffer> near_input_;
  std::unique_ptr<CardBuffer> near_output_;
};

/// Returns what write_bandwidth has written after so many iterations.
std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t iterations) {
  std::vector<std::byte> data(bytes);
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = (iterations - 1) << 48U | at / sizeof(std::uint64_t);
    std::memcpy(&data[at], &word, std::min(sizeof word, bytes - at));
  }
  return data;
}

constexpr auto kernels = {Kernel::read_bandwidth, Kernel::write_bandwidth, Kernel::bandwidth};

}  // namespace

TEST_CASE("rtl in the machine: every byte is read, written and copied", "[rtl]") {
  const auto target = GENERATE(Target::host, Target::device);
  const auto bytes = GENERATE(as<std::size_t>{}, 1, 64, 4095, 4096, 8192, 8193, 70'001, 262'144);
  const auto iterations = GENERATE(as<std::int64_t>{}, 1, 2, 1000);
  CAPTURE(static_cast<int>(target), bytes, iterations);
  Bench bench(bytes, {});
  const KernelTime read = bench.run(Kernel::read_bandwidth, iterations, target);
  CHECK(read.sum == rtl_checksum(bench.read(), read.sweeps));
  bench.run(Kernel::write_bandwidth, iterations, target);
  CHECK(bench.written(target) == pattern(bytes, static_cast<std::uint64_t>(iterations)));
  bench.run(Kernel::bandwidth, iterations, target);
  CHECK(bench.written(target) == bench.read());
}

TEST_CASE("rtl in the machine: skipped sweeps change neither time nor data", "[rtl]") {
  const auto target = GENERATE(Target::host, Target::device);
  const auto kernel = GENERATE(values(kernels));
  const auto bytes = GENERATE(as<std::size_t>{}, 12'288, 36'864, 131'072);
  const Parameters changes = GENERATE(
      Parameters{},
      Parameters{{"host.cache_read_bytes", "100000"}, {"host.cache_write_bytes", "100000"}},
      Parameters{{"host.translation_entries", "8"}, {"host.translation_miss_ns", "250"}});
  constexpr std::int64_t iterations = 100;  // acknowledgements meet the same state after every 16
  CAPTURE(static_cast<int>(target), static_cast<int>(kernel), bytes, changes.size());
  Bench skipping(bytes, changes);
  const KernelTime skipped = skipping.run(kernel, iterations, target);
  Bench whole(bytes, changes);
  whole.card.set_fast_forward(false);
  const KernelTime full = whole.run(kernel, iterations, target);
  CHECK(full.sweeps == iterations);
  CHECK(skipped.sweeps < iterations);
  CHECK(skipped.kernel == full.kernel);
  CHECK(skipping.card.fast_forwarded() > 0);
  CHECK(skipping.written(target) == whole.written(target));
}

TEST_CASE("rtl in the machine: time as events of the same link say", "[rtl]") {
  // Both send the same requests and packets. The RTL asks for whole bursts and takes beats at its
  // clock, so a sweep may differ by a burst on the link and control cycles.
  const auto target = GENERATE(Target::host, Target::device);
  const auto kernel = GENERATE(values(kernels));
  const auto bytes = GENERATE(as<std::size_t>{}, 16'384, 65'536, 1'048'576);
  constexpr std::int64_t iterations = 16;
  Bench bench(bytes, {});
  const KernelTime events = bench.run(kernel, iterations, target, Implementation::model);
  const KernelTime rtl = bench.run(kernel, iterations, target);
  const Link link(bench.card.board().link, 1);
  const Time apart =
      16 * link.bus_time(Packet::write, 256) + control_cycles * Pace::of_clock(300).of(1);
  CAPTURE(static_cast<int>(target), static_cast<int>(kernel), bytes);
  CHECK(std::abs(rtl.kernel - events.kernel) <= iterations * apart);
}

TEST_CASE("rtl in the machine: the link's limits are its limits", "[rtl]") {
  constexpr std::size_t bytes = 262'144;
  const Time free = Bench(bytes, {}).run(Kernel::read_bandwidth, 4).kernel;
  const Time few_tags = Bench(bytes, {{"kernel.tags", "8"}}).run(Kernel::read_bandwidth, 4).kernel;
  CHECK(few_tags > 3 * free);  // a quarter of the requests in flight
  const Time one = Bench(bytes, {{"kernel.outstanding", "1"}}).run(Kernel::bandwidth, 4).kernel;
  CHECK(one > 3 * free);
  const Time written = Bench(bytes, {}).run(Kernel::write_bandwidth, 4).kernel;
  const Time starved =
      Bench(bytes, {{"link.posted_data_credits", "256"}}).run(Kernel::write_bandwidth, 4).kernel;
  CHECK(starved > 2 * written);
}

TEST_CASE("a wrong bit in a completion and a lost write show where they are said to", "[rtl]") {
  const auto implementation = GENERATE(Implementation::model, Implementation::rtl);
  const auto iterations = GENERATE(as<std::int64_t>{}, 1, 5);
  constexpr std::size_t bytes = 20'000;
  Bench sound(bytes, {});
  Bench flips(bytes, {{"faults.flip_completion", "7"}});  // completions of 256 B: six are before it
  Bench drops(bytes, {{"faults.drop_write", "79"}});      // the last packet, which is partial
  CAPTURE(static_cast<int>(implementation), iterations);

  const auto sum = sound.run(Kernel::read_bandwidth, iterations, Target::host, implementation).sum;
  CHECK(flips.run(Kernel::read_bandwidth, iterations, Target::host, implementation).sum != sum);
  CHECK(flips.read() == sound.read());
  REQUIRE(flips.card.faults().size() == 1);
  CHECK(flips.card.faults()[0].piece.offset == 1536);

  flips.run(Kernel::bandwidth, iterations, Target::host, implementation);
  auto expected = flips.read();
  expected[1536] ^= std::byte{1};
  CHECK(flips.written(Target::host) == expected);

  drops.run(Kernel::write_bandwidth, iterations, Target::host, implementation);
  expected = pattern(bytes, static_cast<std::uint64_t>(iterations));
  std::fill(expected.begin() + 19'968, expected.end(), std::byte{0x5A});
  CHECK(drops.written(Target::host) == expected);
  REQUIRE(drops.card.faults().size() == 1);
  CHECK(drops.card.faults()[0].piece.offset == 19'968);
  CHECK(drops.card.faults()[0].direction == Direction::d2h);

  flips.run(Kernel::bandwidth, iterations, Target::device, implementation);
  CHECK(flips.written(Target::device) == flips.read());  // nothing crosses the link
  CHECK(flips.card.faults().empty());
}

TEST_CASE("boards that the rtl kernels do not fit are refused", "[rtl]") {
  const Parameters changes =
      GENERATE(Parameters{{"kernel.width_bytes", "32"}}, Parameters{{"kernel.burst_beats", "32"}},
               Parameters{{"kernel.outstanding", "32"}});
  Bench bench(4096, changes);
  CHECK_THROWS_AS(bench.run(Kernel::read_bandwidth, 1), BoardError);
}
