#include "isthmus/card/card.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "isthmus/card/unset_arguments.hpp"

namespace isthmus::card {
namespace {

constexpr std::int64_t page = residence_page_bytes;

std::int64_t page_offset(const std::byte* address) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) % page);
}

/// Adds 32-bit elements; the last bytes, fewer than an element, are copied from `a`.
void add(std::byte* out, const std::byte* a, const std::byte* b, std::size_t bytes) {
  std::size_t at = 0;
  for (; at + sizeof(std::uint32_t) <= bytes; at += sizeof(std::uint32_t)) {
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    std::memcpy(&left, a + at, sizeof(left));
    std::memcpy(&right, b + at, sizeof(right));
    left += right;
    std::memcpy(out + at, &left, sizeof(left));
  }
  std::copy(a + at, a + bytes, out + at);
}

/// A kernel's name and the names of its buffers, in the order of its arguments.
struct Signature {
  std::string_view kernel;
  std::vector<std::string_view> inputs;
  std::string_view output;  ///< empty: the kernel has no output
};

Signature signature_of(Kernel kernel) {
  switch (kernel) {
    case Kernel::read_bandwidth:
      return {.kernel = "read_bandwidth", .inputs = {"input0"}, .output = {}};
    case Kernel::write_bandwidth:
      return {.kernel = "write_bandwidth", .inputs = {}, .output = "output0"};
    case Kernel::bandwidth:
      return {.kernel = "bandwidth", .inputs = {"input0"}, .output = "output0"};
    default:
      return {.kernel = "vadd", .inputs = {"in1", "in2"}, .output = "out"};
  }
}

/// Throws CardError if the call lacks one of the kernel's buffers or has a buffer too many.
void check_arguments(const KernelCall& call) {
  const Signature signature = signature_of(call.kernel);
  const bool host = call.target == Target::host;
  const std::string kernel = "kernel " + std::string(signature.kernel);
  if (host && signature.inputs.size() > 1) {
    throw CardError(kernel + " has no buffers in host memory");
  }
  if (!host && call.inputs.size() > signature.inputs.size()) {
    throw CardError(kernel + " has " + std::to_string(signature.inputs.size()) +
                    " inputs, it was given " + std::to_string(call.inputs.size()));
  }
  const auto require = [&](bool is_set, std::size_t index, std::string_view name) {
    if (!is_set) {
      throw CardError(kernel + ": " +
                      unset_arguments({std::to_string(index) + " (" + std::string(name) + ')'}));
    }
  };
  for (std::size_t n = 0; n < signature.inputs.size(); ++n) {
    const bool on_card = n < call.inputs.size() && call.inputs[n] != nullptr;
    require(host ? call.host_input != nullptr : on_card, n, signature.inputs[n]);
  }
  if (!signature.output.empty()) {
    require(host ? call.host_output != nullptr : call.output != nullptr, signature.inputs.size(),
            signature.output);
  }
}

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

std::uint64_t sum(const std::byte* data, std::size_t bytes) {
  std::uint64_t total = 0;
  for (std::size_t at = 0; at < bytes; at += word_bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, std::min(word_bytes, bytes - at));
    total += word;
  }
  return total;
}

/// Sets the 64-bit words of memory to first, first + 1, ...
void count(std::byte* data, std::size_t bytes, std::uint64_t first) {
  for (std::size_t at = 0; at < bytes; at += word_bytes) {
    const std::uint64_t word = first + at / word_bytes;
    std::memcpy(data + at, &word, std::min(word_bytes, bytes - at));
  }
}

std::byte* input_of(const KernelCall& call) {
  if (call.kernel == Kernel::write_bandwidth) {
    return nullptr;
  }
  if (call.target == Target::host) {
    return call.host_input;
  }
  return call.inputs.empty() ? nullptr : call.inputs[0]->data();
}

std::byte* output_of(const KernelCall& call) {
  if (call.kernel == Kernel::read_bandwidth) {
    return nullptr;
  }
  if (call.target == Target::host) {
    return call.host_output;
  }
  return call.output != nullptr ? call.output->data() : nullptr;
}

/// Inverts the lowest bit of a piece's first byte.
void flip(std::byte* data, const Piece& piece) {
  if (!piece.empty()) {
    data[piece.offset] ^= std::byte{1};
  }
}

/// Remembers a range of memory; the destructor restores it, so that writes to it get lost.
class Kept {
 public:
  Kept(std::byte* data, const Piece& piece)
      : at_(data + piece.offset), bytes_(at_, at_ + piece.bytes) {}
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() { std::ranges::copy(bytes_, at_); }

 private:
  std::byte* at_;
  std::vector<std::byte> bytes_;
};

/// Returns the first word that write_bandwidth writes in sweep `iteration`, counted from 1.
std::uint64_t written(const KernelCall& call, std::int64_t iteration) {
  return call.value + (static_cast<std::uint64_t>(iteration - 1) << 48U);
}

}  // namespace

