#include "host_memory.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "card_operation.hpp"
#include "isthmus/sweep.hpp"
#ifdef ISTHMUS_CARD_RTL
#include "isthmus/card/rtl_unit.hpp"
#endif

namespace isthmus::card {
namespace {

/// Bytes: an AXI burst must not cross an address that is a multiple of this.
constexpr std::int64_t most_burst_bytes = 4096;
constexpr std::size_t word_bytes = sizeof(std::uint64_t);

#ifdef ISTHMUS_CARD_RTL
constexpr bool has_rtl = true;
constexpr RtlMaker make_rtl = make_rtl_unit;
#else
constexpr bool has_rtl = false;
constexpr RtlMaker make_rtl = nullptr;
std::uint64_t rtl_checksum(std::span<const std::byte> /*data*/, std::int64_t /*sweeps*/) {
  throw CardError("the RTL kernels are not built in");
}
#endif

/// Most bursts in flight that the RTL kernels are built for.
constexpr int rtl_outstanding = 16;

bool rtl_fits(const Board& board) {
  const KernelParameters& kernel = board.kernel.value();
  return has_rtl && kernel.width_bytes == 64 && kernel.outstanding <= rtl_outstanding &&
         kernel.width_bytes * kernel.burst_beats == most_burst_bytes;
}

/// Returns the axes that the bandwidth kernels have only on an emulated card.
std::vector<AxisInfo> own_axes(const Board& board, bool near, const std::string& implementation) {
  const KernelParameters& kernel = board.kernel.value();
  const std::int64_t usual_burst = kernel.width_bytes * kernel.burst_beats;
  std::vector<std::string> bursts;
  std::vector<std::string> outstanding;  // empty: the model takes any number
  if (implementation == "rtl") {
    bursts = {std::to_string(usual_burst)};
    for (int most = 1; most <= rtl_outstanding; ++most) {
      outstanding.push_back(std::to_string(most));
    }
  } else {
    for (std::int64_t bytes = kernel.width_bytes; bytes <= most_burst_bytes; bytes *= 4) {
      bursts.push_back(std::to_string(bytes));
    }
    if (std::ranges::find(bursts, std::to_string(usual_burst)) == bursts.end()) {
      bursts.push_back(std::to_string(usual_burst));
    }
  }
  std::vector<AxisInfo> all{
      {.name = "outstanding", .usual = std::to_string(kernel.outstanding), .values = outstanding},
      {.name = "burst_bytes", .usual = std::to_string(usual_burst), .values = bursts}};
  if (near) {
    all.push_back(memory_bank(static_cast<unsigned>(board.memory.value().banks)));
  } else {
    all.push_back({.name = "page_bytes",
                   .usual = std::to_string(board.host.page_bytes),
                   .values = {"4096", "65536", "2097152", "1073741824"}});
  }
  return all;
}

Board changed(Board board, const OperationSpec& spec) {
  KernelParameters& kernel = board.kernel.value();
  const auto count = [&spec](const char* axis, std::int64_t usual) {
    return static_cast<std::int64_t>(spec.count(axis, static_cast<std::uint64_t>(usual)));
  };
  kernel.outstanding = count("outstanding", kernel.outstanding);
  kernel.burst_beats =
      count("burst_bytes", kernel.width_bytes * kernel.burst_beats) / kernel.width_bytes;
  board.host.page_bytes = count("page_bytes", board.host.page_bytes);
  return board;
}

/// A kernel's card, with the axes' changes to the board. A base class, so that it exists before the
/// members that use it.
struct OwnCard {
  OwnCard(const Card& like, const OperationSpec& spec)
      : own_card(changed(like.board(), spec), 1, make_rtl) {
    own_card.set_fast_forward(like.fast_forward());
  }
  Card own_card;
};

/// One launch of a kernel with `iterations` sweeps. Reads are verified by their sum (RTL:
/// checksum), copies by their data. Written words contain the number of the last sweep and are all
/// checked.
class HostMemoryKernel final : private OwnCard, public CardOperation {
 public:
  HostMemoryKernel(const Card& like, const OperationSpec& spec)
      : OwnCard(like, spec),
        CardOperation(own_card, 1),
        on_card_(spec.word("target", "host") == "device"),
        input_(make_end(spec, spec.name != "write_bandwidth")),
        output_(make_end(spec, spec.name != "read_bandwidth")) {
    const auto* const found = std::ranges::find(bandwidth_kernel_names, spec.name);
    call_.kernel = static_cast<Kernel>(found - bandwidth_kernel_names.begin());
    call_.target = on_card_ ? Target::device : Target::host;
    call_.implementation =
        spec.word("implementation", "model") == "rtl" ? Implementation::rtl : Implementation::model;
    call_.bytes = spec.bytes;
    call_.iterations = static_cast<std::int64_t>(spec.count("iterations", published_sweeps));
    if (input_) {
      if (on_card_) {
        call_.inputs.push_back(input_->near.get());
      }
      call_.host_input = on_card_ ? nullptr : input_->data;
    }
    if (output_) {
      call_.output = output_->near.get();
      call_.host_output = on_card_ ? nullptr : output_->data;
    }
    if (input_ && output_) {
      copy_.emplace_back(*input_->view, *output_->view, spec.bytes);
    }
  }

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return call_.bytes * static_cast<std::uint64_t>(call_.iterations) * (copy_.empty() ? 1 : 2);
  }
  void arm_fully(std::size_t part, std::uint64_t seed) override {
    run_ = {};
    if (!copy_.empty()) {
      Operation::arm_fully(part, seed);
    } else if (input_) {
      put_pattern(*input_->view, call_.bytes, KernelSum::contents(seed));
    } else {
      call_.value = call_.implementation == Implementation::rtl ? 0 : seed;
      fill_unlike_count({output_->data, call_.bytes}, first_word());
    }
  }
  [[nodiscard]] bool arrived_fully(std::size_t part, std::uint64_t seed) override {
    if (!copy_.empty()) {
      return Operation::arrived_fully(part, seed);
    }
    if (input_) {
      const std::uint64_t read = KernelSum::contents(seed);
      return run_.total > 0 && holds_pattern(*input_->view, call_.bytes, read) &&
             run_.sum == expected_sum(read) && single_sweep_is_right();
    }
    return has_count({output_->data, call_.bytes}, first_word());
  }

