#include "isthmus/host_speed.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <new>

#include "isthmus/clock.hpp"

namespace isthmus {
namespace {

/// Number of timed intervals of each reference, whose median counts. Copies take longest: three are
/// the fewest whose median one interruption does not change.
constexpr std::size_t batches = 11;
constexpr std::size_t copies = 3;
constexpr std::size_t blocks = 21;
/// Untimed copies that fill the caches. After 64 MiB of other work the second to fourth copy take
/// 126 us, after a pause 105, any later copy 86 (medians; AMD EPYC, virtual).
constexpr int copies_before = 4;
/// System calls in a batch. Some virtual machines have clocks with steps of 10 ns: 6 % of a call,
/// but 0.6 % of a batch.
constexpr int batch = 10;

/// Returns the median seconds of `Repetitions` calls of `work`, less the clock's empty interval.
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
  // The empty interval was measured earlier and may exceed the work's: at least one step of the
  // clock is returned.
  return std::max(clock.seconds(*middle) - clock.info().empty_pair_s, clock.info().resolution_s);
}

}  // namespace

HostReferences::HostReferences(int descriptor) {
  const int own = descriptor < 0 ? memfd_create("isthmus-references", MFD_CLOEXEC) : -1;
  const int file = std::max(descriptor, own);
  constexpr std::size_t bytes = 2 * copy_bytes;
  void* block = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    const int flags = MAP_SHARED | MAP_POPULATE;
    block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  }
  if (own >= 0) {
    close(own);
  }
  if (block == MAP_FAILED) {
    throw std::bad_alloc();
  }
  const std::span<std::byte> all(static_cast<std::byte*>(block), bytes);
  from_ = all.first(copy_bytes);
  to_ = all.last(copy_bytes);
  if (from_.back() == std::byte{0}) {  // a new file: some processors copy zeros faster
    std::ranges::fill(from_, std::byte{1});
  }
}

HostReferences::~HostReferences() { munmap(from_.data(), 2 * copy_bytes); }

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
      asm volatile("" : "+r"(value));  // the compiler cannot replace the loop by a formula
    }
  });
  const auto copy = [this] {
    std::memcpy(to_.data(), from_.data(), copy_bytes);
    asm volatile("" : : "r"(to_.data()) : "memory");  // the compiler cannot remove the copy
  };
  for (int before = 0; before < copies_before; ++before) {
    copy();
  }
  speed.copy_s = median_of<copies>(copy);
  return speed;
}

}  // namespace isthmus
