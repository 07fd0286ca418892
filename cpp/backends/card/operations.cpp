#include "operations.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "card_operation.hpp"
#include "host_memory.hpp"
#include "isthmus/sweep.hpp"

namespace isthmus::card {
namespace {

/// Returns whether this kind of memory sets the offset in a page, which changes the simulated time.
bool is_page_offset(const std::string& memory) {
  return memory.starts_with("offset") && HostBuffer::knows(memory);
}

/// The host's end of a transfer: a persistent buffer (`pinned`), or a HostBuffer of any kind.
struct HostEnd {
  HostEnd(Card& card, const OperationSpec& spec) {
    if (spec.memory == "pinned") {
      pages.emplace(card.pinned(spec.bytes));
      data = pages->data();
      memory = std::make_unique<HostView>(data, spec.bytes);
    } else {
      auto buffer = std::make_unique<HostBuffer>(spec.memory, spec.bytes);
      data = buffer->data();
      memory = std::move(buffer);
    }
  }

  std::optional<Pages> pages;
  std::unique_ptr<Memory> memory;
  std::byte* data = nullptr;
};

/// The card's end of a transfer, and access to its contents for the verification.
struct DeviceEnd {
  DeviceEnd(Card& card, const OperationSpec& spec)
      : buffer(card.allocate(spec.bank(), spec.bytes)), view(buffer->data(), spec.bytes) {}

  std::unique_ptr<CardBuffer> buffer;
  HostView view;
};

/// The two ends of a transfer, and its direction.
struct Lane {
  Lane(Card& card, const OperationSpec& spec, Direction way)
      : direction(way),
        bytes(spec.bytes),
        host(std::make_unique<HostEnd>(card, spec)),
        device(std::make_unique<DeviceEnd>(card, spec)) {}

  [[nodiscard]] Transfer transfer() const {
    return {.direction = direction,
            .host = host->data,
            .device = device->buffer.get(),
            .offset = 0,
            .bytes = bytes};
  }
  [[nodiscard]] Movement movement() const {
    return direction == Direction::h2d ? Movement(*host->memory, device->view, bytes)
                                       : Movement(device->view, *host->memory, bytes);
  }

  Direction direction;
  std::size_t bytes;
  std::unique_ptr<HostEnd> host;
  std::unique_ptr<DeviceEnd> device;
};

/// Several transfers that are submitted at once, for one part after the other.
class Transfers final : public CardOperation {
 public:
  Transfers(Card& card, const OperationSpec& spec, const std::vector<std::vector<Direction>>& parts)
      : CardOperation(card, parts.size()), transfers_(parts.size()), movements_(parts.size()) {
    for (std::size_t part = 0; part < parts.size(); ++part) {
      for (const Direction direction : parts[part]) {
        for (unsigned i = 0; i < spec.depth(); ++i) {
          const Lane& lane = lanes_.emplace_back(card, spec, direction);
          transfers_[part].push_back(lane.transfer());
          movements_[part].push_back(lane.movement());
        }
      }
    }
  }

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t part) const override {
    return transfers_[part].size() * transfers_[part].front().bytes;
  }

 protected:
  Time simulate(std::size_t part, std::uint64_t repetitions) override {
    Time time = 0;
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      time += card().transfer(transfers_[part]);
    }
    return time;
  }
  std::vector<Movement>& movements(std::size_t part) override { return movements_[part]; }

 private:
  std::vector<Lane> lanes_;
  std::vector<std::vector<Transfer>> transfers_;
  std::vector<std::vector<Movement>> movements_;
};

/// A launch of a kernel that does nothing.
class Launch final : public CardOperation {
 public:
  explicit Launch(Card& card) : CardOperation(card, 1) {}
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override { return 0; }
  [[nodiscard]] bool moves_data() const override { return false; }

 protected:
  Time simulate(std::size_t /*part*/, std::uint64_t repetitions) override {
    Time time = 0;
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      time += card().launch();
    }
    return time;
  }
};

/// A kernel that reads or writes card memory once. Reads are verified by their sum, writes by every
/// word; each run has a fresh seed.
class KernelSweep final : public CardOperation {
 public:
  KernelSweep(Card& card, const OperationSpec& spec, Kernel kernel)
      : CardOperation(card, 1), memory_(card, spec) {
    call_.kernel = kernel;
    call_.bytes = spec.bytes;
    if (kernel == Kernel::read_bandwidth) {
      call_.inputs = {memory_.buffer.get()};
    } else {
      call_.output = memory_.buffer.get();
    }
  }

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return call_.bytes;
  }
  void arm_fully(std::size_t /*part*/, std::uint64_t seed) override {
    if (call_.kernel == Kernel::read_bandwidth) {
      put_pattern(memory_.view, call_.bytes, KernelSum::contents(seed));
      sum_ = ~pattern_sum(call_.bytes, KernelSum::contents(seed));
    } else {
      call_.value = seed;
      fill_unlike_count({memory_.buffer->data(), call_.bytes}, seed);
    }
  }
  [[nodiscard]] bool arrived_fully(std::size_t /*part*/, std::uint64_t seed) override {
    if (call_.kernel == Kernel::read_bandwidth) {
      return sum_ == pattern_sum(call_.bytes, KernelSum::contents(seed));
    }
    return has_count({memory_.buffer->data(), call_.bytes}, seed);
  }

 protected:
  Time simulate(std::size_t /*part*/, std::uint64_t repetitions) override {
    Time time = 0;
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      const KernelTime run = card().run_kernel(call_);
      time += run.total;
      sum_ = run.sum;
    }
    return time;
  }

 private:
  DeviceEnd memory_;
  KernelCall call_;
  std::uint64_t sum_ = 0;
};

