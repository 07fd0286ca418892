// Messages between ranks. Every operation verifies each message, at any size and number of ranks,
// and finds lost, doubled, exchanged and wrongly addressed messages.
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "isthmus/collective_errors.hpp"
#include "isthmus/joint.hpp"
#include "isthmus/staged.hpp"
#include "isthmus/topology.hpp"
#include "threads.hpp"

using Catch::Matchers::Contains;
using namespace isthmus;

namespace {

SeriesOptions quick() {
  SeriesOptions options;
  options.precision = 0.9;
  options.most_samples = 25;
  options.least_block_s = 1e-3;
  options.loop_s = 1e-6;
  return options;
}

/// More seconds than any series here takes.
constexpr double ages = 100.0;

using Axes = std::map<std::string, std::string>;

/// A device with host memory whose copies can fail.
class CopyingDevice final : public Device {
 public:
  static constexpr std::uint64_t never = 0;

  explicit CopyingDevice(std::uint64_t fail_at = never) : fail_at_(fail_at) {
    info_.name = "copying device";
    info_.memory_kinds = {"aligned"};
    info_.operations = {staged_exchange("cpu")};
  }
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Operation> make(const OperationSpec& spec) override {
    static_cast<void>(find_operation(info_.operations, spec, info_.name));
    throw std::logic_error("it has joint operations only");
  }
  std::unique_ptr<Staging> stage(const std::string& memory, std::size_t bytes) override {
    return std::make_unique<Copies>(*this, memory, bytes);
  }

 private:
  class Copies final : public Staging {
   public:
    Copies(CopyingDevice& device, const std::string& memory, std::size_t bytes)
        : device_(&device), host_(memory, bytes), memory_("aligned", bytes) {}
    std::span<std::byte> host() override { return {host_.data(), host_.bytes()}; }
    Memory& device() override { return memory_; }
    void to_host() override {
      device_->count();
      memory_.get(0, host());
    }
    void to_device() override { memory_.put(0, host()); }

   private:
    CopyingDevice* device_;
    HostBuffer host_;
    HostBuffer memory_;
  };

  void count() {
    if (++copies_ == fail_at_) {
      throw BackendError("the copy failed");
    }
  }

  DeviceInfo info_;
  std::uint64_t fail_at_;
  std::uint64_t copies_ = 0;
};

std::unique_ptr<Device> host_device() { return load_backend(HOST_BACKEND)->open("plain", {}); }

/// One visit by all ranks, with devices from `open`; returns rank 0's block.
Block measure(World& world, const std::function<std::unique_ptr<Device>(unsigned)>& open,
              const OperationSpec& spec, std::vector<Block>* all = nullptr) {
  std::vector<Block> blocks(world.ranks());
  on_all_ranks(world, [&](Communicator& communicator) {
    const auto device = open(communicator.rank());
    JointSeries series(*device, spec, quick(), communicator);
    blocks[communicator.rank()] = series.measure(ages);
  });
  if (all != nullptr) {
    *all = blocks;
  }
  return blocks[0];
}

Block measure_host(World& world, const OperationSpec& spec) {
  return measure(world, [](unsigned) { return host_device(); }, spec);
}

OperationSpec message(const std::string& name, std::size_t bytes, const Axes& axes = {}) {
  return {.name = name, .bytes = bytes, .memory = "aligned", .axes = axes};
}

/// The kind and text of the error that `throw_on_all` throws after an action of this rank.
std::string error_text(Communicator& communicator, const std::function<void()>& action) {
  try {
    throw_on_all(communicator, trouble_of(communicator, action));
  } catch (const UsageError& error) {
    return std::string("usage ") + error.what();
  } catch (const DeviceLostError& error) {
    return std::string("lost ") + error.what();
  } catch (const MemoryLimitError& error) {
    return std::string("memory ") + error.what();
  } catch (const BackendError& error) {
    return std::string("failed ") + error.what();
  }
  return "none";
}

template <class Error>
void fail(bool here, const char* why) {
  if (here) {
    throw Error(why);
  }
}

}  // namespace

TEST_CASE("topology: neighbours are mutual", "[exchange]") {
  const std::string topology = GENERATE("ring", "pairs", "random");
  for (unsigned ranks = 1; ranks <= 17; ++ranks) {
    std::set<unsigned> next;
    for (unsigned rank = 0; rank < ranks; ++rank) {
      const Neighbours own = neighbours_of(topology, rank, ranks);
      CAPTURE(topology, ranks, rank);
      for (unsigned lane = 0; lane < lanes; ++lane) {
        const Neighbours theirs = neighbours_of(topology, own.receiver(lane), ranks);
        CHECK(theirs.sender(lane) == rank);
      }
      next.insert(own.next);
    }
    CHECK(next.size() == ranks);
  }
}

