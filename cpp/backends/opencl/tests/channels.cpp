// Emulated FPGA cards that exchange messages: their cables, and with Intel's emulator the messages.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../../../tests/threads.hpp"
#include "../cables.hpp"
#include "isthmus/backend.hpp"
#include "isthmus/joint.hpp"

namespace isthmus::cl {
namespace {

namespace fs = std::filesystem;

/// While it exists, temporary folders are made inside it, so that a test sees leftovers.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string folder = (fs::temp_directory_path() / "isthmus-test-XXXXXX").string();
    REQUIRE(mkdtemp(folder.data()) != nullptr);
    path_ = folder;
    setenv("TMPDIR", folder.c_str(), 1);
  }
  ~TemporaryFolder() {
    if (before_.empty()) {
      unsetenv("TMPDIR");
    } else {
      setenv("TMPDIR", before_.c_str(), 1);
    }
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] bool empty() const { return fs::is_empty(path_); }
  /// The ports of a rank; the folder must hold one set of cables.
  [[nodiscard]] fs::path card(unsigned rank) const {
    return fs::directory_iterator(path_)->path() / std::to_string(rank);
  }

 private:
  std::string before_ = std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "";
  fs::path path_;
};

void put(const fs::path& port, char letter) { std::ofstream(port) << letter << std::flush; }

char get(const fs::path& port) {
  std::ifstream from(port);
  return static_cast<char>(from.get());
}

}  // namespace

TEST_CASE("cables: ports 0 and 1 of each card go to the next one's 2 and 3", "[cables]") {
  const TemporaryFolder temporary;
  constexpr unsigned ranks = 3;
  World world(ranks);
  std::array<std::string, ranks> heard;
  on_all_ranks(world, [&](Communicator& communicator) {
    Cables cables("ring", 1, communicator);
    const auto port = [&cables](const char* way, unsigned number) {
      return cables.folder() / ("kernel_" + (way + ("_ch" + std::to_string(number))));
    };
    for (unsigned number = 0; number < 4; ++number) {
      put(port("output", number), static_cast<char>('A' + 4 * communicator.rank() + number));
    }
    communicator.barrier();
    for (unsigned number = 0; number < 4; ++number) {
      heard.at(communicator.rank()) += get(port("input", number));
    }
    communicator.barrier();
    cables.hide();
  });
  // Rank 0 wrote ABCD, rank 1 EFGH, rank 2 IJKL.
  CHECK(heard == std::array<std::string, ranks>{"GHIJ", "KLAB", "CDEF"});
  CHECK(temporary.empty());
}

TEST_CASE("cables: all ranks report a folder that cannot be made", "[cables]") {
  const TemporaryFolder temporary;
  setenv("TMPDIR", "/proc/self", 1);
  World world(2);
  std::array<std::string, 2> said;
  on_all_ranks(world, [&](Communicator& communicator) {
    try {
      const Cables cables("ring", 1, communicator);
    } catch (const BackendError& error) {
      said.at(communicator.rank()) = error.what();
    }
  });
  CHECK_THAT(said[0], Catch::Contains("rank 0") && Catch::Contains("no folder"));
  CHECK(said[0] == said[1]);
}

TEST_CASE("cables: an emulated card and a board are not connected", "[cables]") {
  World world(3);
  std::array<std::string, 3> said;
  on_all_ranks(world, [&](Communicator& communicator) {
    check_places(true, communicator);
    try {
      check_places(communicator.rank() != 1, communicator);
    } catch (const UsageError& error) {
      said.at(communicator.rank()) = error.what();
    }
  });
  CHECK_THAT(said[0], Catch::Contains("rank 1 has a board") && Catch::Contains("staged"));
  CHECK(said == std::array{said[0], said[0], said[0]});
}

