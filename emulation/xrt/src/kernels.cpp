#include "isthmus/card/process/kernels.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <sstream>
#include <string_view>

#include "plugin.hpp"

namespace isthmus::card::process {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);
constexpr std::size_t piece_bytes = std::size_t{1} << 20U;
constexpr std::uint64_t first_result = 0x80;
/// Of host memory that is there in part, what is asked for alone.
constexpr std::size_t least_part = 8;

/// Calls `action(offset, bytes)` for pieces of a buffer.
template <class Action>
void in_pieces(std::uint64_t bytes, const Action& action) {
  for (std::uint64_t at = 0; at < bytes; at += piece_bytes) {
    action(at, static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, bytes - at)));
  }
}

/// Throws KernelError where the product is no count of bytes: an argument is negative or too large.
std::uint64_t product(const KernelRun& run, std::uint64_t left, std::uint64_t right) {
  std::int64_t found = 0;
  if (__builtin_mul_overflow(left, right, &found)) {
    throw KernelError("kernel '" + run.unit->kernel +
                      "' was given a size or a count that cannot be: " + std::to_string(left) +
                      " times " + std::to_string(right));
  }
  return static_cast<std::uint64_t>(found);
}

struct Empty final : KernelModel {
  KernelOutcome run(const KernelRun& /*run*/) override { return {}; }
};

/// Kernels whose time the card's library simulates; data are touched once, time is of all sweeps.
class LibraryKernel : public KernelModel {
 public:
  explicit LibraryKernel(Kernel kernel) : kernel_(kernel) {}

 protected:
  /// All buffers are of `bytes` bytes.
  [[nodiscard]] KernelOutcome timed(const KernelRun& run, std::vector<std::uint64_t> reads,
                                    std::vector<std::uint64_t> writes, std::uint64_t bytes,
                                    std::uint64_t iterations) const {
    KernelOutcome outcome{
        .duration = 0,
        .bytes = product(run, product(run, bytes, iterations), reads.size() + writes.size())};
    const auto host = [&run](std::uint64_t address) { return run.reach->is_host(address); };
    const auto all_alike = [&](bool wanted) {
      const auto alike = [&](std::uint64_t address) { return host(address) == wanted; };
      return std::ranges::all_of(reads, alike) && std::ranges::all_of(writes, alike);
    };
    const bool on_host = all_alike(true) && reads.size() < 2;
    if (!on_host && !all_alike(false)) {
      outcome.duration = time_of(run.reach->traffic(), *run.timing);
      return outcome;
    }
    KernelJob job{.kernel = kernel_,
                  .target = on_host ? Target::host : Target::device,
                  .bytes = static_cast<std::int64_t>(bytes),
                  .iterations = static_cast<std::int64_t>(iterations),
                  .page_offsets = {},
                  .read_banks = {},
                  .write_banks = {}};
    const auto offset = [](const std::vector<std::uint64_t>& of) {
      return of.empty() ? 0 : static_cast<std::int64_t>(of.front() % residence_page_bytes);
    };
    job.page_offsets = {offset(reads), offset(writes)};
    const Board& board = run.timing->board();
    const std::size_t banks =
        board.memory ? static_cast<std::size_t>(board.memory->banks) : std::size_t{1};
    const auto banks_of = [&](const std::vector<std::uint64_t>& of, std::vector<std::size_t>& to) {
      for (const std::uint64_t address : of) {
        to.push_back(run.reach->bank(address) % banks);
      }
    };
    banks_of(reads, job.read_banks);
    banks_of(writes, job.write_banks);
    outcome.duration = run.timing->kernel(job);
    return outcome;
  }

 private:
  Kernel kernel_;
};

/// read_bandwidth(input0, buf_size, iter): keeps the sum of the 64-bit words, the last padded by
/// zeros.
class ReadBandwidth final : public LibraryKernel {
 public:
  ReadBandwidth() : LibraryKernel(Kernel::read_bandwidth) {}
  KernelOutcome run(const KernelRun& run) override {
    const std::uint64_t input = run.argument(0);
    const std::uint64_t bytes = run.argument(1);
    std::vector<std::byte> piece(piece_bytes);
    std::uint64_t sum = 0;
    in_pieces(bytes, [&](std::uint64_t at, std::size_t size) {
      run.reach->read(input + at, std::span(piece).first(size));
      std::memset(piece.data() + size, 0, std::min(word_bytes, piece_bytes - size));
      for (std::size_t word_at = 0; word_at < size; word_at += word_bytes) {
        std::uint64_t word = 0;
        std::memcpy(&word, piece.data() + word_at, word_bytes);
        sum += word;
      }
    });
    run.result(1, sum);
    return timed(run, {input}, {}, bytes, run.argument(2));
  }
};