CardBuffer::CardBuffer(std::size_t bank, Pages pages,
                       std::shared_ptr<std::vector<std::int64_t>> left)
    : pages_(std::move(pages)), bank_(bank), left_(std::move(left)) {
  (*left_)[bank] -= static_cast<std::int64_t>(bytes());
}

CardBuffer::~CardBuffer() { (*left_)[bank_] += static_cast<std::int64_t>(bytes()); }

Card::Card(const Board& board, std::uint64_t seed, RtlMaker make_rtl)
    : machine_(board, seed),
      dma_(board.dma ? std::make_unique<DmaEngine>(machine_) : nullptr),
      kernel_(board.kernel ? std::make_unique<KernelUnit>(machine_) : nullptr),
      make_rtl_(make_rtl),
      pipeline_(dma_ && kernel_ ? std::make_unique<Pipeline>(machine_, *dma_, *kernel_) : nullptr),
      pool_(std::make_shared<PagePool>()),
      left_(std::make_shared<std::vector<std::int64_t>>(
          machine_.banks.size(), board.memory ? board.memory->bank_bytes : 0)) {}

std::unique_ptr<CardBuffer> Card::allocate(std::size_t bank, std::size_t bytes) {
  const std::vector<std::int64_t>& left = *left_;
  if (bank >= left.size()) {
    throw CardError("the card has " + std::to_string(left.size()) + " banks, not bank " +
                    std::to_string(bank));
  }
  if (std::cmp_greater(bytes, left[bank])) {
    throw CardError("bank " + std::to_string(bank) + " has " + std::to_string(left[bank]) +
                    " B left, not " + std::to_string(bytes));
  }
  return std::unique_ptr<CardBuffer>(new CardBuffer(bank, {pool_, bytes}, left_));
}

Time Card::transfer(std::span<const Transfer> transfers) {
  if (!dma_) {
    throw CardError("this card has no DMA engine");
  }
  std::array<std::int64_t, 2> footprint{};
  for (const Transfer& transfer : transfers) {
    if (transfer.offset > transfer.device->bytes() ||
        transfer.bytes > transfer.device->bytes() - transfer.offset) {
      throw CardError("a transfer goes past the end of card memory that was allocated");
    }
    footprint.at(static_cast<std::size_t>(transfer.direction)) +=
        static_cast<std::int64_t>(transfer.bytes);
  }
  const HostParameters& host = board().host;
  std::vector<DmaJob> jobs;
  for (const Transfer& transfer : transfers) {
    const bool reads = transfer.direction == Direction::h2d;
    if (transfer.bytes == 0) {
      continue;
    }
    jobs.push_back({.direction = transfer.direction,
                    .bytes = static_cast<std::int64_t>(transfer.bytes),
                    .page_offset = page_offset(transfer.host),
                    .bank = transfer.device->bank(),
                    .residence = reads ? Residence(host.cache_read_bytes, footprint[0])
                                       : Residence(host.cache_write_bytes, footprint[1])});
    std::byte* device = transfer.device->data() + transfer.offset;
    cross(transfer.direction, reads ? device : transfer.host, reads ? transfer.host : device,
          transfer.bytes);
  }
  return dma_->run(jobs);
}

KernelJob Card::job_of(const KernelCall& call) const {
  if (!kernel_) {
    throw CardError("this card has no kernels");
  }
  KernelUnit::require_reach(board(), call.target);
  KernelJob job{.kernel = call.kernel,
                .target = call.target,
                .bytes = static_cast<std::int64_t>(call.bytes),
                .iterations = call.iterations,
                .page_offsets = {page_offset(call.host_input), page_offset(call.host_output)},
                .read_banks = {},
                .write_banks = {}};
  check_arguments(call);
  if (call.target == Target::device) {
    for (const CardBuffer* buffer : call.inputs) {
      job.read_banks.push_back(buffer->bank());
    }
    if (call.kernel != Kernel::read_bandwidth) {
      job.write_banks.push_back(call.output->bank());
    }
  }
  return job;
}

KernelTime Card::run_kernel(const KernelCall& call) {
  const KernelJob job = job_of(call);
  const Time launched = launch();
  KernelTime time;
  if (call.implementation == Implementation::rtl) {
    time = run_rtl(call, job);
  } else {
    time.sum = compute(call);
    time.kernel = kernel_->run(job);
  }
  time.total = launched + time.kernel;
  const Time cycle = Pace::of_clock(board().kernel.value().clock_MHz).of(1);
  time.cycles = (time.kernel + cycle - 1) / cycle;
  return time;
}

KernelTime Card::run_rtl(const KernelCall& call, const KernelJob& job) {
  if (make_rtl_ == nullptr) {
    throw CardError("the RTL kernels are not built in: they need Verilator");
  }
  if (!rtl_) {
    rtl_ = make_rtl_(machine_);
  }
  const RtlRun run = rtl_->run({.work = job,
                                .input = input_of(call),
                                .output = output_of(call),
                                .flip = fault_of(call, Direction::h2d),
                                .drop = fault_of(call, Direction::d2h)});
  return {.kernel = run.time, .sum = run.result, .sweeps = run.sweeps};
}

