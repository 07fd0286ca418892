// Memory of other ranks' GPUs, in this process's address space.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "isthmus/communicator.hpp"
#include "objects.hpp"

namespace isthmus::cuda {

/// Whether a device can access another's memory directly.
bool can_reach(DeviceId from, DeviceId to);
/// Lets the current context access another's memory in this process.
void allow_access(Context to);

/// GPU memory that ranks of one host share: between processes by CUDA's handles, within a process
/// by its address.
class Peers {
 public:
  /// Collective. Exports `mine` to all ranks, and opens the memory of the `wanted` ranks. Throws on
  /// all ranks: UsageError if a GPU is on another host or not directly accessible.
  Peers(const Session& session, const DeviceMemory& mine, std::span<const unsigned> wanted,
        Communicator& communicator);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  [[nodiscard]] Address of(unsigned rank) const { return addresses_.at(rank); }
  /// Thread blocks that each rank can run at the same time, even if ranks share its GPU: equal on
  /// all ranks.
  [[nodiscard]] unsigned blocks() const { return blocks_; }
  /// Whether the drivers of all ranks support streams that wait for a value in memory.
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
