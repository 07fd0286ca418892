// An emulated card: what a host can do with it, and how long that takes in simulated time.
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

/// The card has no room, or not the part that is asked for.
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
  std::shared_ptr<std::vector<std::int64_t>> left_;  ///< bytes, by bank
};

/// One movement between host and card memory.
struct Transfer {
  Direction direction = Direction::h2d;
  std::byte* host = nullptr;
  const CardBuffer* device = nullptr;
  std::size_t offset = 0;  ///< into the card's buffer
  std::size_t bytes = 0;
};

/// Buffers of one chunk that streams through the card.
struct StreamSlot {
  std::byte* host_input = nullptr;
  std::byte* host_output = nullptr;
  const CardBuffer* input = nullptr;
  const CardBuffer* output = nullptr;
};

/// Event models of kernels, or the kernels themselves, clock by clock.
enum class Implementation : std::uint8_t { model, rtl };

/// Arguments of a kernel. `inputs` and `output` are in host memory or on the card, as `target`
/// says; a kernel uses those that it has.
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
  /// Word i of what write_bandwidth writes is `value + i`, and the iteration, from 0, in the upper
  /// 16 bits added to that. RTL knows no value but 0.
  std::uint64_t value = 0;
};

/// Simulated duration of a call, with the software that launches it, and the kernel's own share.
struct KernelTime {
  Time total = 0;
  Time kernel = 0;
  std::int64_t cycles = 0;
  /// Of the 64-bit words that read_bandwidth read, the last padded by zeros; the checksum over all
  /// `sweeps` where it is RTL.
  std::uint64_t sum = 0;
  std::int64_t sweeps = 0;  ///< that RTL made clock by clock; the others were skipped
};

/// What makes a runner of RTL kernels for a machine: `make_rtl_unit`, where it is built.
using RtlMaker = std::unique_ptr<RtlRunner> (*)(Machine&);

/// A fault that the card has made: where in the buffer of the host's end.
struct Fault {
  Direction direction = Direction::h2d;
  Piece piece;
};

/// Moves real bytes and tells simulated times. Equal cards, asked the same after a reset, answer
/// the same: host addresses matter only by their place in a page.
class Card {
 public:
  explicit Card(const Board& board, std::uint64_t seed = 1, RtlMaker make_rtl = nullptr);

  [[nodiscard]] const Board& board() const { return machine_.board; }
  /// Simulated state as after power-up; memory keeps its contents. Chance, where the model has any,
  /// goes another way for every `sample`.
  void reset(std::uint64_t sample = 0) {
    machine_.reset(sample);
    faults_.clear();
  }
  /// Those since the reset.
  [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }
  [[nodiscard]] Time now() const { return machine_.now(); }
  /// Events that were simulated one by one.
  [[nodiscard]] std::uint64_t events() const { return machine_.crossing.simulator.events(); }
  [[nodiscard]] std::uint64_t replays() const { return machine_.crossing.link.replays(); }

  /// Whether what repeats is skipped, and how many periods were since the reset.
  void set_fast_forward(bool on) { machine_.fast_forward = on; }
  [[nodiscard]] bool fast_forward() const { return machine_.fast_forward; }
  [[nodiscard]] std::uint64_t fast_forwarded() const { return machine_.periods_skipped; }

  /// Throws CardError when the bank has no room for it.
  std::unique_ptr<CardBuffer> allocate(std::size_t bank, std::size_t bytes);
  /// Page-aligned host memory that stays for the next of its size.
  [[nodiscard]] Pages pinned(std::size_t bytes) const { return {pool_, bytes}; }

  /// Submitted together; returns when all are complete and software knows it.
  Time transfer(std::span<const Transfer> transfers);
  KernelTime run_kernel(const KernelCall& call);
  /// `chunks` chunks through `slots`, one after another in turn: in, copied by a kernel, out.
  Time stream(std::span<const StreamSlot> slots, std::int64_t chunks);
  /// A kernel that does nothing.
  Time launch();
  Time access(const CpuAccess& access);

 private:
  [[nodiscard]] KernelJob job_of(const KernelCall& call) const;
  [[nodiscard]] KernelTime run_rtl(const KernelCall& call, const KernelJob& job);
  std::uint64_t compute(const KernelCall& call);
  /// What goes wrong with a kernel's reads or writes of host memory.
  [[nodiscard]] Piece fault_of(const KernelCall& call, Direction direction);
  [[nodiscard]] Piece note(Direction direction, const Piece& piece);
  /// Copies between a host's buffer, which lies so in its page, and the card's.
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