Piece Card::note(Direction direction, const Piece& piece) {
  if (!piece.empty()) {
    faults_.push_back({direction, piece});
  }
  return piece;
}

Piece Card::fault_of(const KernelCall& call, Direction direction) {
  const bool reads = direction == Direction::h2d;
  const std::byte* host = reads ? input_of(call) : output_of(call);
  if (call.target == Target::device || host == nullptr) {
    return {};
  }
  const auto bytes = static_cast<std::int64_t>(call.bytes);
  return note(direction, reads ? flipped_completion(board(), page_offset(host), bytes)
                               : dropped_write(board(), page_offset(host), bytes));
}

void Card::cross(Direction direction, std::byte* to, const std::byte* from, std::size_t bytes) {
  const auto whole = static_cast<std::int64_t>(bytes);
  if (direction == Direction::h2d) {
    std::memcpy(to, from, bytes);
    flip(to, note(direction, flipped_completion(board(), page_offset(from), whole)));
  } else {
    const Kept lost(to, note(direction, dropped_write(board(), page_offset(to), whole)));
    std::memcpy(to, from, bytes);
  }
}

/// Moves the data of the kernel's last sweep, which overwrites all earlier sweeps. Returns the sum
/// of the words that read_bandwidth reads.
std::uint64_t Card::compute(const KernelCall& call) {
  std::byte* output = output_of(call);
  const Piece wrong = fault_of(call, Direction::h2d);
  const Kept lost(output, fault_of(call, Direction::d2h));
  switch (call.kernel) {
    case Kernel::read_bandwidth: {
      std::byte* input = input_of(call);
      flip(input, wrong);
      const std::uint64_t total = sum(input, call.bytes);
      flip(input, wrong);  // restores the bit, which was wrong only in the completion
      return total;
    }
    case Kernel::write_bandwidth:
      count(output, call.bytes, written(call, call.iterations));
      break;
    case Kernel::bandwidth:
      std::memcpy(output, input_of(call), call.bytes);
      flip(output, wrong);
      break;
    case Kernel::vadd:
      add(output, input_of(call), call.inputs[1]->data(), call.bytes);
      break;
  }
  return 0;
}

Time Card::stream(std::span<const StreamSlot> slots, std::int64_t chunks) {
  if (!pipeline_ || slots.empty()) {
    throw CardError("a stream needs a DMA engine, kernels, and a slot");
  }
  const auto bytes = static_cast<std::int64_t>(slots[0].input->bytes());
  const auto count = static_cast<std::int64_t>(slots.size());
  const HostParameters& host = board().host;
  PipelineJob job;
  job.in = {.direction = Direction::h2d,
            .bytes = bytes,
            .page_offset = page_offset(slots[0].host_input),
            .bank = slots[0].input->bank(),
            .residence = Residence(host.cache_read_bytes, bytes * count)};
  job.out = {.direction = Direction::d2h,
             .bytes = bytes,
             .page_offset = page_offset(slots[0].host_output),
             .bank = slots[0].output->bank(),
             .residence = Residence(host.cache_write_bytes, bytes * count)};
  job.kernel.kernel = Kernel::bandwidth;
  job.kernel.target = Target::device;
  job.kernel.bytes = bytes;
  job.kernel.read_banks = {slots[0].input->bank()};
  job.kernel.write_banks = {slots[0].output->bank()};
  job.chunks = chunks;
  job.slots = count;
  // Later chunks of a slot move the same data, so each slot's data are moved once.
  for (const StreamSlot& slot : slots.first(static_cast<std::size_t>(std::min(count, chunks)))) {
    if (slot.input->bytes() != slots[0].input->bytes() ||
        slot.output->bytes() != slots[0].input->bytes()) {
      throw CardError("the chunks of a stream are of one size");
    }
    cross(Direction::h2d, slot.input->data(), slot.host_input, slot.input->bytes());
    std::memcpy(slot.output->data(), slot.input->data(), slot.input->bytes());
    cross(Direction::d2h, slot.host_output, slot.output->data(), slot.input->bytes());
  }
  return pipeline_->run(job);
}

Time Card::launch() {
  if (!board().kernel) {
    throw CardError("this card has no kernels");
  }
  const Time duration = from_nanoseconds(board().kernel->launch_ns);
  Simulator& simulator = machine_.crossing.simulator;
  simulator.advance(simulator.now() + duration);
  return duration;
}

Time Card::access(const CpuAccess& access) {
  Simulator& simulator = machine_.crossing.simulator;
  const Time duration = Cpu::run(board(), machine_.crossing.link, simulator.now(), access);
  simulator.advance(simulator.now() + duration);
  return duration;
}

}  // namespace isthmus::card