 protected:
  Time simulate(std::size_t /*part*/, std::uint64_t repetitions) override {
    Time time = 0;
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      run_ = card().run_kernel(call_);
      time += run_.total;
    }
    return time;
  }
  std::vector<Movement>& movements(std::size_t /*part*/) override { return copy_; }

 private:
  /// One buffer of the kernel, in host memory or on the card.
  struct End {
    std::optional<Pages> far;
    std::unique_ptr<CardBuffer> near;
    std::byte* data = nullptr;
    std::unique_ptr<HostView> view;
  };

  std::unique_ptr<End> make_end(const OperationSpec& spec, bool used) {
    if (!used) {
      return nullptr;
    }
    auto end = std::make_unique<End>();
    if (on_card_) {
      end->near = own_card.allocate(spec.bank(), spec.bytes);
      end->data = end->near->data();
    } else {
      end->far.emplace(own_card.pinned(spec.bytes));
      end->data = end->far->data();
    }
    end->view = std::make_unique<HostView>(end->data, spec.bytes);
    return end;
  }

  [[nodiscard]] std::uint64_t expected_sum(std::uint64_t seed) const {
    return call_.implementation == Implementation::rtl
               ? rtl_checksum({input_->data, call_.bytes}, run_.sweeps)
               : pattern_sum(call_.bytes, seed);
  }

  /// Verifies RTL's reads by one more, untimed sweep: over an even number of sweeps of whole 4 KiB
  /// the checksum cancels to 0.
  bool single_sweep_is_right() {
    if (call_.implementation == Implementation::model) {
      return true;
    }
    KernelCall once = call_;
    once.iterations = 1;
    own_card.reset();
    return own_card.run_kernel(once).sum == rtl_checksum({input_->data, call_.bytes}, 1);
  }

  /// Returns the word that the last sweep writes first.
  [[nodiscard]] std::uint64_t first_word() const {
    return call_.value + (static_cast<std::uint64_t>(call_.iterations - 1) << 48U);
  }

  bool on_card_;
  std::unique_ptr<End> input_;
  std::unique_ptr<End> output_;
  KernelCall call_;
  KernelTime run_;
  std::vector<Movement> copy_;
};

}  // namespace

bool has_count(std::span<const std::byte> data, std::uint64_t first) {
  for (std::size_t at = 0; at < data.size(); at += word_bytes) {
    const std::uint64_t expected = first + at / word_bytes;
    if (std::memcmp(data.data() + at, &expected, std::min(word_bytes, data.size() - at)) != 0) {
      return false;
    }
  }
  return true;
}

void fill_unlike_count(std::span<std::byte> to, std::uint64_t first) {
  for (std::size_t at = 0; at < to.size(); at += word_bytes) {
    const std::uint64_t word = ~(first + at / word_bytes);
    std::memcpy(to.data() + at, &word, std::min(word_bytes, to.size() - at));
  }
}

std::string rtl_kernels_here() {
  return has_rtl ? "built in" : "left out: no Verilator when Isthmus was built";
}

namespace {

/// Adds the kernels that sweep over one target, as the model or as RTL.
void add_kernels(std::vector<OperationInfo>& table, const Board& board, bool near,
                 const std::string& implementation) {
  const std::string target = near ? "device" : "host";
  const std::vector<AxisInfo> own = own_axes(board, near, implementation);
  for (OperationInfo& kernel :
       bandwidth_kernels(target, {near ? "device" : "host_only"}, implementation)) {
    kernel.axes.insert(kernel.axes.end(), own.begin(), own.end());
    kernel.device_buffers = near ? kernel.device_buffers : 1;
    table.push_back(std::move(kernel));
  }
}

}  // namespace

std::vector<OperationInfo> host_memory_kernels(const Board& board) {
  std::vector<OperationInfo> table;
  if (!board.kernel) {
    return table;
  }
  for (const bool near : {false, true}) {
    if (near ? !board.memory.has_value() : !board.kernel->reaches_host) {
      continue;
    }
    add_kernels(table, board, near, "model");
    if (rtl_fits(board)) {
      add_kernels(table, board, near, "rtl");
    }
  }
  return table;
}

std::unique_ptr<Operation> make_host_memory_kernel(const Card& like, const OperationSpec& spec) {
  return std::make_unique<HostMemoryKernel>(like, spec);
}

}  // namespace isthmus::card
