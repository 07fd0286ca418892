// The emulated card in process: real data, simulated time.
#include "isthmus/card/card.hpp"

#include <memory>
#include <utility>

#include "host_memory.hpp"
#include "isthmus/backend.hpp"
#include "offload.hpp"
#include "operations.hpp"

namespace isthmus::card {
namespace {

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30U;
/// Of a model with chance in it: the fixed count for which medians are shown.
constexpr unsigned random_samples = 25;

/// What any card may do.
std::vector<OperationInfo> usual_operations() {
  Board board;
  board.host.page_bytes = 4096;
  board.dma.emplace();
  board.memory = {.banks = 1};
  board.kernel = {.width_bytes = 64, .burst_beats = 64, .outstanding = 16};
  return operations(board);
}

/// The device before its board is known.
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

DeviceInfo describe(const Board& board, const Options& options) {
  DeviceInfo info = some_card();
  info.operations = operations(board);
  if (board.memory) {
    info.max_buffer_bytes = static_cast<std::uint64_t>(board.memory->bank_bytes);
    info.memory_bytes = info.max_buffer_bytes * static_cast<std::uint64_t>(board.memory->banks);
  }
  if (board.link.error_rate > 0) {
    info.simulated_samples = random_samples;
  }
  if (board.offload) {
    info.offloads = offloads();
  }
  info.properties.insert(info.properties.end(), options.begin(), options.end());
  return info;
}

Board board_from(Options parameters) {
  parameters.erase("fast_forward");
  try {
    return Board::from(parameters);
  } catch (const BoardError& error) {
    throw UsageError(error.what());
  }
}

class CardDevice final : public Device {
 public:
  explicit CardDevice(const Options& options)
      : card_(board_from(options)), info_(describe(card_.board(), options)) {
    if (const auto given = options.find("fast_forward"); given != options.end()) {
      if (given->second != "yes" && given->second != "no") {
        throw UsageError("fast_forward=" + given->second + ": choose yes or no");
      }
      card_.set_fast_forward(given->second == "yes");
    }
  }
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Operation> make(const OperationSpec& spec) override {
    return make_operation(card_, spec);
  }

 private:
  Card card_;
  DeviceInfo info_;
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