namespace {

/// Opens a device with channels that compiles for itself; null without an emulator.
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

/// The OpenCL backend if it finds Intel's emulator; else null.
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

OperationSpec exchange(std::size_t bytes, const std::string& topology = "ring",
                       const std::string& depth = "1") {
  return {"exchange",
          bytes,
          "device",
          {{"channel", "intel"}, {"topology", topology}, {"depth", depth}}};
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

/// One verified run by ranks with a card each; each rank first calls `before`. Rank 0 may get a
/// wrong seed.
std::vector<Outcome> outcomes(const Cards& cards, const OperationSpec& spec, std::uint64_t steps,
                              const std::function<void(unsigned)>& before,
                              std::uint64_t seed_of_first = seed) {
  World world(static_cast<unsigned>(cards.size()));
  std::vector<Outcome> found(cards.size());
  on_all_ranks(world, [&](Communicator& communicator) {
    const unsigned rank = communicator.rank();
    const auto operation = cards[rank]->join(spec, communicator);
    operation->connect(communicator);
    before(rank);
    operation->arm_fully(rank == 0 ? seed_of_first : seed);
    communicator.barrier();
    operation->run(steps);
    found[rank].arrived = operation->arrived_fully(seed);
    found[rank].fault = operation->fault();
  });
  return found;
}

void nothing(unsigned /*rank*/) {}

/// Changes one bit of one byte between a card and its neighbour.
class Spoiler {
 public:
  Spoiler(const fs::path& input, std::size_t bytes, std::size_t spoiled) {
    const fs::path source = fs::weakly_canonical(input);
    const fs::path detour = input.parent_path() / "detour";
    if (mkfifo(detour.c_str(), S_IRUSR | S_IWUSR) != 0) {
      throw std::runtime_error("no FIFO");
    }
    from_ = open(source.c_str(), O_RDWR);
    to_ = open(detour.c_str(), O_RDWR);
    fs::remove(input);
    fs::create_symlink("detour", input);
    thread_ = std::thread([this, bytes, spoiled] {
      for (std::size_t i = 0; i < bytes; ++i) {
        char byte = 0;
        if (read(from_, &byte, 1) != 1) {
          return;
        }
        byte = static_cast<char>(byte ^ (i == spoiled ? 0x10 : 0));
        if (write(to_, &byte, 1) != 1) {
          return;
        }
      }
    });
  }
  ~Spoiler() {
    thread_.join();
    close(from_);
    close(to_);
  }
  Spoiler(const Spoiler&) = delete;
  Spoiler& operator=(const Spoiler&) = delete;

 private:
  int from_;
  int to_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("intel channels: messages of any size arrive, at any depth of a channel", "[intel]") {
  const auto backend = emulator();
  if (!backend) {
    return;
  }
  const TemporaryFolder temporary;
  for (const unsigned ranks : {1U, 2U, 3U}) {
    const Cards cards = emulated_cards(*backend, ranks);
    for (const char* topology : {"ring", "pairs", "random"}) {
      for (const std::size_t bytes : {1, 63, 64, 65, 4097, 70'001}) {
        INFO(bytes << " B, " << ranks << " ranks, " << topology);
        for (const Outcome& outcome : outcomes(cards, exchange(bytes, topology), 4, nothing)) {
          CHECK(outcome.fault.empty());
          CHECK(outcome.arrived);
        }
      }
    }
  }
  CHECK(temporary.empty());
  for (const char* depth : {"1", "2", "1024"}) {
    INFO("depth " << depth << " within a card");
    CHECK(outcomes(emulated_cards(*backend, 1), exchange(1000, "internal", depth), 4, nothing)[0]
              .arrived);
  }
}

TEST_CASE("intel channels: one wrong bit in any message is found", "[intel]") {
  const auto backend = emulator();
  if (!backend) {
    return;
  }
  constexpr std::size_t bytes = 640;
  constexpr std::size_t steps = 20;
  constexpr std::size_t through_a_port = steps * bytes / 2;
  // In the first message, which is not kept, and in the last message.
  for (const std::size_t spoiled : {std::size_t{5}, through_a_port - 3}) {
    const TemporaryFolder temporary;
    const Cards cards = emulated_cards(*backend, 2);
    std::unique_ptr<Spoiler> spoiler;
    const auto found = outcomes(cards, exchange(bytes), steps, [&](unsigned rank) {
      if (rank == 1) {
        spoiler = std::make_unique<Spoiler>(temporary.card(1) / "kernel_input_ch2", through_a_port,
                                            spoiled);
      }
    });
    CHECK(found[0].arrived);
    CHECK_FALSE(found[1].arrived);
    CHECK_THAT(found[1].fault, Catch::StartsWith("1 pairs of words from rank 0"));
  }
}

TEST_CASE("intel channels: other messages than expected are not accepted", "[intel]") {
  const auto backend = emulator();
  if (!backend) {
    return;
  }
  for (const Outcome& outcome :
       outcomes(emulated_cards(*backend, 2), exchange(1), 4, nothing, seed + 1)) {
    CHECK_FALSE(outcome.arrived);
    CHECK_FALSE(outcome.fault.empty());
  }
}

}  // namespace isthmus::cl
