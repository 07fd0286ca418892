// Tests which way messages between GPUs take for each size; with a GPU, also that they arrive.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../../tests/threads.hpp"
#include "../peer_plan.hpp"
#include "isthmus/backend.hpp"
#include "isthmus/joint.hpp"

using Catch::Matchers::Contains;

namespace isthmus::cuda {
namespace {

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = kib * kib;

bool is_sound(const PeerPlan& plan, std::uint64_t bytes, unsigned blocks) {
  const bool launchable = plan.lane_blocks > 0 && 2 * plan.lane_blocks <= std::max(blocks, 2U) &&
                          plan.threads > 0 && plan.threads % 32 == 0 && plan.threads <= 1024;
  if (plan.way == PeerPlan::Way::words) {
    return launchable && 2 * sizeof(std::uint64_t) * ((bytes + 3) / 4) <= signal_area_bytes;
  }
  const std::uint64_t before_last = (plan.lane_blocks - 1) * plan.part_bytes;
  return launchable && plan.part_bytes % 16 == 0 && before_last < bytes &&
         bytes <= before_last + plan.part_bytes &&
         plan.lane_blocks * signal_bytes <= signal_area_bytes;
}

/// Returns the CUDA backend if it finds a GPU, else null.
std::unique_ptr<Backend> with_gpu() {
  namespace fs = std::filesystem;
  try {
    auto backend =
        load_backend(fs::path(HOST_BACKEND).replace_filename("libisthmus_cuda.so").string());
    if (!backend->devices().empty()) {
      return backend;
    }
    WARN("skipped: no GPU");
  } catch (const BackendError& error) {
    WARN("skipped: " << error.what());
  }
  return nullptr;
}

OperationSpec exchange(std::size_t bytes, const std::string& topology = "ring") {
  return {"exchange", bytes, "device", {{"channel", "cuda"}, {"topology", topology}}};
}

/// Runs `action` on ranks that are threads of this process; each has a GPU of its own, or all share
/// one.
void on_gpus(Backend& backend, unsigned ranks,
             const std::function<void(Device&, Communicator&)>& action) {
  const std::vector<DeviceInfo> devices = backend.devices();
  World world(ranks);
  on_all_ranks(world, [&](Communicator& communicator) {
    const auto device = backend.open(devices[communicator.rank() % devices.size()].id, {});
    action(*device, communicator);
  });
}

/// Returns for each rank whether all messages arrived that were armed, after `steps` steps.
std::vector<char> arrived(Backend& backend, unsigned ranks, const OperationSpec& spec,
                          std::uint64_t steps, std::uint64_t seed_of_first) {
  constexpr std::uint64_t seed = 1000;
  std::vector<char> all(ranks);
  on_gpus(backend, ranks, [&](Device& device, Communicator& communicator) {
    const unsigned rank = communicator.rank();
    const auto operation = device.join(spec, communicator);
    operation->connect(communicator);
    operation->arm_fully(rank == 0 ? seed_of_first : seed);
    communicator.barrier();
    operation->run(steps == 0 ? operation->armed_repetitions() : steps);
    all[rank] = static_cast<char>(operation->arrived_fully(seed));
    communicator.barrier();
  });
  return all;
}

}  // namespace

TEST_CASE("cuda: every byte of a message has one sender, at every size", "[cuda]") {
  const unsigned blocks = GENERATE(1U, 2U, 7U, 80U, 132U);
  CAPTURE(blocks);
  for (std::uint64_t bytes = 1; bytes < 64 * mib; bytes += 1 + bytes / 3) {
    CAPTURE(bytes);
    CHECK(is_sound(plan_messages(bytes, blocks, false), bytes, blocks));
    const PeerPlan plan = plan_messages(bytes, blocks, true);
    CHECK((plan.way == PeerPlan::Way::copies) == (bytes >= least_copied_bytes));
  }
  CHECK(plan_messages(most_word_bytes, blocks, true).way == PeerPlan::Way::words);
  CHECK(plan_messages(most_word_bytes + 1, blocks, true).way == PeerPlan::Way::parts);
}

TEST_CASE("cuda: every message between ranks arrives", "[cuda]") {
  const auto backend = with_gpu();
  if (!backend) {
    return;
  }
  const std::size_t bytes =
      GENERATE(1, 3, 4 * kib, most_word_bytes + 1, mib + 5, least_copied_bytes);
  const unsigned ranks = GENERATE(1U, 2U);
  const std::string topology = GENERATE("ring", "pairs");
  CAPTURE(bytes, ranks, topology);
  Block block;
  on_gpus(*backend, ranks, [&](Device& device, Communicator& communicator) {
    SeriesOptions options;
    options.precision = 0.9;
    options.most_samples = 25;
    JointSeries series(device, exchange(bytes, topology), options, communicator);
    const Block measured = series.measure(100.0);
    if (communicator.rank() == 0) {
      block = measured;
    }
  });
  CAPTURE(block.fault);
  CHECK(block.verified == Verified::yes);
  CHECK(block.parts.at(0).moved_bytes == 2 * bytes * ranks);
  CHECK(std::ranges::count(block.remarks, "copy_engines") ==
        static_cast<int>(bytes >= least_copied_bytes));
}

TEST_CASE("cuda: three ranks in a ring keep their messages apart", "[cuda]") {
  const auto backend = with_gpu();
  if (!backend) {
    return;
  }
  const std::size_t bytes = GENERATE(1, 4 * kib, mib + 5);
  CHECK(arrived(*backend, 3, exchange(bytes), 0, 1000) == std::vector<char>{1, 1, 1});
}

TEST_CASE("cuda: a lost or wrong message is found", "[cuda]") {
  const auto backend = with_gpu();
  if (!backend) {
    return;
  }
  const std::size_t bytes = GENERATE(1, 64 * kib, least_copied_bytes);
  CAPTURE(bytes);
  // The last armed message is not sent.
  CHECK(arrived(*backend, 2, exchange(bytes), 3, 1000) == std::vector<char>{0, 0});
  // Rank 0 sends data of another seed, so its neighbour reports a fault.
  CHECK(arrived(*backend, 2, exchange(bytes), 0, 1001).at(1) == 0);
}

TEST_CASE("cuda: a rank that is silent is named", "[cuda]") {
  const auto backend = with_gpu();
  if (!backend) {
    return;
  }
  const std::size_t bytes = GENERATE(1, mib, least_copied_bytes);
  std::string said;
  on_gpus(*backend, 2, [&](Device& device, Communicator& communicator) {
    const auto operation = device.join(exchange(bytes), communicator);
    operation->connect(communicator);
    communicator.barrier();
    if (communicator.rank() == 0) {
      try {
        operation->run(100);
      } catch (const BackendError& error) {
        said = error.what();
      }
    }
    communicator.barrier();
  });
  CHECK_THAT(said, Contains("rank 1's GPU did not answer"));
}

}  // namespace isthmus::cuda
