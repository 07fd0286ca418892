// How long what the program asks for takes, by the card's model.
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

/// Each duration from a machine at rest: what runs at the same time does not disturb it
/// (`TransferQueue` adds that).
class Timing {
 public:
  explicit Timing(const Board& board);

  /// Throws CardError where the board has fewer banks; all below do so, too.
  void check_bank(std::size_t bank) const;
  /// One transfer between host and card. Throws CardError where the card has no DMA engine.
  Cost transfer(Direction direction, std::int64_t bytes, std::int64_t page_offset,
                std::size_t bank);

  /// Caches of a host that shares the card's memory are written back, or invalidated.
  [[nodiscard]] Cost sync(std::int64_t bytes) const;
  /// Of a transfer that begins while one of the other direction runs at full rate: the share of its
  /// own rate that it gets until then, so that two of `bytes` take as long as begun at once. Below
  /// 0 where both at once take longer than one after the other. In `one_bank` they share its rate.
  double share_beside_other(Direction direction, std::int64_t bytes, bool one_bank);
  /// What a channel's bytes take where all channels of the direction are busy, over what they take
  /// it alone: 1 where a single one fills the link.
  double share_of_channel(Direction direction, std::int64_t bytes);
  /// Without the software that launches it. Throws CardError where the card has no kernels.
  Time kernel(const std::vector<PortWork>& ports, std::int64_t sweeps);
  /// Of a kernel that has waited in the runtime's queue for so long: of several that wait there,
  /// one starts after the other at the board's interval. The first one of all takes longer.
  [[nodiscard]] Cost launch(Time waited = 0);
  /// A copy within the card's memory, with its launch.
  Cost copy(std::int64_t bytes, std::size_t from_bank, std::size_t to_bank);
  /// The program's own load or store of a register.
  Cost access(bool load);

  [[nodiscard]] const Board& board() const { return board_; }
  /// Whether the board's link has errors: each simulation then changes those that follow.
  [[nodiscard]] bool is_random() const { return random_; }
  [[nodiscard]] double kernel_hertz() const;
  [[nodiscard]] double memory_latency_s() const;

 private:
  void reset();
  [[nodiscard]] DmaJob job(Direction direction, std::int64_t bytes) const;
  Time simulate(std::span<const DmaJob> jobs);
  /// Of transfers of `bytes` that are begun together: what the bytes beyond the first of each take.
  /// The one that is listed last uses `last_bank`, the others bank 0.
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
  /// Beside the other direction, by whether both use one bank.
  std::map<std::tuple<Direction, std::int64_t, bool>, double> shares_;
  /// By what the ports move, and how often: programs start a kernel with the same work many times.
  std::map<std::pair<std::vector<PortWork>, std::int64_t>, Time> kernels_;
  std::map<std::pair<Direction, std::int64_t>, double> channels_;
};

}  // namespace isthmus::card::process
