// Event models of kernels: the accesses that their AXI masters make, sweep after sweep.
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

/// A kernel's work as an event model sees it, without data.
struct KernelJob {
  Kernel kernel = Kernel::read_bandwidth;
  Target target = Target::host;
  std::int64_t bytes = 0;  ///< size of each buffer
  std::int64_t iterations = 1;
  /// Of the memory read and of the memory written, in a page of the host.
  std::array<std::int64_t, 2> page_offsets{};
  /// Card memory's banks that are read, one for each buffer.
  std::vector<std::size_t> read_banks;
  std::vector<std::size_t> write_banks;
};

/// What one port of a kernel moves in a sweep.
struct PortWork {
  bool writes = false;
  Target target = Target::device;
  std::size_t bank = 0;          ///< bank of card memory
  std::int64_t page_offset = 0;  ///< position of the first byte in its page of host memory
  std::int64_t bytes = 0;

  auto operator<=>(const PortWork& other) const = default;
};

/// A kernel's work with its data, which an RTL kernel processes.
struct RtlJob {
  KernelJob work;
  std::byte* input = nullptr;
  std::byte* output = nullptr;
  Piece flip{};  ///< bytes that the kernel reads with a wrong lowest bit
  Piece drop{};  ///< bytes whose write gets lost
};

/// How long an RTL kernel ran, and what it computed.
struct RtlRun {
  Time time = 0;
  std::uint64_t result = 0;  ///< the kernel's result 0: sum or checksum
  std::int64_t sweeps = 0;   ///< sweeps that ran clock by clock; all others were skipped
};

/// Runs RTL kernels as parts of a machine.
class RtlRunner {
 public:
  RtlRunner() = default;
  RtlRunner(const RtlRunner&) = delete;
  RtlRunner& operator=(const RtlRunner&) = delete;
  virtual ~RtlRunner() = default;

  /// Runs a kernel. Throws BoardError if the RTL does not fit the board.
  virtual RtlRun run(const RtlJob& job) = 0;
};

/// Buffers of at most this many bursts are moved burst by burst, larger ones in sweeps.
inline constexpr std::int64_t single_bursts = 2;

/// Simulates one compute unit, whose ports all work at once. Buffers of up to two bursts are moved
/// burst by burst, larger ones in sweeps.
///
/// Ports of card memory with equal numbers of bytes work in step: a burst of each reading port,
/// then a burst of each writing port. If one port reads and one port writes host memory, with equal
/// numbers of bytes, the writes follow the reads.
class KernelUnit final : public Actor {
 public:
  explicit KernelUnit(Machine& machine);

  /// Returns which pages the kernel's reads or writes find in the host's cache.
  static Residence residence(const Board& board, const KernelJob& job, bool reads);
  /// Returns how many read requests a kernel has on the link at most.
  static std::int64_t requests(const Board& board);

  /// Throws BoardError if the target is host memory, which the board's kernels cannot access.
  static void require_reach(const Board& board, Target target);

  /// Runs the machine from the kernel's first to its last cycle; returns the time between, without
  /// the launch. Throws TooLongError if the work is negative or too large.
  Time run(const KernelJob& job);
  Time run(const std::vector<PortWork>& ports, std::int64_t iterations);
  /// Starts the kernel and returns; the caller runs the machine. `owner`, if not null, gets an
  /// event with `tag` at the end.
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
  /// Readers, one for each port that any work has used so far.
  std::vector<std::unique_ptr<Reader>> readers_;
  std::vector<std::unique_ptr<Writer>> writers_;
  std::vector<std::unique_ptr<BankStream>> bank_streams_;
  bool single_blocks_ = false;  ///< the work at hand goes burst by burst
  bool copies_ = false;         ///< the work at hand reads and writes
  std::vector<Part> parts_;
  Actor* owner_ = nullptr;
  std::uint64_t tag_ = 0;
  std::size_t open_ = 0;
  std::int64_t sweeps_left_ = 0;
};

}  // namespace isthmus::card
