// Opens the memory of other ranks' GPUs in this process's address space.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "isthmus/communicator.hpp"
#include "objects.hpp"

namespace isthmus::cuda {

/// Returns whether one device can access the other's memory without the host.
bool can_reach(DeviceId from, DeviceId to);
/// Lets the current context access the memory of another context of this process.
void allow_access(Context to);

/// GPU memory that the ranks of one host share: by CUDA's handles between processes, by its address
/// within one.
class Peers {
 public:
  /// Exports `mine` to all ranks and opens the memory of the ranks in `wanted`. Collective. Throws
  /// UsageError on all ranks if a GPU is on another host or cannot be accessed directly.
  Peers(const Session& session, const DeviceMemory& mine, std::span<const unsigned> wanted,
        Communicator& communicator);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  [[nodiscard]] Address of(unsigned rank) const { return addresses_.at(rank); }
  /// Returns how many thread blocks each rank can run at once, even if several ranks use one GPU;
  /// the number is equal on all ranks.
  [[nodiscard]] unsigned blocks() const { return blocks_; }
  /// Returns whether all ranks' drivers support streams that wait for a value in memory.
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
