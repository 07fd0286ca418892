// A memory port that refuses at random and checks all AXI rules that a kernel must keep.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "isthmus/card/rtl.hpp"

namespace isthmus::card::testing {

inline constexpr Time period = 4'000'000;  // 250 MHz
inline constexpr std::uint32_t beat_bytes = 64;
inline constexpr std::uint32_t burst_beats = 64;
inline constexpr std::size_t outstanding = 16;

/// Stands in front of another port. It refuses `stalls` of 256 offers, and delays as many answers.
class Watched final : public MemoryPort {
 public:
  Watched(MemoryPort& memory, unsigned stalls, std::uint32_t seed)
      : memory_(memory), stalls_(stalls), random_(seed) {}

  bool read(const Burst& burst, Time now) override {
    check_burst(burst);
    const bool taken = !stall() && memory_.read(burst, now);
    read_offer_.check(bytes_of(burst), taken, now);
    if (taken) {
      reads_.push_back(burst.beats);
      ++read_bursts;
      most_reads = std::max(most_reads, reads_.size());
    }
    return taken;
  }

  std::optional<Response> read_beat(std::span<std::byte> data, Time now) override {
    read_offer_.check_kept(now);
    const auto response = stall() ? std::nullopt : memory_.read_beat(data, now);
    if (response && --reads_.front() == 0) {
      reads_.pop_front();
    }
    return response;
  }

  bool write(const Burst& burst, Time now) override {
    check_burst(burst);
    const bool taken = !stall() && memory_.write(burst, now);
    write_offer_.check(bytes_of(burst), taken, now);
    if (taken) {
      lengths_.push_back(burst.beats);
      ++write_bursts;
      most_writes = std::max(most_writes, ++writes_unanswered_);
    }
    return taken;
  }

  bool write_beat(std::span<const std::byte> data, std::uint64_t strobes, bool last,
                  Time now) override {
    const bool taken = !stall() && memory_.write_beat(data, strobes, last, now);
    std::vector<std::byte> offer(data.begin(), data.end());
    offer.resize(data.size() + sizeof strobes + 1);
    std::memcpy(&offer[data.size()], &strobes, sizeof strobes);
    offer.back() = std::byte{last};
    beat_offer_.check(offer, taken, now);
    if (taken) {
      ++beats;
      require((strobes & (strobes + 1)) == 0, "strobes are the first bytes of a beat");
      require(strobes == ~std::uint64_t{0} || last, "only a burst's last beat may be partial");
      require(last == (++sent_ == lengths_.front()), "WLAST ends the burst that AWLEN announced");
      if (last) {
        lengths_.pop_front();
        sent_ = 0;
      }
    }
    return taken;
  }

  std::optional<Response> write_response(Time now) override {
    write_offer_.check_kept(now);
    beat_offer_.check_kept(now);
    const auto response = stall() ? std::nullopt : memory_.write_response(now);
    writes_unanswered_ -= response ? 1 : 0;
    return response;
  }

  std::size_t most_reads = 0;
  std::size_t most_writes = 0;
  std::uint64_t read_bursts = 0;
  std::uint64_t write_bursts = 0;
  std::uint64_t beats = 0;

 private:
  /// Checks that a VALID that is high stays high with the same payload until READY.
  class Offer {
   public:
    void check(std::vector<std::byte> payload, bool taken, Time now) {
      if (refused_) {
        require(now == refused_at_ + period, "VALID stays until READY");
        require(payload == payload_, "what VALID offers stays until READY");
      }
      refused_ = !taken;
      refused_at_ = now;
      payload_ = std::move(payload);
    }
    /// Call it at most once an edge, after `check` if `check` was called for this edge.
    void check_kept(Time now) const {
      require(!refused_ || now <= refused_at_ + period, "VALID stays until READY");
    }

   private:
    bool refused_ = false;
    Time refused_at_ = 0;
    std::vector<std::byte> payload_;
  };

  static void require(bool kept, const char* rule) {
    INFO(rule);
    if (!kept) {
      FAIL();
    }
  }

  static std::vector<std::byte> bytes_of(const Burst& burst) {
    std::vector<std::byte> bytes(sizeof burst.address + sizeof burst.beats);
    std::memcpy(bytes.data(), &burst.address, sizeof burst.address);
    std::memcpy(&bytes[sizeof burst.address], &burst.beats, sizeof burst.beats);
    return bytes;
  }

  static void check_burst(const Burst& burst) {
    require(burst.beat_bytes == beat_bytes, "beats are as wide as the bus");
    require(burst.address % beat_bytes == 0, "bursts begin at whole beats");
    require(burst.beats >= 1 && burst.beats <= burst_beats, "bursts have 1 to 64 beats");
    require(burst.address / 4096 == (burst.address + burst.bytes() - 1) / 4096,
            "no burst crosses a 4 KiB boundary");
  }

  bool stall() { return stalls_ != 0 && random_() % 256 < stalls_; }

  MemoryPort& memory_;
  unsigned stalls_;
  std::mt19937 random_;
  Offer read_offer_;
  Offer write_offer_;
  Offer beat_offer_;
  std::deque<std::uint32_t> reads_;  ///< for each read burst: beats still to come
  /// For each write burst whose data are incomplete: its beats.
  std::deque<std::uint32_t> lengths_;
  std::uint32_t sent_ = 0;
  std::size_t writes_unanswered_ = 0;
};

/// Clocks until the kernel is done; fails the test if the kernel never ends.
inline void run(RtlKernel& kernel) {
  kernel.start();
  for (std::uint64_t n = 0; !kernel.done(); ++n) {
    if (n == 20'000'000) {
      FAIL("the kernel does not end");
    }
    kernel.clock();
  }
}

/// Returns random bytes.
inline std::vector<std::byte> noise(std::size_t size, std::uint32_t seed) {
  std::vector<std::uint64_t> words(size / sizeof(std::uint64_t) + 1);
  std::ranges::generate(words, std::mt19937_64(seed));
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), words.data(), size);
  return bytes;
}

}  // namespace isthmus::card::testing
