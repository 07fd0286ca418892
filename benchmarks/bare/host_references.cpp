// References of a host's speed that Isthmus does not read: a line of their seconds for each line of
// input. Their names are the first line.
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace {

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <std::size_t Repetitions, class Work>
double median_of(const Work& work) {
  std::array<double, Repetitions> seconds{};
  for (double& taken : seconds) {
    const double begin = now();
    work();
    taken = now() - begin;
  }
  std::nth_element(seconds.begin(), seconds.begin() + Repetitions / 2, seconds.end());
  return seconds[Repetitions / 2];
}

// Two threads that wake each other, as a runtime's thread and the one that waits for it do.
class Pair {
 public:
  Pair() : other_([this] { answer(); }) {}
  ~Pair() {
    hand(ends);
    other_.join();
  }
  void there_and_back() {
    hand(asked);
    wait_while(asked);
  }

 private:
  static constexpr int idle = 0;
  static constexpr int asked = 1;
  static constexpr int ends = 2;
  void hand(int value) {
    turn_.store(value);
    syscall(SYS_futex, &turn_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  void wait_while(int value) {
    while (turn_.load() == value) {
      syscall(SYS_futex, &turn_, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
    }
  }
  void answer() {
    for (;;) {
      wait_while(idle);
      if (turn_.load() == ends) {
        return;
      }
      hand(idle);
    }
  }
  std::atomic<int> turn_{idle};
  std::thread other_;
};

// A cycle through all cache lines of 4 MiB in random order (Sattolo's algorithm).
std::vector<std::uint32_t> cycle() {
  constexpr std::size_t stride = 16;
  std::vector<std::uint32_t> lines((std::size_t{4} << 20U) / 64);
  std::iota(lines.begin(), lines.end(), 0U);
  std::mt19937 random(1);
  for (std::size_t i = lines.size() - 1; i > 0; --i) {
    std::swap(lines[i], lines[random() % i]);
  }
  std::vector<std::uint32_t> next(lines.size() * stride);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    next[i * stride] = lines[i] * stride;
  }
  return next;
}

void fault() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *static_cast<volatile char*>(page) = 1;
  munmap(page, 4096);
}

}  // namespace

int main() {
  Pair pair;
  const std::vector<std::uint32_t> next = cycle();
  std::uint32_t at = 0;
  alignas(4096) static std::array<char, 4096> from{};
  alignas(4096) static std::array<char, 4096> to{};
  std::puts("clock_read futex_wake page_fault pointer_chase small_copy");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
    const double clock_read = median_of<11>([] {
                                for (int i = 0; i < 100; ++i) {
                                  const double read = now();
                                  asm volatile("" : : "m"(read));
                                }
                              }) /
                              100;
    const double futex_wake = median_of<51>([&] { pair.there_and_back(); });
    const double page_fault = median_of<51>(fault);
    const double pointer_chase = median_of<11>([&] {
      for (int i = 0; i < 2000; ++i) {
        at = next[at];
      }
      asm volatile("" : : "r"(at));
    });
    // In the first cache: another thread of the core slows it, where a chain of steps waits anyway.
    const double small_copy = median_of<21>([&] {
                                for (int i = 0; i < 100; ++i) {
                                  std::memcpy(to.data(), from.data(), to.size());
                                  asm volatile("" : : "r"(to.data()) : "memory");
                                }
                              }) /
                              100;
    std::printf("%.6g %.6g %.6g %.6g %.6g\n", clock_read, futex_wake, page_fault, pointer_chase,
                small_copy);
    std::fflush(stdout);
  }
}
