// A compute unit with RTL kernels: an actor that makes the kernel's clock edges by its own events.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "isthmus/card/rtl_unit.hpp"
#include "machine_port.hpp"
#include "masters.hpp"

namespace isthmus::card {
namespace {

constexpr std::array<std::string_view, 3> names{"read_bandwidth", "write_bandwidth", "bandwidth"};
constexpr std::int64_t rtl_outstanding = 16;
constexpr std::int64_t rtl_burst_bytes = 4096;
/// Edges that `RtlKernel::start` makes: for the write to the start bit, and for its answer.
constexpr Time edges_of_start = 2;

void check(const Board& board) {
  const KernelParameters& kernel = board.kernel.value();
  if (std::cmp_not_equal(kernel.width_bytes, axi_bytes)) {
    throw BoardError("kernel.width_bytes = " + std::to_string(kernel.width_bytes) +
                     ": the RTL kernels are 64 B wide");
  }
  if (kernel.width_bytes * kernel.burst_beats != rtl_burst_bytes) {
    throw BoardError("kernel.burst_beats = " + std::to_string(kernel.burst_beats) +
                     ": the RTL kernels' bursts are of 64 beats, 4 KiB");
  }
  if (kernel.outstanding > rtl_outstanding) {
    throw BoardError("kernel.outstanding = " + std::to_string(kernel.outstanding) +
                     ": the RTL kernels have at most 16 bursts in flight");
  }
}

class RtlUnit final : public Actor, public RtlRunner {
 public:
  explicit RtlUnit(Machine& machine)
      : machine_(&machine), reader_(machine.crossing), writer_(machine.crossing) {
    constexpr std::int64_t unit_id = 4000;
    id = unit_id;
    check(machine.board);
  }

  RtlRun run(const RtlJob& job) override {
    const KernelJob& work = job.work;
    if (work.bytes == 0 || work.iterations == 0) {
      return {};
    }
    if (work.kernel == Kernel::vadd ||
        std::ranges::any_of(work.page_offsets, [](std::int64_t offset) {
          return offset % static_cast<std::int64_t>(axi_bytes) != 0;
        })) {
      throw BoardError("the RTL kernels read, write or copy buffers that begin at whole beats");
    }
    kernel_ = make_rtl_kernel(names.at(static_cast<std::size_t>(work.kernel)), period());
    const std::unique_ptr<MachinePort> port = connect(job);
    machine_->forget();
    machine_->sweeps_only = true;
    const Time begin = machine_->now();
    start(work);
    machine_->run();
    machine_->sweeps_only = false;
    return {.time = ended_ - begin, .result = kernel_->result(0), .sweeps = port->sweeps()};
  }

  void handle(std::uint64_t /*payload*/) override {
    kernel_->clock();
    if (kernel_->done()) {
      ended_ = machine_->now();
    } else {
      tick();
    }
  }

 private:
  std::unique_ptr<MachinePort> connect(const RtlJob& job) {
    std::unique_ptr<MachinePort> port;
    if (job.work.target == Target::host) {
      port = std::make_unique<HostPort>(*machine_, *kernel_, job, reader_, writer_);
    } else {
      port = std::make_unique<BankPort>(*machine_, *kernel_, job);
    }
    for (std::size_t master = 0; master < kernel_->masters(); ++master) {
      kernel_->connect(master, *port);
    }
    return port;
  }

  /// Starts the kernel. Its clock goes on from the last run; `ahead_` converts to the machine's
  /// time.
  void start(const KernelJob& work) {
    std::size_t argument = 0;
    if (work.kernel != Kernel::write_bandwidth) {
      kernel_->set_argument(argument++, MachinePort::input_address);
    }
    if (work.kernel != Kernel::read_bandwidth) {
      kernel_->set_argument(argument++, MachinePort::output_address);
    }
    kernel_->set_argument(argument++, static_cast<std::uint64_t>(work.bytes));
    kernel_->set_argument(argument, static_cast<std::uint64_t>(work.iterations));
    kernel_->start();
    ahead_ = machine_->crossing.simulator.now() + edges_of_start * period() - kernel_->now();
    tick();
  }

  [[nodiscard]] Time period() const {
    return Pace::of_clock(machine_->board.kernel.value().clock_MHz).of(1);
  }
  void tick() { machine_->crossing.simulator.schedule(kernel_->now() + ahead_, *this, 0); }

  Machine* machine_;
  Reader reader_;
  Writer writer_;
  std::unique_ptr<RtlKernel> kernel_;
  Time ended_ = 0;
  Time ahead_ = 0;  ///< machine's time minus the kernel's time
};

}  // namespace

std::unique_ptr<RtlRunner> make_rtl_unit(Machine& machine) {
  return std::make_unique<RtlUnit>(machine);
}

std::uint64_t rtl_checksum(std::span<const std::byte> data, std::int64_t sweeps) {
  constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  std::uint64_t once = 0;
  for (std::size_t at = 0; at < data.size(); at += word_bytes) {
    const std::size_t place = at / word_bytes % (axi_bytes / word_bytes);
    std::uint64_t word = 0;
    std::memcpy(&word, &data[at], std::min(word_bytes, data.size() - at));
    once = std::rotl(once, place == 0 ? 1 : 0) ^ std::rotl(word, static_cast<int>(place));
  }
  // All steps are linear: a sweep rotates the previous checksum and XORs its own to it.
  const auto turns = static_cast<int>((data.size() + axi_bytes - 1) / axi_bytes % 64);
  std::uint64_t checksum = 0;
  for (std::int64_t sweep = 0; sweep < sweeps; ++sweep) {
    checksum = std::rotl(checksum, turns) ^ once;
  }
  return checksum;
}

}  // namespace isthmus::card
