// Simulated time for backends whose runtime can run above an emulated card. The package
// isthmus-emulation brings such cards. Each card counts its simulated time on a memory page that it
// shares with the backend (card_page.hpp).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "isthmus/backend.hpp"
#include "isthmus/offload.hpp"

namespace isthmus::emulated_card {

/// Whether this process's runtime has emulated cards, by the environment of the process.
bool present();

/// Marks a device as emulated: its clock is simulated, and the software above it is real. Offloads
/// lose the addition in software, because this machine's processor is not that of the board's host.
void describe(DeviceInfo& info);

/// The operation with the simulated time of the card; unchanged if no card is emulated. Throws
/// BackendError if the card reports no time.
std::unique_ptr<Operation> timed(std::unique_ptr<Operation> operation);
/// The offload with the card's time in each phase, in addition to the host's.
std::unique_ptr<Offload> timed(std::unique_ptr<Offload> offload);

/// Unused host-only buffers by size. XRT's emulation (seen in 2.13) confuses a freed buffer with a
/// new buffer at the same address, so that buffers above an emulated card are kept and reused.
template <class Buffer>
class KeptBuffers {
 public:
  /// An unused buffer of that size, if there is one.
  std::optional<Buffer> take(std::size_t bytes) {
    const auto found = free_.find(bytes);
    if (found == free_.end()) {
      return std::nullopt;
    }
    return std::move(free_.extract(found).mapped());
  }
  /// Keeps a host-only buffer for reuse.
  void keep(std::size_t bytes, Buffer buffer) {
    if (present()) {
      free_.emplace(bytes, std::move(buffer));
    }
  }

 private:
  std::multimap<std::size_t, Buffer> free_;
};

/// The unused buffers of this process. Never destroyed, because the runtime may end before.
template <class Buffer>
KeptBuffers<Buffer>& kept_buffers() {
  static auto& buffers = *new KeptBuffers<Buffer>();
  return buffers;
}

}  // namespace isthmus::emulated_card
