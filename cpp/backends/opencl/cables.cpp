#include "cables.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "isthmus/backend.hpp"
#include "isthmus/buffer.hpp"
#include "isthmus/collective_errors.hpp"
#include "isthmus/topology.hpp"

namespace isthmus::cl {
namespace {

namespace fs = std::filesystem;

/// Ports 0 and 1 connect to the next card's 2 and 3.
constexpr unsigned ports = 4;
constexpr unsigned channels = ports / lanes;
constexpr std::uint64_t packet_bytes = 32;

fs::path output(unsigned port) { return "kernel_output_ch" + std::to_string(port); }
fs::path input(unsigned port) { return "kernel_input_ch" + std::to_string(port); }

[[noreturn]] void fail(const std::string& what) {
  throw BackendError(what + ": " + std::generic_category().message(errno));
}

std::string first_line(const char* file) {
  std::ifstream from(file);
  std::string line;
  std::getline(from, line);
  return line;
}

std::string machine() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return std::string(name.data()) + " " + first_line("/proc/sys/kernel/random/boot_id");
}

/// Connects a card: lane 0 leads to the next card's ports 2 and 3, lane 1 to the previous card's 0
/// and 1.
void plug(const fs::path& root, const std::string& topology, unsigned rank, unsigned ranks) {
  const Neighbours neighbours = neighbours_of(topology, rank, ranks);
  const fs::path card = root / std::to_string(rank);
  for (unsigned port = 0; port < ports; ++port) {
    const unsigned lane = 1 - port / channels;
    fs::create_symlink(fs::path("..") / std::to_string(neighbours.sender(lane)) /
                           output((port + channels) % ports),
                       card / input(port));
  }
}

/// Creates all cards of all ranks; returns the common folder.
fs::path make_cards(const std::string& topology, unsigned ranks) {
  std::string root = (fs::temp_directory_path() / "isthmus-cables-XXXXXX").string();
  if (mkdtemp(root.data()) == nullptr) {
    fail("no folder " + root);
  }
  for (unsigned rank = 0; rank < ranks; ++rank) {
    const fs::path card = fs::path(root) / std::to_string(rank);
    fs::create_directory(card);
    for (unsigned port = 0; port < ports; ++port) {
      const fs::path fifo = card / output(port);
      if (mkfifo(fifo.c_str(), S_IRUSR | S_IWUSR) != 0) {
        fail("no FIFO " + fifo.string());
      }
    }
    plug(root, topology, rank, ranks);
  }
  return root;
}

}  // namespace

void check_places(bool emulated, Communicator& communicator) {
  const std::vector<std::string> places =
      gathered_texts(communicator, emulated ? machine() : "a board");
  const auto other = std::ranges::find_if(
      places, [&places](const std::string& place) { return place != places.front(); });
  if (other != places.end()) {
    throw UsageError(
        "channel intel: emulated cards are connected within one machine, but rank 0 has " +
        places.front() + " and rank " + std::to_string(other - places.begin()) + " has " + *other +
        "; use --channel staged between machines");
  }
}

Cables::Cables(const std::string& topology, std::uint64_t packets, Communicator& communicator) {
  std::string root;
  throw_on_all(communicator, trouble_of(communicator, [&] {
                 if (communicator.rank() == 0) {
                   root = make_cards(topology, communicator.size()).string();
                 }
               }));
  folder_ =
      fs::path(gathered_texts(communicator, root).front()) / std::to_string(communicator.rank());
  throw_on_all(communicator, trouble_of(communicator, [&] { open_ports(packets); }));
}

Cables::~Cables() {
  hide();
  for (const int file : open_) {
    close(file);
  }
}

/// Opens for reading and writing, which never waits. When a rank dies, the others then see neither
/// an end of file nor a signal.
void Cables::open_ports(std::uint64_t packets) {
  for (unsigned port = 0; port < ports; ++port) {
    for (const fs::path& file : {folder_ / output(port), folder_ / input(port)}) {
      const int opened = open(file.c_str(), O_RDWR | O_CLOEXEC);
      if (opened < 0) {
        fail("cannot open " + file.string());
      }
      open_.push_back(opened);
      const std::uint64_t bytes = std::max<std::uint64_t>(packets * packet_bytes, page_bytes);
      fcntl(opened, F_SETPIPE_SZ, static_cast<int>(std::min<std::uint64_t>(bytes, 1U << 20U)));
    }
  }
}

/// Deletes each FIFO by its reader, whose message proves that its writer has it open; the last rank
/// deletes the folder.
void Cables::hide() {
  if (std::exchange(hidden_, true)) {
    return;
  }
  std::error_code ignored;
  for (unsigned port = 0; port < ports; ++port) {
    const fs::path link = folder_ / input(port);
    const fs::path fifo = fs::weakly_canonical(link, ignored);
    fs::remove(link, ignored);
    fs::remove(fifo, ignored);
    rmdir(fifo.parent_path().c_str());
  }
  rmdir(folder_.c_str());
  rmdir(folder_.parent_path().c_str());
}

}  // namespace isthmus::cl
