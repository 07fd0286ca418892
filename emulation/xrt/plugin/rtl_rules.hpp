// Checks rules of AXI4 and AXI4-Stream: a module that breaks them fails on a board.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/card/axi.hpp"
#include "masters.hpp"
#include "rtl_module.hpp"

namespace isthmus::card::plugin {

/// Warns that the module `does` something wrong; only the first warning names the place `where`.
using Warn = std::function<void(const std::string& does, const std::string& where)>;

/// Checks that a payload, once offered, does not change until it is taken.
class Handshake {
 public:
  Handshake(Offered offered, Warn warn);

  /// Checks the handshake in one clock.
  void note() {
    const bool waits = offered_.valid.pin.get() != 0 && offered_.ready.pin.get() == 0;
    if (waits_) {
      check();
    } else if (waits) {
      keep();
    }
    waits_ = waits;
  }

 private:
  void keep();
  void check() const;

  Offered offered_;
  Warn warn_;
  bool waits_ = false;
  std::vector<std::byte> before_;  ///< payload in the previous clock
};

/// Checks the handshakes of all channels of a module.
class Handshakes final : public PinServer {
 public:
  Handshakes(const std::vector<Offered>& offered, const Warn& warn) {
    for (const Offered& one : offered) {
      all_.emplace_back(one, warn);
    }
  }

  void show() override {}
  void note() override {
    for (Handshake& one : all_) {
      one.note();
    }
  }

 private:
  std::vector<Handshake> all_;
};

/// A memory that checks the bursts of one master.
class WatchedMemory final : public LinkedMemory {
 public:
  WatchedMemory(std::string master, Warn warn, Contents contents, LinkedMemoryOptions options)
      : LinkedMemory(std::move(contents), options),
        master_(std::move(master)),
        warn_(std::move(warn)) {}

  bool read(const Burst& burst, Time now) override;
  bool write(const Burst& burst, Time now) override;
  bool write_beat(std::span<const std::byte> data, std::uint64_t strobes, bool last,
                  Time now) override;

 private:
  void check(const Burst& burst, const char* does) const;

  std::string master_;
  Warn warn_;
  std::deque<std::uint32_t> beats_;  ///< beats of each burst whose data have not all come
  std::uint32_t beat_ = 0;           ///< number of the first of these bursts' next beat
};

}  // namespace isthmus::card::plugin