/// write_bandwidth(output0, buf_size, iter): 64-bit word i becomes i.
class WriteBandwidth final : public LibraryKernel {
 public:
  WriteBandwidth() : LibraryKernel(Kernel::write_bandwidth) {}
  KernelOutcome run(const KernelRun& run) override {
    const std::uint64_t output = run.argument(0);
    const std::uint64_t bytes = run.argument(1);
    std::vector<std::uint64_t> piece(piece_bytes / word_bytes);
    in_pieces(bytes, [&](std::uint64_t at, std::size_t size) {
      std::uint64_t word = at / word_bytes;
      std::ranges::generate(piece, [&word] { return word++; });
      run.reach->write(output + at, std::as_bytes(std::span(piece)).first(size));
    });
    return timed(run, {}, {output}, bytes, run.argument(2));
  }
};

/// bandwidth(input0, output0, buf_size, iter): copies.
class Bandwidth final : public LibraryKernel {
 public:
  Bandwidth() : LibraryKernel(Kernel::bandwidth) {}
  KernelOutcome run(const KernelRun& run) override {
    const std::uint64_t bytes = run.argument(2);
    std::vector<std::byte> piece(piece_bytes);
    in_pieces(bytes, [&](std::uint64_t at, std::size_t size) {
      run.reach->read(run.argument(0) + at, std::span(piece).first(size));
      run.reach->write(run.argument(1) + at, std::span(piece).first(size));
    });
    return timed(run, {run.argument(0)}, {run.argument(1)}, bytes, run.argument(3));
  }
};

/// vadd(in1, in2, out, size): sums of `size` 32-bit elements.
class Vadd final : public LibraryKernel {
 public:
  Vadd() : LibraryKernel(Kernel::vadd) {}
  KernelOutcome run(const KernelRun& run) override {
    constexpr std::size_t element = sizeof(std::uint32_t);
    const std::uint64_t bytes = product(run, run.argument(3), element);
    std::vector<std::uint32_t> left(piece_bytes / element);
    std::vector<std::uint32_t> right(piece_bytes / element);
    in_pieces(bytes, [&](std::uint64_t at, std::size_t size) {
      const auto part = [size](std::vector<std::uint32_t>& of) {
        return std::as_writable_bytes(std::span(of)).first(size);
      };
      run.reach->read(run.argument(0) + at, part(left));
      run.reach->read(run.argument(1) + at, part(right));
      std::ranges::transform(left, right, left.begin(), std::plus<>());
      run.reach->write(run.argument(2) + at, part(left));
    });
    KernelOutcome outcome =
        timed(run, {run.argument(0), run.argument(1)}, {run.argument(2)}, bytes, 1);
    if (const auto& offload = run.timing->board().offload) {  // as the card's library does
      const double least_ns = offload->kernel_ns * static_cast<double>(run.argument(3));
      outcome.duration = std::max(outcome.duration, from_nanoseconds(least_ns));
    }
    return outcome;
  }
};

struct Known {
  std::string_view name;
  std::size_t arguments;
  std::unique_ptr<KernelModel> (*make)();
};

template <class Model>
std::unique_ptr<KernelModel> make() {
  return std::make_unique<Model>();
}

constexpr std::array known_kernels = {
    Known{"isthmus_empty", 0, make<Empty>}, Known{"read_bandwidth", 3, make<ReadBandwidth>},
    Known{"write_bandwidth", 3, make<WriteBandwidth>}, Known{"bandwidth", 4, make<Bandwidth>},
    Known{"vadd", 4, make<Vadd>}};

Time swept(Timing& timing, Kernel kernel, Target target, std::uint64_t bytes) {
  if (bytes == 0) {
    return 0;
  }
  return timing.kernel({.kernel = kernel,
                        .target = target,
                        .bytes = static_cast<std::int64_t>(bytes),
                        .iterations = 1,
                        .page_offsets = {},
                        .read_banks = {0},
                        .write_banks = {0}});
}

}  // namespace

bool Reach::is_host(std::uint64_t address) const {
  const MemoryRange* memory = description_->memory_of(address);
  return memory != nullptr && memory->host;
}

