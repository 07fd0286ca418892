// The backend `card`: cards that are emulated in this process, with real data and simulated time.
#include "isthmus/card/card.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host_memory.hpp"
#include "isthmus/backend.hpp"
#include "mmio.hpp"
#include "offload.hpp"
#include "operations.hpp"
#include "ring.hpp"

namespace isthmus::card {
namespace {

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30U;
/// Number of samples if the model draws random times; their median is shown.
constexpr unsigned random_samples = 25;

std::vector<OperationInfo> all_operations(const Board& board) {
  std::vector<OperationInfo> all = operations(board);
  if (board.registers) {
    const bool dma = board.dma.has_value() && board.memory.has_value();
    auto more = mmio_operations(board.sram ? board.sram->bytes : 0, dma);
    std::ranges::move(more, std::back_inserter(all));
  }
  std::ranges::move(ring_operations(board), std::back_inserter(all));
  return all;
}

/// Operations that any card supports.
std::vector<OperationInfo> usual_operations() {
  Board board;
  board.host.page_bytes = 4096;
  board.dma.emplace();
  board.memory = {.banks = 1};
  board.kernel = {.width_bytes = 64, .burst_beats = 64, .outstanding = 16};
  board.registers.emplace();
  board.sram = {.bytes = std::int64_t{1} << 30U};
  board.serial.emplace();
  return all_operations(board);
}

/// Returns the description of a card before the user's board is read.
DeviceInfo some_card() {
  return {.id = "",
          .name = "emulated card",
          .platform = "Isthmus",
          .api = "card",
          .max_buffer_bytes = gibibyte,
          .memory_bytes = 4 * gibibyte,
          .memory_kinds = memory_kinds(),
          .operations = usual_operations(),
          .properties = {{"rtl_kernels", rtl_kernels_here()}},
          .clock = ClockDomain::simulated};
}

DeviceInfo described(const Board& board, const Options& options) {
  DeviceInfo info = some_card();
  info.operations = all_operations(board);
  if (board.memory) {
    info.max_buffer_bytes = static_cast<std::uint64_t>(board.memory->bank_bytes);
    info.memory_bytes = info.max_buffer_bytes * static_cast<std::uint64_t>(board.memory->banks);
  }
  if (board.kernel && !board.kernel->reaches_host) {
    info.lacks.emplace_back("target=host", "kernels of this board do not reach host memory");
  }
  if (board.link.error_rate > 0) {
    info.simulated_samples = random_samples;
  }
  if (board.offload) {
    info.offloads = offloads(*board.offload);
  }
  info.properties.insert(info.properties.end(), options.begin(), options.end());
  return info;
}

/// Options of the backend; all other options change parameters of the board.
constexpr std::array own_options = {"fast_forward", "speculation"};

bool choice(const Options& options, const std::string& name, bool usual) {
  const auto given = options.find(name);
  if (given == options.end()) {
    return usual;
  }
  if (given->second != "yes" && given->second != "no") {
    throw UsageError(name + "=" + given->second + ": choose yes or no");
  }
  return given->second == "yes";
}

Board board_from(Options parameters) {
  for (const char* own : own_options) {
    parameters.erase(own);
  }
  try {
    return Board::from(parameters);
  } catch (const BoardError& error) {
    throw UsageError(error.what());
  }
}

class CardDevice final : public Device {
 public:
  explicit CardDevice(const Options& options)
      : card_(board_from(options)),
        info_(described(card_.board(), options)),
        speculation_(choice(options, "speculation", false)) {
    card_.set_fast_forward(choice(options, "fast_forward", true));
  }
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Operation> make(const OperationSpec& spec) override {
    if (is_mmio(spec.name)) {
      static_cast<void>(find_operation(info_.operations, spec, "this card"));
      return make_mmio(card_, spec, speculation_);
    }
    if (is_ring(spec.name)) {
      return make_ring(card_.board(), spec, card_.fast_forward());
    }
    return make_operation(card_, spec);
  }

 private:
  Card card_;
  DeviceInfo info_;
  bool speculation_;
};

class CardBackend final : public Backend {
 public:
  std::vector<DeviceInfo> devices() override { return {some_card()}; }
  std::unique_ptr<Device> open(const std::string& id, const Options& options) override {
    if (!id.empty()) {
      throw UsageError("the emulated card has no device '" + id + "'");
    }
    return std::make_unique<CardDevice>(options);
  }
  std::unique_ptr<Offload> offload(const std::string& /*id*/, const Options& options,
                                   const OperationSpec& spec) override {
    return make_offload(board_from(options), spec);
  }
};

}  // namespace
}  // namespace isthmus::card

ISTHMUS_BACKEND(isthmus::card::CardBackend)