/// A stream of chunks through `depth` buffers: to the card, copied by a kernel, back. One
/// repetition is one chunk. The times to fill and drain the buffers count.
class Stream final : public CardOperation {
 public:
  Stream(Card& card, const OperationSpec& spec) : CardOperation(card, 1), bytes_(spec.bytes) {
    for (unsigned i = 0; i < spec.depth(); ++i) {
      const Lane& in = lanes_.emplace_back(card, spec, Direction::h2d);
      slots_.push_back({.host_input = in.host->data, .input = in.device->buffer.get()});
      Memory& source = *in.host->memory;
      Memory& arrives = in.device->view;
      const Lane& out = lanes_.emplace_back(card, spec, Direction::d2h);
      slots_.back().host_output = out.host->data;
      slots_.back().output = out.device->buffer.get();
      movements_.emplace_back(source, *out.host->memory, bytes_,
                              std::vector<Memory*>{&arrives, &out.device->view});
    }
  }

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return 2 * bytes_;
  }
  /// Returns twice the number of buffers: with fewer chunks, filling and draining would dominate.
  [[nodiscard]] std::uint64_t least_batch() const override { return 2 * slots_.size(); }

 protected:
  Time simulate(std::size_t /*part*/, std::uint64_t repetitions) override {
    return card().stream(slots_, static_cast<std::int64_t>(repetitions));
  }
  std::vector<Movement>& movements(std::size_t /*part*/) override { return movements_; }

 private:
  std::uint64_t bytes_;
  std::vector<Lane> lanes_;
  std::vector<StreamSlot> slots_;
  std::vector<Movement> movements_;
};

std::unique_ptr<Operation> make_any(Card& card, const OperationSpec& spec) {
  using D = Direction;
  const auto transfers = [&](const std::vector<std::vector<D>>& parts) {
    return std::make_unique<Transfers>(card, spec, parts);
  };
  if (spec.name == "write") {
    return transfers({{D::h2d}});
  }
  if (spec.name == "read") {
    return transfers({{D::d2h}});
  }
  if (spec.name == "rw") {
    return transfers({{D::d2h}, {D::h2d}});
  }
  if (spec.name == "bidirectional") {
    return transfers({{D::h2d, D::d2h}});
  }
  if (spec.name == "launch") {
    return std::make_unique<Launch>(card);
  }
  if (is_bandwidth_kernel(spec.name)) {
    return make_host_memory_kernel(card, spec);
  }
  if (spec.name == "kernel_read") {
    return std::make_unique<KernelSweep>(card, spec, Kernel::read_bandwidth);
  }
  if (spec.name == "kernel_write") {
    return std::make_unique<KernelSweep>(card, spec, Kernel::write_bandwidth);
  }
  return std::make_unique<Stream>(card, spec);
}

}  // namespace

std::vector<std::string> memory_kinds() { return {"pinned", "aligned"}; }

std::vector<OperationInfo> operations(const Board& board) {
  const bool dma = board.dma.has_value();
  const bool kernel = board.kernel.has_value();
  const auto banks = board.memory ? static_cast<unsigned>(board.memory->banks) : 0;
  std::vector<OperationInfo> table;
  if (dma) {
    table = {{.name = "write", .parts = {{"write", "h2d", "dma"}}, .axes = {queue_depth()}},
             {.name = "read", .parts = {{"read", "d2h", "dma"}}, .axes = {queue_depth()}},
             {.name = "rw",
              .parts = {{"read_rw", "d2h", "dma"}, {"write_rw", "h2d", "dma"}},
              .device_buffers = 2},
             {.name = "bidirectional",
              .parts = {{"bidirectional", "both", "dma"}},
              .device_buffers = 2}};
  }
  if (kernel) {
    table.push_back({.name = "launch", .parts = {{"launch", "", "kernel"}}, .sized = false});
  }
  if (dma && kernel) {  // the kernel needs card memory
    table.push_back({.name = "kernel_read",
                     .parts = {{"kernel_read", "", "kernel"}},
                     .memory_kinds = {"device"}});
    table.push_back({.name = "kernel_write",
                     .parts = {{"kernel_write", "", "kernel"}},
                     .memory_kinds = {"device"}});
    table.push_back({.name = "stream",
                     .parts = {{"stream", "both", "dma"}},
                     .axes = {queue_depth(2)},
                     .device_buffers = 2,
                     .most_bytes = std::uint64_t{64} << 20U});
  }
  for (OperationInfo& operation : table) {
    if (operation.sized) {
      operation.axes.push_back(memory_bank(banks));
    }
  }
  std::ranges::move(host_memory_kernels(board), std::back_inserter(table));
  return table;
}

std::unique_ptr<Operation> make_operation(Card& card, const OperationSpec& spec) {
  const Board& board = card.board();
  const auto known = operations(board);
  const OperationInfo& found = find_operation(known, spec, "this card");
  if (found.sized) {
    const auto kinds = found.memory_kinds.empty() ? memory_kinds() : found.memory_kinds;
    if (std::ranges::find(kinds, spec.memory) == kinds.end() &&
        !(found.memory_kinds.empty() && is_page_offset(spec.memory))) {
      throw UsageError("the emulated card has no memory kind '" + spec.memory + "' for " +
                       spec.name);
    }
  }
  try {
    return make_any(card, spec);
  } catch (const BoardError& error) {
    throw UsageError(error.what());
  } catch (const CardError& error) {
    throw BackendError(error.what());
  }
}

}  // namespace isthmus::card
