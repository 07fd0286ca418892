#include "isthmus/card/process/timing.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "isthmus/card/card.hpp"

namespace isthmus::card::process {
namespace {

/// Kernel clock of boards without `kernel.clock_MHz`, as `DATA_MHZ` (xclbin/kinds.py).
constexpr double assumed_kernel_hertz = 300e6;
/// Most earlier results of `kernel` that are kept, a few MB.
constexpr std::size_t most_kept = 10'000;

/// Splits a duration into software of the board's host, at most `software`, and the rest.
Cost split(Time total, Time software) {
  const Time driver = std::min(total, software);
  return {.simulated = total - driver, .driver = driver};
}

}  // namespace

Timing::Timing(const Board& board)
    : board_(board),
      machine_(board, 1),
      dma_(board.dma ? std::make_unique<DmaEngine>(machine_) : nullptr),
      kernel_(board.kernel ? std::make_unique<KernelUnit>(machine_) : nullptr),
      random_(board.link.error_rate > 0) {}

void Timing::reset() { machine_.reset(samples_++); }

void Timing::check_bank(std::size_t bank, const std::string& name) const {
  const auto banks = static_cast<std::size_t>(board_.memory ? board_.memory->banks : 0);
  if (bank >= banks) {
    throw CardError("the program uses bank " + std::to_string(bank) + " of the card, " +
                    (name.empty() ? "" : name + ": ") + "the board " + board_.name + " has " +
                    std::to_string(banks) + (banks == 1 ? " bank" : " banks") + " (memory.banks)");
  }
}

DmaJob Timing::job(Direction direction, std::int64_t bytes) const {
  const bool reads = direction == Direction::h2d;
  return {.direction = direction,
          .bytes = bytes,
          .residence = Residence(
              reads ? board_.host.cache_read_bytes : board_.host.cache_write_bytes, bytes)};
}

Time Timing::simulate(std::span<const DmaJob> jobs) {
  reset();
  return dma_->run(jobs);
}

double Timing::beyond_first(std::span<const Direction> directions, std::int64_t bytes,
                            std::size_t last_bank) {
  const auto all = [&](std::int64_t each) {
    std::vector<DmaJob> jobs;
    for (const Direction direction : directions) {
      jobs.push_back(job(direction, each));
    }
    jobs.back().bank = last_bank;
    return simulate(jobs);
  };
  return static_cast<double>(all(bytes) - all(1));
}

double Timing::share_beside_other(Direction direction, std::int64_t bytes, bool one_bank) {
  const auto [found, fresh] = shares_.try_emplace({direction, bytes, one_bank}, 1);
  if (fresh && bytes > 1) {
    const Direction other = direction == Direction::h2d ? Direction::d2h : Direction::h2d;
    const double first = beyond_first(std::array{other}, bytes);
    const double both =
        beyond_first(std::array{Direction::h2d, Direction::d2h}, bytes, one_bank ? 0 : 1);
    if (first > 0) {
      const double alone = beyond_first(std::array{direction}, bytes);
      found->second = std::clamp((first + alone - both) / first, -1.0, 1.0);
    }
  }
  return found->second;
}

double Timing::share_of_channel(Direction direction, std::int64_t bytes) {
  const auto [found, fresh] = channels_.try_emplace({direction, bytes}, 1);
  const auto count = static_cast<std::size_t>(board_.dma.value().engines);
  if (fresh && bytes > 1 && count > 1) {
    const double alone = beyond_first(std::array{direction}, bytes);
    const double all = beyond_first(std::vector(count, direction), bytes);
    if (alone > 0) {
      const auto channels = static_cast<double>(count);
      found->second = std::clamp(all / (channels * alone), 1 / channels, 1.0);
    }
  }
  return found->second;
}

Cost Timing::transfer(Direction direction, std::int64_t bytes, std::int64_t page_offset,
                      std::size_t bank) {
  if (!dma_) {
    throw CardError("the board " + board_.name + " has no DMA engine");
  }
  if (bytes == 0) {
    return {};
  }
  check_bank(bank);
  DmaJob wanted = job(direction, bytes);
  wanted.page_offset = page_offset;
  wanted.bank = bank;
  const auto simulated = [&] { return simulate(std::span(&wanted, 1)); };
  Time total = 0;
  if (random_) {
    total = simulated();
  } else {
    const auto [found, fresh] = transfers_.try_emplace({direction, bytes, page_offset, bank}, 0);
    if (fresh) {
      found->second = simulated();
    }
    total = found->second;
  }
  const Time software = from_nanoseconds(board_.dma.value().submit_ns) +
                        from_nanoseconds(board_.dma.value().finish_ns);
  return split(total, software);
}

Cost Timing::sync(std::int64_t bytes) const {
  const SyncParameters& sync = board_.sync.value();
  return {.simulated = Pace::of_rate(sync.bandwidth_Bps).of(bytes),
          .driver = from_nanoseconds(sync.call_ns)};
}

Time Timing::kernel(const std::vector<PortWork>& ports, std::int64_t sweeps) {
  if (!kernel_) {
    throw CardError("the board " + board_.name + " has no kernels");
  }
  for (const PortWork& port : ports) {
    if (port.target == Target::device) {
      check_bank(port.bank);
    }
  }
  const auto simulated = [&] {
    reset();
    return kernel_->run(ports, sweeps);
  };
  if (random_) {
    return simulated();
  }
  if (kernels_.size() >= most_kept) {
    kernels_.clear();
  }
  const auto [found, fresh] = kernels_.try_emplace({ports, sweeps}, 0);
  if (fresh) {
    found->second = simulated();
  }
  return found->second;
}

Time Timing::kernel_on_host(std::vector<PortWork> ports, std::int64_t sweeps) {
  if (ports.empty() || !board_.kernel || !board_.kernel->reaches_host) {
    return 0;
  }
  for (PortWork& port : ports) {
    port = {.writes = port.writes, .target = Target::host, .bytes = port.bytes};
  }
  return kernel(ports, sweeps);
}

Cost Timing::launch(Time waited) {
  // The board's kernel.launch_ns contains an API's software, which really runs here.
  const double fitted = board_.kernel ? board_.kernel->launch_ns : 0;
  const double below_api = board_.driver.launch_ns;
  const Time whole = from_nanoseconds(below_api > 0 ? below_api : fitted);
  const Time interval = from_nanoseconds(board_.driver.launch_interval_ns);
  const Time least = interval > 0 ? std::min(interval, whole) : whole;
  const Time first =
      std::exchange(launched_, true) ? 0 : from_nanoseconds(board_.driver.first_launch_ns);
  return {.simulated = 0, .driver = first + std::max(least, whole - waited)};
}

Cost Timing::copy(std::int64_t bytes, std::size_t from_bank, std::size_t to_bank) {
  Cost cost = launch();
  cost.simulated += kernel(
      {{.bank = from_bank, .bytes = bytes}, {.writes = true, .bank = to_bank, .bytes = bytes}}, 1);
  return cost;
}

Cost Timing::access(bool load) {
  Cost cost{.simulated = 0, .driver = from_nanoseconds(board_.driver.register_ns)};
  if (board_.registers) {
    reset();
    const CpuAccess access{.instruction = load ? Instruction::load : Instruction::store};
    cost.simulated = Cpu::run(board_, machine_.crossing.link, 0, access);
  }
  return cost;
}

double Timing::kernel_hertz() const {
  return board_.kernel ? board_.kernel->clock_MHz * 1e6 : assumed_kernel_hertz;
}

double Timing::memory_latency_s() const {
  return board_.memory ? 1e-9 * board_.memory->latency_ns : 0;
}

}  // namespace isthmus::card::process