void Warnings::tell(const std::string& key, const std::string& text) {
  if (fatal_) {
    throw KernelError(text);
  }
  if (told_.insert(key).second) {
    const std::string line = "isthmus: emulated card: warning: " + text + "\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  }
}

/// Names the argument whose buffer begins closest below the address.
void Reach::warn(std::uint64_t address, std::uint64_t bytes, const char* does) {
  const ArgumentPlace* nearest = nullptr;
  std::uint64_t begin = 0;
  for (const ArgumentPlace& place : unit_->arguments) {
    std::uint64_t value = 0;
    std::memcpy(&value, registers_.data() + place.offset,
                static_cast<std::size_t>(std::min<std::uint64_t>(place.bytes, sizeof(value))));
    if (place.buffer && value <= address && (nearest == nullptr || value >= begin)) {
      nearest = &place;
      begin = value;
    }
  }
  const std::string argument = nearest == nullptr ? "" : nearest->name;
  std::ostringstream text;
  text << "kernel " << unit_->instance << ' ' << does << ' ' << bytes << " bytes at 0x" << std::hex
       << address << std::dec;
  if (nearest == nullptr) {
    text << ", below the buffers of all arguments";
  } else if (const std::uint64_t size = card_->allocated_at(begin); size > 0) {
    text << ", up to byte " << address + bytes - begin << " of argument " << argument
         << ", whose buffer has " << size;
  } else {
    text << ", past the end of the buffer of argument " << argument;
  }
  text << "; a board would go on, so it goes on";
  warnings_->tell(unit_->instance + '/' + argument + '/' + does, text.str());
}

void Reach::check_range(std::uint64_t address, std::uint64_t bytes) const {
  const MemoryRange* memory = description_->memory_of(address);
  if (memory == nullptr || bytes > memory->bytes - (address - memory->address)) {
    throw MemoryError(address, bytes, "kernel " + unit_->instance + " reached for no memory");
  }
}

/// In halves, down to what cannot be reached: that is zero.
void Reach::read_host(std::uint64_t address, std::span<std::byte> to) {
  try {
    host_->read(address, to);
  } catch (const MemoryError&) {
    warn(address, to.size(), "reads");
    if (to.size() <= least_part) {
      std::ranges::fill(to, std::byte{0});
      return;
    }
    const std::size_t half = to.size() / 2;
    read_host(address, to.first(half));
    read_host(address + half, to.subspan(half));
  }
}

/// In halves, down to what cannot be reached: that is lost.
void Reach::write_host(std::uint64_t address, std::span<const std::byte> from) {
  try {
    host_->write(address, from);
  } catch (const MemoryError&) {
    warn(address, from.size(), "writes");
    if (from.size() > least_part) {
      const std::size_t half = from.size() / 2;
      write_host(address, from.first(half));
      write_host(address + half, from.subspan(half));
    }
  }
}

void Reach::read(std::uint64_t address, std::span<std::byte> to) {
  if (is_host(address)) {
    read_host(address, to);
    traffic_.host_read += to.size();
    return;
  }
  traffic_.card_read += to.size();
  if (!card_->holds(address, to.size())) {
    check_range(address, to.size());
    warn(address, to.size(), "reads");
  }
  while (!to.empty()) {
    const std::span<const std::byte> part = card_->reach(address, to.size());
    std::ranges::copy(part, to.begin());
    to = to.subspan(part.size());
    address += part.size();
  }
}

void Reach::write(std::uint64_t address, std::span<const std::byte> from) {
  if (is_host(address)) {
    write_host(address, from);
    traffic_.host_written += from.size();
    return;
  }
  traffic_.card_written += from.size();
  if (!card_->holds(address, from.size())) {
    check_range(address, from.size());
    warn(address, from.size(), "writes");
  }
  while (!from.empty()) {
    const std::span<std::byte> part = card_->reach(address, from.size());
    std::ranges::copy(from.first(part.size()), part.begin());
    from = from.subspan(part.size());
    address += part.size();
  }
}

std::uint64_t KernelRun::argument(std::size_t index) const {
  const ArgumentPlace& place = unit->arguments.at(index);
  std::uint64_t value = 0;
  std::memcpy(&value, registers.data() + place.offset,
              static_cast<std::size_t>(std::min<std::uint64_t>(place.bytes, sizeof(value))));
  return value;
}

void KernelRun::result(std::size_t index, std::uint64_t value) const {
  const std::uint64_t offset = first_result + index * sizeof(value);
  const bool free = std::ranges::none_of(unit->arguments, [](const ArgumentPlace& place) {
    return place.offset + place.bytes > first_result;
  });
  if (free && offset + sizeof(value) <= registers.size()) {
    std::memcpy(registers.data() + offset, &value, sizeof(value));
  }
}

Time time_of(const Reach::Traffic& traffic, Timing& timing) {
  return std::max({swept(timing, Kernel::read_bandwidth, Target::host, traffic.host_read),
                   swept(timing, Kernel::write_bandwidth, Target::host, traffic.host_written),
                   swept(timing, Kernel::read_bandwidth, Target::device, traffic.card_read),
                   swept(timing, Kernel::write_bandwidth, Target::device, traffic.card_written)});
}

std::unique_ptr<KernelModel> make_kernel(const ComputeUnit& unit,
                                         const std::vector<std::string>& folders) {
  if (auto plugin = load_plugin(unit.kernel, folders)) {
    return plugin;
  }
  const auto* found = std::ranges::find(known_kernels, unit.kernel, &Known::name);
  if (found == known_kernels.end()) {
    std::string names;
    for (const Known& known : known_kernels) {
      names += (names.empty() ? "" : ", ") + std::string(known.name);
    }
    throw KernelError("the emulated card has no kernel '" + unit.kernel + "'; it has " + names +
                      ", and those that --kernels FOLDER brings as NAME.so");
  }
  if (unit.arguments.size() < found->arguments) {
    throw KernelError("kernel '" + unit.kernel + "' has " + std::to_string(found->arguments) +
                      " arguments, in the xclbin only " + std::to_string(unit.arguments.size()));
  }
  return found->make();
}

}  // namespace isthmus::card::process
