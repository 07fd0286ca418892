// Memory of other ranks' GPUs, in this process' address space.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "isthmus/communicator.hpp"
#include "objects.hpp"

namespace isthmus::cuda {

/// Whether a device has a direct way to another's memory.
bool can_reach(DeviceId from, DeviceId to);
/// Lets the current context use another's memory in this process.
void allow_access(Context to);

/// What ranks of one host show each other of their GPUs' memory: between processes through CUDA's
/// handles, within one by its address.
class Peers {
 public:
  /// Collective. `mine` becomes known to all; of those of `wanted` ranks the addresses are had.
  /// Throws on all ranks: UsageError where a GPU is on another host or out of reach.
  Peers(const Session& session, const DeviceMemory& mine, std::span<const unsigned> wanted,
        Communicator& communicator);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  [[nodiscard]] Address of(unsigned rank) const { return addresses_.at(rank); }
  /// Blocks of threads that each rank can have running at once, however many share its GPU: the
  /// same on all ranks.
  [[nodiscard]] unsigned blocks() const { return blocks_; }
  /// Whether the drivers of all ranks know streams that wait for a value in memory.
  [[nodiscard]] bool streams_wait() const { return streams_wait_; }

 private:
  struct Place;
  void close() noexcept;
  void open(const Session& session, const Place& here, const Place& there, unsigned rank);

  Context context_;
  std::map<unsigned, Address> addresses_;
  std::vector<Address> opened_;
  unsigned blocks_ = 0;
  bool streams_wait_ = false;
};

}  // namespace isthmus::cuda
