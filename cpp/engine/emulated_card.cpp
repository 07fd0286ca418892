#include "isthmus/emulated_card.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "isthmus/card_page.hpp"

namespace isthmus::emulated_card {
namespace {

using card::process::CardSlot;
using card::process::Page;
using card::process::page_variable;
using card::process::SlotState;

constexpr std::uint64_t most_transfer_bytes = std::uint64_t{64} << 20U;

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Returns the memory page of card_page.hpp, which this process maps once and never unmaps.
const Page& page() {
  static const Page* const mapped = [] {
    const int file = open(environment(page_variable), O_RDONLY | O_CLOEXEC);
    struct stat found{};
    void* data = MAP_FAILED;
    if (file >= 0 && fstat(file, &found) == 0 &&
        std::cmp_greater_equal(found.st_size, sizeof(Page))) {
      data = mmap(nullptr, sizeof(Page), PROT_READ, MAP_SHARED, file, 0);
    }
    if (file >= 0) {
      close(file);
    }
    const auto* read = data == MAP_FAILED ? nullptr : static_cast<const Page*>(data);
    if (read == nullptr || read->magic != card::process::page_magic ||
        read->version != card::process::page_version) {
      throw BackendError(std::string(environment(page_variable)) +
                         " is no page of an emulated card");
    }
    return read;
  }();
  return *mapped;
}

/// Returns the simulated time of this process's calls into all cards, in femtoseconds modulo 2^64.
std::uint64_t elapsed() {
  std::uint64_t sum = 0;
  const auto self = static_cast<std::uint32_t>(getpid());
  for (const CardSlot& slot : page().slots) {
    if (slot.state != SlotState::unused && slot.program == self) {
      sum += slot.elapsed_fs;
    }
  }
  return sum;
}

class OnEmulatedCard final : public Operation {
 public:
  explicit OnEmulatedCard(std::unique_ptr<Operation> operation)
      : operation_(std::move(operation)), took_(operation_->parts()) {}

  void run(std::size_t part, std::uint64_t repetitions) override {
    const std::uint64_t before = elapsed();
    operation_->run(part, repetitions);
    took_.at(part) = static_cast<std::int64_t>(elapsed() - before);
  }
  [[nodiscard]] std::int64_t simulated_femtoseconds(std::size_t part) const override {
    return took_.at(part);
  }

  [[nodiscard]] std::size_t parts() const override { return operation_->parts(); }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t part) const override {
    return operation_->moved_bytes(part);
  }
  [[nodiscard]] std::vector<std::string> remarks() const override { return operation_->remarks(); }
  [[nodiscard]] std::string fault() const override { return operation_->fault(); }
  [[nodiscard]] std::uint64_t least_batch() const override { return operation_->least_batch(); }
  [[nodiscard]] bool parts_arm_together() const override {
    return operation_->parts_arm_together();
  }
  [[nodiscard]] bool moves_data() const override { return operation_->moves_data(); }
  void arm_fully(std::size_t part, std::uint64_t seed) override {
    operation_->arm_fully(part, seed);
  }
  [[nodiscard]] bool arrived_fully(std::size_t part, std::uint64_t seed) override {
    return operation_->arrived_fully(part, seed);
  }
  void arm(std::size_t part, std::uint64_t stamp) override { operation_->arm(part, stamp); }
  [[nodiscard]] bool arrived(std::size_t part, std::uint64_t stamp) override {
    return operation_->arrived(part, stamp);
  }

 private:
  std::unique_ptr<Operation> operation_;
  std::vector<std::int64_t> took_;
};

}  // namespace

bool present() { return *environment(page_variable) != '\0'; }

void describe(DeviceInfo& info) {
  info.clock = ClockDomain::simulated;
  info.real_software = true;
  // XRT passes at most this much to the card at once: a larger buffer only repeats such transfers.
  info.max_buffer_bytes = std::min(info.max_buffer_bytes, most_transfer_bytes);
  std::ranges::for_each(info.offloads, drop_adds);
  info.properties.emplace_back("emulated_card", environment("ISTHMUS_CARD_BOARD"));
}

std::unique_ptr<Operation> timed(std::unique_ptr<Operation> operation) {
  if (!present()) {
    return operation;
  }
  static_cast<void>(page());
  return std::make_unique<OnEmulatedCard>(std::move(operation));
}

std::unique_ptr<Offload> timed(std::unique_ptr<Offload> offload) {
  if (present()) {
    static_cast<void>(page());
    offload->set_card_clock(elapsed);
  }
  return offload;
}

}  // namespace isthmus::emulated_card
