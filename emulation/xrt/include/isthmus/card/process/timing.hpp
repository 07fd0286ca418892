// Computes how long transfers, kernels and register accesses take, by the card's model.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "isthmus/card/board.hpp"
#include "isthmus/card/cpu.hpp"
#include "isthmus/card/dma.hpp"
#include "isthmus/card/kernel.hpp"

namespace isthmus::card::process {

/// A duration in two parts: what hardware takes, and what the driver's software takes.
struct Cost {
  Time simulated = 0;
  Time driver = 0;

  [[nodiscard]] Time total() const { return simulated + driver; }
};

/// Computes durations on an idle machine; `TransferQueue` adds the effect of overlapping transfers.
class Timing {
 public:
  explicit Timing(const Board& board);

  /// Throws CardError if the board lacks this bank; all functions below do the same.
  void check_bank(std::size_t bank, const std::string& name = "") const;
  /// Returns the duration of a transfer between host and card. Throws CardError without a DMA
  /// engine.
  Cost transfer(Direction direction, std::int64_t bytes, std::int64_t page_offset,
                std::size_t bank);

  /// Returns the duration of a sync on a board without a link, which flushes the host's caches.
  [[nodiscard]] Cost sync(std::int64_t bytes) const;
  /// Returns which share of its own full rate a transfer keeps while a transfer of the other
  /// direction runs. With this share, two transfers of `bytes` that begin at once take their
  /// simulated time. From -1 to 1: below 0 if both at once take longer than one after the other. In
  /// `one_bank` both share the bank's rate.
  double share_beside_other(Direction direction, std::int64_t bytes, bool one_bank);
  /// Returns a share from 1/channels to 1: the data time of one transfer on each channel at once,
  /// divided by channels times that of one transfer alone. Data time is the time beyond that of 1
  /// byte. 1 means that one channel fills the link.
  double share_of_channel(Direction direction, std::int64_t bytes);
  /// Returns a kernel's run time without its launch. Throws CardError if the card has no kernels.
  Time kernel(const std::vector<PortWork>& ports, std::int64_t sweeps);
  /// Returns the same with all data in host memory; 0 if the board's kernels cannot access it.
  Time kernel_on_host(std::vector<PortWork> ports, std::int64_t sweeps);
  /// Returns the duration of a launch. `waited` is how long the kernel was in the runtime's queue,
  /// from which kernels start at the board's interval. A program's first launch takes longer.
  [[nodiscard]] Cost launch(Time waited = 0);
  /// Returns the duration of a copy within the card's memory, with the launch of the copy unit.
  Cost copy(std::int64_t bytes, std::size_t from_bank, std::size_t to_bank);
  /// Returns how long a program's load or store of a register takes.
  Cost access(bool load);

  [[nodiscard]] const Board& board() const { return board_; }
  /// Returns whether the board's link has random errors: then each simulation changes the next.
  [[nodiscard]] bool is_random() const { return random_; }
  [[nodiscard]] double kernel_hertz() const;
  [[nodiscard]] double memory_latency_s() const;

 private:
  void reset();
  [[nodiscard]] DmaJob job(Direction direction, std::int64_t bytes) const;
  Time simulate(std::span<const DmaJob> jobs);
  /// Returns how much longer transfers of `bytes` take than transfers of 1 byte, if all begin at
  /// once. The last of `directions` uses bank `last_bank`, all others bank 0.
  double beyond_first(std::span<const Direction> directions, std::int64_t bytes,
                      std::size_t last_bank = 0);

  Board board_;
  Machine machine_;
  std::unique_ptr<DmaEngine> dma_;
  std::unique_ptr<KernelUnit> kernel_;
  bool random_;
  bool launched_ = false;
  std::uint64_t samples_ = 0;
  std::map<std::tuple<Direction, std::int64_t, std::int64_t, std::size_t>, Time> transfers_;
  /// Earlier results of `share_beside_other`.
  std::map<std::tuple<Direction, std::int64_t, bool>, double> shares_;
  /// Earlier results of `kernel`, because programs often repeat a kernel with the same work.
  std::map<std::pair<std::vector<PortWork>, std::int64_t>, Time> kernels_;
  std::map<std::pair<Direction, std::int64_t>, double> channels_;
};

}  // namespace isthmus::card::process
