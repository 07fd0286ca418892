// Operations on the host's own memory, for comparison with those on a device: a load that misses
// all caches, loads that hit the nearest cache, and a line that goes to another processor and back.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "kernels.hpp"
#include "operations.hpp"

namespace isthmus::mmio {
namespace {

constexpr std::size_t line_bytes = 64;
// Bytes: half of a first-level cache.
constexpr std::uint64_t cached_block = std::uint64_t{16} << 10U;
// Bytes: more than most caches hold.
constexpr std::uint64_t large_block = std::uint64_t{256} << 20U;

/// Loads that each give the next address, in one cycle through all lines of the block.
class Chase final : public Operation {
 public:
  explicit Chase(const OperationSpec& spec) : buffer_(spec.memory, spec.bytes) {
    std::vector<std::uint32_t> order(spec.bytes / line_bytes);
    std::iota(order.begin(), order.end(), 0U);
    std::mt19937 random(1);
    for (std::size_t i = order.size(); i-- > 1;) {  // Sattolo's algorithm makes a single cycle
      std::swap(order[i], order[random() % i]);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::byte* const next = buffer_.data() + order[i] * line_bytes;
      std::memcpy(buffer_.data() + i * line_bytes, &next, sizeof next);
    }
    at_ = buffer_.data();
  }
  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    const std::byte* at = at_;
    for (; repetitions > 0; --repetitions) {
      asm volatile("movq (%0), %0" : "+r"(at) : : "memory");
    }
    at_ = at;
  }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override { return 0; }
  [[nodiscard]] bool moves_data() const override { return false; }
  [[nodiscard]] std::vector<std::string> remarks() const override { return machine_remarks(); }

 private:
  HostBuffer buffer_;
  const std::byte* at_ = nullptr;
};

/// Loads of a block that stays in the nearest cache.
class Stream final : public Operation {
 public:
  explicit Stream(const OperationSpec& spec)
      : buffer_(spec.memory, spec.bytes), loop_(loop_of(access_of(spec))) {
    std::memset(buffer_.data(), 1, spec.bytes);
  }
  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    loop_(buffer_.data(), buffer_.bytes(), repetitions, nullptr);
  }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return buffer_.bytes();
  }
  [[nodiscard]] bool moves_data() const override { return false; }
  [[nodiscard]] std::vector<std::string> remarks() const override { return machine_remarks(); }

 private:
  HostBuffer buffer_;
  Loop loop_;
};

/// A line that this processor stores, another processor sees and stores, and this one sees: two
/// crossings between caches.
class Exchange final : public Operation {
 public:
  Exchange() : partner_([this] { answer(); }) {}
  ~Exchange() override {
    line_.store(stop, std::memory_order_release);
    partner_.join();
  }
  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    for (; repetitions > 0; --repetitions) {
      line_.store(ask, std::memory_order_release);
      wait_until([this] { return line_.load(std::memory_order_acquire) == answered; });
    }
  }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override { return 0; }
  [[nodiscard]] bool moves_data() const override { return false; }
  [[nodiscard]] std::vector<std::string> remarks() const override { return machine_remarks(); }

 private:
  static constexpr unsigned answered = 0;
  static constexpr unsigned ask = 1;
  static constexpr unsigned stop = 2;

  /// Spins until the condition holds; yields if both threads share one processor.
  template <class Condition>
  static void wait_until(const Condition& holds) {
    for (unsigned spins = 0; !holds(); ++spins) {
      if (spins > 10'000) {
        std::this_thread::yield();
      }
    }
  }
  void answer() {
    for (;;) {
      unsigned found = answered;
      wait_until([&] { return (found = line_.load(std::memory_order_acquire)) != answered; });
      if (found == stop) {
        return;
      }
      line_.store(answered, std::memory_order_release);
    }
  }

  alignas(line_bytes) std::atomic<unsigned> line_{answered};
  alignas(line_bytes) std::thread partner_;
};

OperationInfo baseline(const Access& access, const char* memory, std::uint64_t bytes) {
  OperationInfo info = describe(access, memory, bytes);
  info.parts.front().direction = "";  // no crossing to a device
  info.unit_bytes = bytes;
  return info;
}

}  // namespace

std::vector<OperationInfo> baselines() {
  Access widest;
  for (const unsigned width : {16U, 32U, 64U}) {
    const Access access = {"host_stream", "movdqa", width, "none", true};
    widest = loop_of(access) != nullptr ? access : widest;
  }
  return {baseline({"host_load", "mov", 8}, "hugepage", large_block),
          baseline(widest, "aligned", cached_block),
          baseline({"line_exchange", "mov", 4}, "aligned", line_bytes)};
}

bool is_baseline(const std::string& operation) {
  return operation == "host_load" || operation == "host_stream" || operation == "line_exchange";
}

std::unique_ptr<Operation> make_baseline(const OperationSpec& spec) {
  if (spec.name == "line_exchange") {
    return std::make_unique<Exchange>();
  }
  if (spec.bytes < line_bytes || spec.bytes % line_bytes != 0) {
    throw UsageError(spec.name + " needs a multiple of 64 bytes");
  }
  if (spec.name == "host_stream") {
    return std::make_unique<Stream>(spec);
  }
  return std::make_unique<Chase>(spec);
}

}  // namespace isthmus::mmio
