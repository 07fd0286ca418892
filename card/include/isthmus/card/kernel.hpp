// Event models of kernels: the accesses of their AXI masters, sweep after sweep.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "isthmus/card/fault.hpp"
#include "isthmus/card/machine.hpp"

namespace isthmus::card {

enum class Kernel : std::uint8_t { read_bandwidth, write_bandwidth, bandwidth, vadd };
enum class Target : std::uint8_t { host, device };

/// A kernel's work without its data: sizes and places.
struct KernelJob {
  Kernel kernel = Kernel::read_bandwidth;
  Target target = Target::host;
  std::int64_t bytes = 0;  ///< size of each buffer
  std::int64_t iterations = 1;
  std::array<std::int64_t, 2> page_offsets{};  ///< of read and of written host memory
  std::vector<std::size_t> read_banks;         ///< banks of card memory
  std::vector<std::size_t> write_banks;
};

/// The bytes that one port of a kernel moves in a sweep.
struct PortWork {
  bool writes = false;
  Target target = Target::device;
  std::size_t bank = 0;          ///< bank of card memory
  std::int64_t page_offset = 0;  ///< offset in a page of host memory
  std::int64_t bytes = 0;

  auto operator<=>(const PortWork& other) const = default;
};

/// A kernel's work with its data, for an RTL kernel, which processes the data.
struct RtlJob {
  KernelJob work;
  std::byte* input = nullptr;
  std::byte* output = nullptr;
  Piece flip{};  ///< bytes that are read with a wrong lowest bit
  Piece drop{};  ///< bytes whose write gets lost
};

/// Duration and result of an RTL kernel's run.
struct RtlRun {
  Time time = 0;
  std::uint64_t result = 0;  ///< result 0 of the kernel
  std::int64_t sweeps = 0;   ///< sweeps that ran clock by clock; all others were skipped
};

/// Runs RTL kernels on a machine.
class RtlRunner {
 public:
  RtlRunner() = default;
  RtlRunner(const RtlRunner&) = delete;
  RtlRunner& operator=(const RtlRunner&) = delete;
  virtual ~RtlRunner() = default;

  /// Runs a kernel. Throws BoardError if the kernels do not fit the board.
  virtual RtlRun run(const RtlJob& job) = 0;
};

/// Most bursts of a buffer that a kernel moves one by one, instead of in sweeps.
inline constexpr std::int64_t single_bursts = 2;

/// One compute unit. It moves buffers of up to two bursts burst by burst, larger ones in sweeps.
/// All ports work at once. Ports of card memory with equal numbers of bytes work in step: a burst
/// of each reading port, then a burst of each writing port. If one port reads and one port writes
/// host memory, with equal numbers of bytes, the writes follow the reads.
class KernelUnit final : public Actor {
 public:
  explicit KernelUnit(Machine& machine);

  /// Returns which pages a kernel's reads or writes find in the host's cache.
  static Residence residence(const Board& board, const KernelJob& job, bool reads);
  /// Returns the most read requests of a kernel on the link.
  static std::int64_t requests(const Board& board);

  /// Throws BoardError if the target is host memory, and the board's kernels cannot access it.
  static void require_reach(const Board& board, Target target);

  /// Runs the machine from the kernel's first to its last cycle; returns that time, without the
  /// launch. Throws TooLongError if the work is negative or too large.
  Time run(const KernelJob& job);
  Time run(const std::vector<PortWork>& ports, std::int64_t iterations);
  /// Starts the kernel without running the machine. `owner`, if any, gets an event with `tag` at
  /// the end.
  void start(const KernelJob& job, Actor* owner, std::uint64_t tag);
  void handle(std::uint64_t payload) override;

 private:
  struct Part {
    Stream* stream = nullptr;
    StreamPlan plan;
  };

  void start(std::vector<PortWork> ports, std::int64_t iterations);
  void reach_host(const std::vector<PortWork>& ports, std::int64_t iterations);
  void reach_banks(const std::vector<PortWork>& ports, std::int64_t iterations);
  [[nodiscard]] StreamPlan plan_of(const PortWork& port, std::int64_t iterations) const;
  void sweep();

  Machine* machine_;
  /// A reader for each port so far.
  std::vector<std::unique_ptr<Reader>> readers_;
  std::vector<std::unique_ptr<Writer>> writers_;
  std::vector<std::unique_ptr<BankStream>> bank_streams_;
  bool single_blocks_ = false;  ///< whether the present work goes burst by burst
  bool copies_ = false;         ///< whether the present work reads and writes
  std::vector<Part> parts_;
  Actor* owner_ = nullptr;
  std::uint64_t tag_ = 0;
  std::size_t open_ = 0;
  std::int64_t sweeps_left_ = 0;
};

}  // namespace isthmus::card
