#include "peers.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <random>
#include <string_view>

#include "isthmus/backend.hpp"
#include "isthmus/collective_errors.hpp"

namespace isthmus::cuda {
namespace {

constexpr Result access_enabled_already = 704;

using Name = std::array<char, 64>;

Name shortened(std::string_view text) {
  Name name{};
  std::ranges::copy(text.substr(0, name.size() - 1), name.begin());
  return name;
}

Name host_name() {
  Name name{};
  gethostname(name.data(), name.size() - 1);
  return name;
}

/// Returns the id of this boot of the kernel, which differs between hosts of the same name.
Name boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return shortened(id);
}

/// Returns a number that identifies this process: containers of one host may have equal process
/// ids.
std::uint64_t process_id() {
  static const std::uint64_t drawn = [] {
    std::random_device random;
    return std::uint64_t{random()} << 32U | random();
  }();
  return drawn;
}

Uuid uuid(DeviceId device) {
  Uuid id{};
  check(api().cuDeviceGetUuid(&id, device), "cuDeviceGetUuid");
  return id;
}

/// Returns the device with this UUID in this process's numbering; nothing if it is hidden.
std::optional<DeviceId> seen_as(const Uuid& wanted) {
  int count = 0;
  check(api().cuDeviceGetCount(&count), "cuDeviceGetCount");
  for (int index = 0; index < count; ++index) {
    DeviceId device = 0;
    check(api().cuDeviceGet(&device, index), "cuDeviceGet");
    if (uuid(device).bytes == wanted.bytes) {
      return device;
    }
  }
  return std::nullopt;
}

}  // namespace

bool can_reach(DeviceId from, DeviceId to) {
  int can = 0;
  check(api().cuDeviceCanAccessPeer(&can, from, to), "cuDeviceCanAccessPeer");
  return can != 0;
}

void allow_access(Context to) {
  const Result code = api().cuCtxEnablePeerAccess(to, 0);
  if (code != access_enabled_already) {
    check(code, "cuCtxEnablePeerAccess");
  }
}

/// What a rank tells all other ranks about its GPU and its memory.
struct Peers::Place {
  Name host;
  Name boot;
  std::uint64_t process;
  Uuid gpu;
  unsigned blocks;
  bool streams_wait;
  Context context;  ///< valid only in the process that sent it, as the address is
  Address address;
  IpcHandle handle;
};

Peers::Peers(const Session& session, const DeviceMemory& mine, std::span<const unsigned> wanted,
             Communicator& communicator)
    : context_(session.context()) {
  Place here{};
  throw_on_all(
      communicator, trouble_of(communicator, [&] {
        session.make_current();
        here = {.host = host_name(),
                .boot = boot_id(),
                .process = process_id(),
                .gpu = uuid(session.device()),
                .blocks = static_cast<unsigned>(attribute(session.device(), multiprocessors)),
                .streams_wait =
                    api().cuStreamWaitValue32 != nullptr && api().cuStreamWriteValue32 != nullptr,
                .context = session.context(),
                .address = mine.address(),
                .handle = {}};
        if (communicator.size() > 1) {
          check(api().cuIpcGetMemHandle(&here.handle, mine.address()), "cuIpcGetMemHandle");
        }
      }));
  const std::vector<Place> places = communicator.gathered(here);
  blocks_ = here.blocks;
  streams_wait_ = std::ranges::all_of(places, &Place::streams_wait);
  for (const Place& place : places) {
    const auto sharers = std::ranges::count_if(
        places, [&place](const Place& other) { return other.gpu.bytes == place.gpu.bytes; });
    blocks_ = std::min(blocks_, place.blocks / static_cast<unsigned>(sharers));
  }
  const Trouble trouble = trouble_of(communicator, [&] {
    for (const unsigned rank : wanted) {
      if (!addresses_.contains(rank)) {
        open(session, here, places[rank], rank);
      }
    }
  });
  try {
    throw_on_all(communicator, trouble);
  } catch (...) {
    close();
    throw;
  }
}

Peers::~Peers() { close(); }

void Peers::close() noexcept {
  // Results are ignored: if the device is lost all calls fail, and a destructor must not throw.
  api().cuCtxSetCurrent(context_);
  for (const Address address : opened_) {
    api().cuIpcCloseMemHandle(address);
  }
  opened_.clear();
}

void Peers::open(const Session& session, const Place& here, const Place& there, unsigned rank) {
  const std::string other = "rank " + std::to_string(rank) + "'s GPU";
  if (here.host != there.host || here.boot != there.boot) {
    throw UsageError(other + " is on another host (" + there.host.data() +
                     "): channel cuda reaches GPUs of one host; channel staged goes between hosts");
  }
  if (here.gpu.bytes != there.gpu.bytes) {
    const std::optional<DeviceId> device = seen_as(there.gpu);
    if (device && !can_reach(session.device(), *device)) {
      throw UsageError(other +
                       " cannot be reached directly: see nvidia-smi topo -p2p r; channel "
                       "staged goes through the host");
    }
  }
  if (here.process == there.process) {
    if (here.context != there.context) {
      allow_access(there.context);
    }
    addresses_[rank] = there.address;
    return;
  }
  Address address = 0;
  check(api().cuIpcOpenMemHandle(&address, there.handle, ipc_enable_peer_access),
        "cuIpcOpenMemHandle");
  opened_.push_back(address);
  addresses_[rank] = address;
}

}  // namespace isthmus::cuda
