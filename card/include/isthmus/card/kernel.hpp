// Kernels as event models: what their AXI masters do, sweep after sweep.
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

/// A kernel's work: no data, only where it is.
struct KernelJob {
  Kernel kernel = Kernel::read_bandwidth;
  Target target = Target::host;
  std::int64_t bytes = 0;  ///< of each buffer
  std::int64_t iterations = 1;
  std::array<std::int64_t, 2> page_offsets{};  ///< of read and written host memory
  std::vector<std::size_t> read_banks;         ///< of card memory
  std::vector<std::size_t> write_banks;
};

/// What one port of a kernel moves in a sweep.
struct PortWork {
  bool writes = false;
  Target target = Target::device;
  std::size_t bank = 0;          ///< of card memory
  std::int64_t page_offset = 0;  ///< of host memory
  std::int64_t bytes = 0;

  auto operator<=>(const PortWork& other) const = default;
};

/// The same work for an RTL kernel: its data go through it, so it gets them.
struct RtlJob {
  KernelJob work;
  std::byte* input = nullptr;
  std::byte* output = nullptr;
  Piece flip{};  ///< read with a wrong bit: the lowest of its first byte
  Piece drop{};  ///< written and lost
};

/// What an RTL kernel's execution took and gave.
struct RtlRun {
  Time time = 0;
  std::uint64_t result = 0;  ///< its result 0
  std::int64_t sweeps = 0;   ///< that were clocked one by one; the others were skipped
};

/// Runs RTL kernels on a machine.
class RtlRunner {
 public:
  RtlRunner() = default;
  RtlRunner(const RtlRunner&) = delete;
  RtlRunner& operator=(const RtlRunner&) = delete;
  virtual ~RtlRunner() = default;

  /// Throws BoardError for a board that the kernels do not fit.
  virtual RtlRun run(const RtlJob& job) = 0;
};

/// Up to so many bursts a kernel does single ones instead of sweeps.
inline constexpr std::int64_t single_bursts = 2;

/// One compute unit; buffers up to two bursts are done burst by burst, larger ones in sweeps. All
/// its ports work at once. Those of card memory that move as many bytes do so in step: a burst of
/// each that reads, then a burst of each that writes. What is written to host memory follows what
/// is read there where these are the only two and move as much.
class KernelUnit final : public Actor {
 public:
  explicit KernelUnit(Machine& machine);

  /// Which of the host's pages a kernel's reads or writes find in its cache.
  static Residence residence(const Board& board, const KernelJob& job, bool reads);
  /// Read requests that a kernel may have on the link.
  static std::int64_t requests(const Board& board);

  /// Throws BoardError for host memory where the board's kernels do not reach it.
  static void require_reach(const Board& board, Target target);

  /// Runs the machine from the kernel's first to its last cycle; software's launch is not in it.
  /// Throws TooLongError where the work is negative or too much.
  Time run(const KernelJob& job);
  Time run(const std::vector<PortWork>& ports, std::int64_t iterations);
  /// The same without running the machine: `owner`, if any, gets an event with `tag` at the end.
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
  /// By port, as many as were needed so far.
  std::vector<std::unique_ptr<Reader>> readers_;
  std::vector<std::unique_ptr<Writer>> writers_;
  std::vector<std::unique_ptr<BankStream>> bank_streams_;
  bool single_blocks_ = false;  ///< of the work at hand
  bool copies_ = false;         ///< it reads and writes
  std::vector<Part> parts_;
  Actor* owner_ = nullptr;
  std::uint64_t tag_ = 0;
  std::size_t open_ = 0;
  std::int64_t sweeps_left_ = 0;
};

}  // namespace isthmus::card
