#include "isthmus/host_speed.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "isthmus/clock.hpp"

namespace isthmus {
namespace {

/// Timed intervals in a reading. Copies take most of the time: the fewest with a median that a
/// single interruption does not change, after a copy that fills the caches.
constexpr std::size_t batches = 11;
constexpr std::size_t copies = 3;
constexpr std::size_t blocks = 21;
/// System calls in a batch: some virtual machines have clocks with steps of 10 ns, which is 6 % of
/// a call and 0.6 % of a batch.
constexpr int batch = 10;

/// Median seconds of `Repetitions` intervals, without the time of the clock's own reading.
template <std::size_t Repetitions, class Work>
double median_of(const Work& work) {
  const HostClock& clock = HostClock::instance();
  std::array<Ticks, Repetitions> ticks{};
  for (Ticks& taken : ticks) {
    const Ticks begin = clock.start();
    work();
    taken = clock.stop() - begin;
  }
  const auto middle = ticks.begin() + Repetitions / 2;
  std::ranges::nth_element(ticks, middle);
  // The empty pair is of another time: work that lasts one step of the clock is not less than it.
  return std::max(clock.seconds(*middle) - clock.info().empty_pair_s, clock.info().resolution_s);
}

}  // namespace

HostReferences::HostReferences() : from_("hugepage", copy_bytes), to_("hugepage", copy_bytes) {
  // Huge pages: a quarter of the time of small ones to touch, and no luck with physical addresses.
  std::memset(from_.data(), 1, copy_bytes);
  std::memset(to_.data(), 2, copy_bytes);
}

HostSpeed HostReferences::read() {
  HostSpeed speed;
  const auto system_calls = [] {
    for (int call = 0; call < batch; ++call) {
      syscall(SYS_getppid);
    }
  };
  speed.system_call_s = median_of<batches>(system_calls) / batch;
  speed.arithmetic_s = median_of<blocks>([] {
    std::uint32_t value = 1;
    for (unsigned step = 0; step < arithmetic_steps; ++step) {
      value = value * 1'664'525U + 1'013'904'223U;
      asm volatile("" : "+r"(value));  // no closed form
    }
  });
  const auto copy = [this] {
    std::memcpy(to_.data(), from_.data(), copy_bytes);
    asm volatile("" : : "r"(to_.data()) : "memory");  // somebody reads it
  };
  copy();
  speed.copy_s = median_of<copies>(copy);
  return speed;
}

}  // namespace isthmus
