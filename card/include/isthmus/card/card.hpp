// An emulated card: the operations of its host, and their simulated times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "isthmus/card/board.hpp"
#include "isthmus/card/cpu.hpp"
#include "isthmus/card/dma.hpp"
#include "isthmus/card/kernel.hpp"
#include "isthmus/card/pages.hpp"
#include "isthmus/card/pipeline.hpp"

namespace isthmus::card {

/// An operation for which the card has no room, or lacks a part.
class CardError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Memory of the card.
class CardBuffer {
 public:
  ~CardBuffer();
  CardBuffer(const CardBuffer&) = delete;
  CardBuffer& operator=(const CardBuffer&) = delete;

  [[nodiscard]] std::byte* data() const { return pages_.data(); }
  [[nodiscard]] std::size_t bytes() const { return pages_.bytes(); }
  [[nodiscard]] std::size_t bank() const { return bank_; }

 private:
  friend class Card;
  CardBuffer(std::size_t bank, Pages pages, std::shared_ptr<std::vector<std::int64_t>> left);

  Pages pages_;
  std::size_t bank_;
  std::shared_ptr<std::vector<std::int64_t>> left_;  ///< free bytes of each bank
};

/// One movement between host and card memory.
struct Transfer {
  Direction direction = Direction::h2d;
  std::byte* host = nullptr;
  const CardBuffer* device = nullptr;
  std::size_t offset = 0;  ///< offset in the card's buffer
  std::size_t bytes = 0;
};

/// Buffers of one chunk that streams through the card.
struct StreamSlot {
  std::byte* host_input = nullptr;
  std::byte* host_output = nullptr;
  const CardBuffer* input = nullptr;
  const CardBuffer* output = nullptr;
};

/// Event models of kernels, or RTL that runs clock by clock.
enum class Implementation : std::uint8_t { model, rtl };

/// Arguments of a kernel. `target` says whether `inputs` and `output` are in host or card memory.
struct KernelCall {
  Kernel kernel = Kernel::read_bandwidth;
  Target target = Target::device;
  Implementation implementation = Implementation::model;
  std::size_t bytes = 0;
  std::int64_t iterations = 1;
  std::byte* host_input = nullptr;
  std::byte* host_output = nullptr;
  std::vector<const CardBuffer*> inputs;
  const CardBuffer* output = nullptr;
  /// write_bandwidth writes `value + i` to word i, plus the iteration (from 0) in the upper 16
  /// bits. RTL supports 0 only.
  std::uint64_t value = 0;
};

/// Simulated duration of a kernel's call with and without the software that launches it.
struct KernelTime {
  Time total = 0;
  Time kernel = 0;
  std::int64_t cycles = 0;
  /// Sum of the 64-bit words that read_bandwidth read; zeros fill the last word. In RTL: checksum
  /// over all `sweeps`.
  std::uint64_t sum = 0;
  std::int64_t sweeps = 0;  ///< sweeps that RTL ran clock by clock; it skips all others
};

/// Function that makes a runner of RTL kernels for a machine: `make_rtl_unit`, if it is built.
using RtlMaker = std::unique_ptr<RtlRunner> (*)(Machine&);

/// A fault that the card has made on purpose, and its place in the host's buffer.
struct Fault {
  Direction direction = Direction::h2d;
  Piece piece;
};

/// A card, which moves real bytes and computes simulated times. Equal calls after a reset give
/// equal results. Of a host address only the offset in its page matters.
class Card {
 public:
  explicit Card(const Board& board, std::uint64_t seed = 1, RtlMaker make_rtl = nullptr);

  [[nodiscard]] const Board& board() const { return machine_.board; }
  /// Resets the simulated state; memory keeps its contents. `sample` chooses the random errors, if
  /// the model has any.
  void reset(std::uint64_t sample = 0) {
    machine_.reset(sample);
    faults_.clear();
  }
  /// Returns the faults since the reset.
  [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }
  [[nodiscard]] Time now() const { return machine_.now(); }
  /// Returns the number of events that were simulated one by one.
  [[nodiscard]] std::uint64_t events() const { return machine_.crossing.simulator.events(); }
  [[nodiscard]] std::uint64_t replays() const { return machine_.crossing.link.replays(); }

  /// Sets whether the simulation skips periods that repeat. `fast_forwarded` returns the number of
  /// skipped periods since the reset.
  void set_fast_forward(bool on) { machine_.fast_forward = on; }
  [[nodiscard]] bool fast_forward() const { return machine_.fast_forward; }
  [[nodiscard]] std::uint64_t fast_forwarded() const { return machine_.periods_skipped; }

  /// Allocates card memory. Throws CardError if the bank has no room.
  std::unique_ptr<CardBuffer> allocate(std::size_t bank, std::size_t bytes);
  /// Returns page-aligned host memory, which the pool keeps for the next request of this size.
  [[nodiscard]] Pages pinned(std::size_t bytes) const { return {pool_, bytes}; }

  /// Submits all transfers together; returns the time until software has seen all complete.
  Time transfer(std::span<const Transfer> transfers);
  KernelTime run_kernel(const KernelCall& call);
  /// Moves `chunks` chunks through `slots` in turn: to the card, through a kernel that copies,
  /// back.
  Time stream(std::span<const StreamSlot> slots, std::int64_t chunks);
  /// Launches a kernel that does nothing.
  Time launch();
  Time access(const CpuAccess& access);

 private:
  [[nodiscard]] KernelJob job_of(const KernelCall& call) const;
  [[nodiscard]] KernelTime run_rtl(const KernelCall& call, const KernelJob& job);
  std::uint64_t compute(const KernelCall& call);
  /// Returns the bytes of host memory that a fault hits in a kernel's reads or writes.
  [[nodiscard]] Piece fault_of(const KernelCall& call, Direction direction);
  [[nodiscard]] Piece note(Direction direction, const Piece& piece);
  /// Copies between a buffer of the host and a buffer of the card, with the board's faults.
  void cross(Direction direction, std::byte* to, const std::byte* from, std::size_t bytes);

  Machine machine_;
  std::vector<Fault> faults_;
  std::unique_ptr<DmaEngine> dma_;
  std::unique_ptr<KernelUnit> kernel_;
  RtlMaker make_rtl_;
  std::unique_ptr<RtlRunner> rtl_;
  std::unique_ptr<Pipeline> pipeline_;
  std::shared_ptr<PagePool> pool_;
  std::shared_ptr<std::vector<std::int64_t>> left_;
};

}  // namespace isthmus::card
