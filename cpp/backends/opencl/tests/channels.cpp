// Tests exchanges between emulated FPGA cards, whose kernels run on Intel's emulator.
#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "../../../tests/threads.hpp"
#include "isthmus/backend.hpp"
#include "isthmus/joint.hpp"

namespace isthmus::cl {
namespace {

namespace fs = std::filesystem;

/// Opens a device that compiles kernels with channels; null if there is no emulator.
std::unique_ptr<Device> emulated_card(Backend& backend) {
  for (const DeviceInfo& info : backend.devices()) {
    for (const OperationInfo& operation : info.operations) {
      const AxisInfo* const channel = operation.axis("channel");
      if (channel != nullptr && channel->usual == "intel") {
        return backend.open(info.id, {});
      }
    }
  }
  return nullptr;
}

/// Returns the OpenCL backend if it finds Intel's emulator, else null.
std::unique_ptr<Backend> emulator() {
  try {
    auto backend =
        load_backend(fs::path(HOST_BACKEND).replace_filename("libisthmus_opencl.so").string());
    if (emulated_card(*backend)) {
      return backend;
    }
  } catch (const BackendError& error) {
    WARN("skipped: " << error.what());
    return nullptr;
  }
  WARN("skipped: no emulator of Intel's FPGAs; make fpga-emulator, and name it in OCL_ICD_VENDORS");
  return nullptr;
}

OperationSpec exchange(std::size_t bytes, const std::string& depth = "1") {
  return {"exchange",
          bytes,
          "device",
          {{"channel", "intel"}, {"topology", "internal"}, {"depth", depth}}};
}

struct Outcome {
  bool arrived = false;
  std::string fault;
};

using Cards = std::vector<std::unique_ptr<Device>>;

Cards emulated_cards(Backend& backend, unsigned ranks) {
  Cards cards;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    cards.push_back(emulated_card(backend));
  }
  return cards;
}

constexpr std::uint64_t seed = 1000;

/// Runs ranks with a card each, and verifies their messages. With 0 steps the kernels send nothing.
std::vector<Outcome> outcomes(const Cards& cards, const OperationSpec& spec, std::uint64_t steps) {
  World world(static_cast<unsigned>(cards.size()));
  std::vector<Outcome> found(cards.size());
  on_all_ranks(world, [&](Communicator& communicator) {
    const unsigned rank = communicator.rank();
    const auto operation = cards[rank]->join(spec, communicator);
    operation->connect(communicator);
    operation->arm_fully(seed);
    communicator.barrier();
    if (steps > 0) {
      operation->run(steps);
    }
    found[rank].arrived = operation->arrived_fully(seed);
    found[rank].fault = operation->fault();
  });
  return found;
}

}  // namespace

TEST_CASE("intel channels: messages of any size arrive, at any depth of a channel", "[intel]") {
  const auto backend = emulator();
  if (!backend) {
    return;
  }
  for (const unsigned ranks : {1U, 2U}) {
    const Cards cards = emulated_cards(*backend, ranks);
    for (const std::size_t bytes : {1, 63, 64, 65, 4097, 70'001}) {
      INFO(bytes << " B, " << ranks << " ranks");
      for (const Outcome& outcome : outcomes(cards, exchange(bytes), 4)) {
        CHECK(outcome.fault.empty());
        CHECK(outcome.arrived);
      }
    }
  }
  for (const char* depth : {"1", "2", "1024"}) {
    INFO("depth " << depth);
    CHECK(outcomes(emulated_cards(*backend, 1), exchange(1000, depth), 4)[0].arrived);
  }
}

TEST_CASE("intel channels: messages that nobody sent are missed", "[intel]") {
  const auto backend = emulator();
  if (!backend) {
    return;
  }
  for (const Outcome& outcome : outcomes(emulated_cards(*backend, 2), exchange(1), 0)) {
    CHECK_FALSE(outcome.arrived);
    CHECK_THAT(outcome.fault, Catch::Contains("did not end"));
  }
}

}  // namespace isthmus::cl
