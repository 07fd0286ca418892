// Durations of transfers, kernels and register accesses, by the card's model.
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

/// A duration, and the share of software that the board assumes.
struct Cost {
  Time simulated = 0;
  Time driver = 0;

  [[nodiscard]] Time total() const { return simulated + driver; }
};

/// Computes each duration for an idle machine. `TransferQueue` adds the effect of other transfers.
class Timing {
 public:
  explicit Timing(const Board& board);

  /// Throws CardError if the board has fewer banks; so do all functions below.
  void check_bank(std::size_t bank) const;
  /// Returns the cost of a transfer between host and card. Throws CardError without a DMA engine.
  Cost transfer(Direction direction, std::int64_t bytes, std::int64_t page_offset,
                std::size_t bank);

  /// Returns the cost of a sync on a board without a link, which works on the host's caches.
  [[nodiscard]] Cost sync(std::int64_t bytes) const;
  /// Returns the share of its full rate that a transfer gets while a transfer of the other
  /// direction runs. With it, two transfers of `bytes` take as long as if they begin at once. It is
  /// below 0 if both at once take longer than one after the other. In `one_bank` they share the
  /// bank's rate.
  double share_beside_other(Direction direction, std::int64_t bytes, bool one_bank);
  /// Returns the link time of a transfer if all channels are busy, over its time if one channel
  /// works alone: 1 if a single channel fills the link.
  double share_of_channel(Direction direction, std::int64_t bytes);
  /// Returns a kernel's time without its launch. Throws CardError if the card has no kernels.
  Time kernel(const std::vector<PortWork>& ports, std::int64_t sweeps);
  /// Returns the cost of a launch. `waited`: how long the kernel has waited in the runtime's queue,
  /// whose kernels start at the board's interval. The program's first launch takes longer.
  [[nodiscard]] Cost launch(Time waited = 0);
  /// Returns the cost of a copy within the card's memory, with its launch.
  Cost copy(std::int64_t bytes, std::size_t from_bank, std::size_t to_bank);
  /// Returns the cost of a program's load or store of a register.
  Cost access(bool load);

  [[nodiscard]] const Board& board() const { return board_; }
  /// Whether the board's link has errors: then each simulation changes the next ones.
  [[nodiscard]] bool is_random() const { return random_; }
  [[nodiscard]] double kernel_hertz() const;
  [[nodiscard]] double memory_latency_s() const;

 private:
  void reset();
  [[nodiscard]] DmaJob job(Direction direction, std::int64_t bytes) const;
  Time simulate(std::span<const DmaJob> jobs);
  /// Returns how much longer transfers of `bytes` take than transfers of 1 byte, if all begin at
  /// once. The last transfer of `directions` uses `last_bank`, all others bank 0.
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
  /// Results of `share_beside_other`.
  std::map<std::tuple<Direction, std::int64_t, bool>, double> shares_;
  /// Results of `kernel`: programs start a kernel with the same work many times.
  std::map<std::pair<std::vector<PortWork>, std::int64_t>, Time> kernels_;
  std::map<std::pair<Direction, std::int64_t>, double> channels_;
};

}  // namespace isthmus::card::process
