// An emulated card: operations of a host on a card, with real data and simulated times.
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

/// The card has no room for an operation, or lacks a part that it needs.
class CardError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A buffer in the card's memory; the destructor frees it.
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
  std::shared_ptr<std::vector<std::int64_t>> left_;  ///< free bytes of each bank of the card
};

/// A movement of bytes between host memory and card memory.
struct Transfer {
  Direction direction = Direction::h2d;
  std::byte* host = nullptr;
  const CardBuffer* device = nullptr;
  std::size_t offset = 0;  ///< position of the first byte in the card's buffer
  std::size_t bytes = 0;
};

/// The buffers for one chunk of a stream: chunks use the slots in turn.
struct StreamSlot {
  std::byte* host_input = nullptr;
  std::byte* host_output = nullptr;
  const CardBuffer* input = nullptr;
  const CardBuffer* output = nullptr;
};

/// How a kernel runs: as an event model, or as RTL that is simulated clock by clock.
enum class Implementation : std::uint8_t { model, rtl };

/// A kernel's call. `target` says whether `inputs` and `output` lie in host or card memory.
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
  /// write_bandwidth writes `value + i` to word i, and the sweep (from 0) to its upper 16 bits. RTL
  /// supports only 0.
  std::uint64_t value = 0;
};

/// Simulated duration of a kernel's call, and what the kernel computed.
struct KernelTime {
  Time total = 0;
  Time kernel = 0;
  std::int64_t cycles = 0;
  /// Sum of the 64-bit words that read_bandwidth read, the last padded with zeros. In RTL: the
  /// checksum over all `sweeps`.
  std::uint64_t sum = 0;
  std::int64_t sweeps = 0;  ///< sweeps that RTL ran clock by clock; all others were skipped
};

/// A function that makes a runner of RTL kernels for a machine: `make_rtl_unit`, if RTL is built
/// in.
using RtlMaker = std::unique_ptr<RtlRunner> (*)(Machine&);

/// A fault that the card made on purpose, and the bytes of the host's buffer that it hit.
struct Fault {
  Direction direction = Direction::h2d;
  Piece piece;
};

/// An emulated card. It moves real bytes and computes simulated times. Equal calls after a reset
/// give equal results; of a host address only the offset in its page matters.
class Card {
 public:
  explicit Card(const Board& board, std::uint64_t seed = 1, RtlMaker make_rtl = nullptr);

  [[nodiscard]] const Board& board() const { return machine_.board; }
  /// Resets all simulated state except the contents of memory. `sample` chooses the random errors
  /// of the link, if the board has any.
  void reset(std::uint64_t sample = 0) {
    machine_.reset(sample);
    faults_.clear();
  }
  /// Returns the faults that the card made on purpose since the reset.
  [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }
  [[nodiscard]] Time now() const { return machine_.now(); }
  /// Returns the number of events that were simulated one by one.
  [[nodiscard]] std::uint64_t events() const { return machine_.crossing.simulator.events(); }
  [[nodiscard]] std::uint64_t replays() const { return machine_.crossing.link.replays(); }

  /// Sets whether the simulation skips periods that repeat. `fast_forwarded` returns how many were
  /// skipped since the reset.
  void set_fast_forward(bool on) { machine_.fast_forward = on; }
  [[nodiscard]] bool fast_forward() const { return machine_.fast_forward; }
  [[nodiscard]] std::uint64_t fast_forwarded() const { return machine_.periods_skipped; }

  /// Allocates a buffer in a bank of card memory. Throws CardError if the bank has no room.
  std::unique_ptr<CardBuffer> allocate(std::size_t bank, std::size_t bytes);
  /// Returns page-aligned host memory. The card's pool keeps it afterwards for requests of this
  /// size.
  [[nodiscard]] Pages pinned(std::size_t bytes) const { return {pool_, bytes}; }

  /// Submits all transfers at once; returns the time until the host's software has seen all
  /// complete.
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
  /// Returns which bytes of host memory a fault hits when a kernel reads or writes them.
  [[nodiscard]] Piece fault_of(const KernelCall& call, Direction direction);
  [[nodiscard]] Piece note(Direction direction, const Piece& piece);
  /// Copies between a host's and a card's buffer, and makes the board's faults.
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