TEST_CASE("topology: a ring goes round all ranks, also where its order is drawn", "[exchange]") {
  const std::string topology = GENERATE("ring", "random");
  for (const unsigned ranks : {1U, 2U, 3U, 8U, 64U}) {
    unsigned rank = 0;
    unsigned steps = 0;
    do {
      rank = neighbours_of(topology, rank, ranks).next;
      ++steps;
    } while (rank != 0 && steps <= ranks);
    CHECK(steps == ranks);
  }
}

TEST_CASE("topology: a drawn ring differs from rank order, and never changes", "[exchange]") {
  unsigned moved = 0;
  for (unsigned rank = 0; rank < 64; ++rank) {
    CHECK(neighbours_of("random", rank, 64).next == neighbours_of("random", rank, 64).next);
    moved += neighbours_of("random", rank, 64).next != (rank + 1) % 64 ? 1 : 0;
  }
  CHECK(moved > 32);
  CHECK_THROWS_AS(neighbours_of("star", 0, 2), UsageError);
}

TEST_CASE("exchange: every message arrives, whatever the ranks, sizes and depths", "[exchange]") {
  std::mt19937 draw(9);
  for (int i = 0; i < 12; ++i) {
    const auto ranks = static_cast<unsigned>(1 + draw() % 6);
    const std::size_t bytes = 1 + draw() % (i % 2 == 0 ? 64 : 20'000);
    const std::string depth = std::to_string(1 + draw() % 70);
    World world(ranks);
    for (const OperationSpec& spec :
         {message("exchange", bytes, {{"topology", "ring"}}),
          message("exchange", bytes, {{"topology", "pairs"}}),
          message("exchange", bytes, {{"topology", "random"}}), message("pingpong", bytes),
          message("window", bytes, {{"depth", depth}})}) {
      const Block block = measure_host(world, spec);
      CAPTURE(ranks, bytes, depth, spec.name, block.fault);
      CHECK(block.verified == Verified::yes);
      CHECK(block.parts.size() == 1 + ranks);
      CHECK(block.batch >= 1);
    }
  }
}

TEST_CASE("exchange: bytes count once, at their sender", "[exchange]") {
  World world(4);
  const Block exchange = measure_host(world, message("exchange", 100));
  CHECK(exchange.parts[0].moved_bytes == 800);
  CHECK(exchange.parts[4].moved_bytes == 200);
  CHECK(measure_host(world, message("pingpong", 100)).parts[0].moved_bytes == 400);
  const Block window = measure_host(world, message("window", 100, {{"depth", "3"}}));
  CHECK(window.parts[0].moved_bytes == 600);
  CHECK(window.parts[1].moved_bytes == 300);
  CHECK(window.parts[2].moved_bytes == 0);
}

TEST_CASE("exchange: all ranks get the same block, timed by the slowest", "[exchange]") {
  World world(3);
  std::vector<Block> blocks;
  measure(world, [](unsigned) { return host_device(); }, message("exchange", 64), &blocks);
  for (const Block& block : blocks) {
    REQUIRE(block.parts.size() == 4);
    CHECK(block.batch == blocks[0].batch);
    CHECK(block.state == blocks[0].state);
    CHECK(block.block_s == blocks[0].block_s);
    CHECK(block.parts[0].cold.value_or(0) > 0);
    for (std::size_t part = 0; part < block.parts.size(); ++part) {
      CHECK(block.parts[part].ticks == blocks[0].parts[part].ticks);
    }
    for (std::size_t i = 0; i < block.parts[0].ticks.size(); ++i) {
      CHECK(block.parts[0].ticks[i] ==
            std::max({block.parts[1].ticks[i], block.parts[2].ticks[i], block.parts[3].ticks[i]}));
    }
  }
}

TEST_CASE("exchange: a series ends on all ranks together", "[exchange]") {
  World world(2);
  SeriesOptions options = quick();
  options.precision = 1e-12;
  options.most_seconds = ages;
  on_all_ranks(world, [&](Communicator& communicator) {
    const auto device = host_device();
    JointSeries series(*device, message("pingpong", 8), options, communicator);
    std::size_t samples = 0;
    int visits = 0;
    while (series.state() == "open" && visits++ < 1'000) {
      samples += series.measure(0.002).parts[0].ticks.size();
    }
    if (series.state() != "samples" || samples != options.most_samples) {
      throw std::runtime_error("it ended otherwise");
    }
  });
}

TEST_CASE("exchange: a spoilt message is found, and its receiver named", "[exchange]") {
  const std::string fault = GENERATE("lost", "doubled", "late", "flipped");
  const std::string operation = GENERATE("exchange", "pingpong", "window");
  const std::size_t bytes = GENERATE(1, 7, 8, 10'000);
  World::Bytes before;
  World world(2, [&](std::uint64_t number, World::Post& post) {
    if (post.from != 0) {
      return;
    }
    World::Bytes sent = post.data;
    constexpr std::uint64_t struck = 2;  // among the messages that are fully verified at first
    if (fault == "lost" && number == struck) {
      post.data.clear();
    } else if ((fault == "doubled" && number == struck) || (fault == "late" && number > 0)) {
      post.data = before;
    } else if (fault == "flipped" && number == struck) {
      post.data.back() ^= std::byte{1};
    }
    before = std::move(sent);
  });
  const Block block = measure_host(world, message(operation, bytes));
  CAPTURE(fault, operation, bytes);
  CHECK(block.verified == Verified::no);
  CHECK_THAT(block.fault, Contains("first") && Contains("rank 1 ("));
}

TEST_CASE("exchange: wrongly addressed messages are found", "[exchange]") {
  const unsigned ranks = GENERATE(2U, 3U, 5U);
  const std::size_t bytes = GENERATE(1, 64);
  // Rank 0 confuses its neighbours: each receives the other's message.
  World world(ranks, [&](std::uint64_t /*number*/, World::Post& post) {
    if (post.from == 0) {
      post.to = ranks - post.to;
      post.tag = 1 - post.tag;
    }
  });
  const Block block = measure_host(world, message("exchange", bytes));
  CHECK(block.verified == Verified::no);
  CHECK_THAT(block.fault, Contains("first") && Contains("rank 1 ("));
}

TEST_CASE("exchange: a stamp finds a message that is spoilt later", "[exchange]") {
  const std::size_t bytes = GENERATE(1, 64, 10'000);
  // After the full verification it sends the same data again and again.
  World::Bytes first;
  World world(2, [&](std::uint64_t number, World::Post& post) {
    if (post.from == 0 && number >= lanes * exchange_buffer_sets) {
      first = first.empty() ? post.data : first;
      post.data = first;
    }
  });
  const Block block = measure_host(world, message("exchange", bytes));
  CHECK(block.verified == Verified::no);
  CHECK_THAT(block.fault, Contains("rank 1 (") && Contains("timed"));
}

TEST_CASE("staged: every message goes through the host and arrives", "[exchange]") {
  const std::size_t bytes = GENERATE(1, 100, 4097);
  const std::string topology = GENERATE("ring", "random");
  for (unsigned ranks = 1; ranks <= 4; ++ranks) {
    World world(ranks);
    const Block block = measure(
        world, [](unsigned) { return std::make_unique<CopyingDevice>(); },
        message("exchange", bytes, {{"channel", "staged"}, {"topology", topology}}));
    CAPTURE(ranks, bytes, block.fault);
    CHECK(block.verified == Verified::yes);
    CHECK(block.parts[0].moved_bytes == bytes * 2 * ranks);
  }
}

TEST_CASE("staged: a rank that fails is named on all ranks, and none waits for it", "[exchange]") {
  // During the first full verification, and later among the samples.
  const std::uint64_t fail_at = GENERATE(3, 40);
  World world(3);
  on_all_ranks(world, [&](Communicator& communicator) {
    CopyingDevice device(communicator.rank() == 1 ? fail_at : CopyingDevice::never);
    JointSeries series(device, message("exchange", 64), quick(), communicator);
    std::string said;
    // A slow machine may end a visit before so many copies; a later visit reaches them.
    while (said.empty() && series.state() == "open") {
      try {
        series.measure(ages);
      } catch (const BackendError& error) {
        said = error.what();
      }
    }
    if (!said.starts_with("rank 1 (") || said.find("the copy failed") == std::string::npos) {
      throw std::runtime_error("said: " + said);
    }
    // The block is lost, but the series continues.
    if (series.measure(ages).verified != Verified::yes) {
      throw std::runtime_error("it did not go on");
    }
  });
}

TEST_CASE("collective errors: every rank throws the error, of the same kind", "[exchange]") {
  World world(3);
  on_all_ranks(world, [](Communicator& communicator) {
    const unsigned rank = communicator.rank();
    const auto expect = [&](const std::string& begin, const std::string& part,
                            const std::function<void()>& action) {
      const std::string text = error_text(communicator, action);
      if (!text.starts_with(begin) || text.find(part) == std::string::npos) {
        throw std::runtime_error("said: " + text);
      }
    };
    expect("none", "", [] {});
    expect("usage rank 2 (", "no such thing",
           [rank] { fail<UsageError>(rank == 2, "no such thing"); });
    expect("lost rank 0 (", "broken\nrank 1 (", [rank] {
      fail<std::runtime_error>(rank == 0, "broken");
      fail<DeviceLostError>(rank == 1, "gone");
    });
    expect("memory rank 1 (", "full", [rank] { fail<MemoryLimitError>(rank == 1, "full"); });
  });
}
