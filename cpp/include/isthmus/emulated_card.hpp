// Adds simulated time to backends whose runtime can run above an emulated card of the package
// isthmus-emulation. Each card counts its time on a memory page that the backend reads
// (card_page.hpp).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "isthmus/backend.hpp"
#include "isthmus/offload.hpp"

namespace isthmus::emulated_card {

/// Returns whether emulated cards are below this process's runtime: the environment then names the
/// cards' page.
bool present();

/// Marks a device as emulated: its clock is simulated, the software above it real. Its offloads
/// lose the additions on the host, because this processor is not the one that the board's file
/// describes.
void describe(DeviceInfo& info);

/// Returns the operation with the card's simulated time added, or unchanged if no card is emulated.
/// Throws BackendError if the card's page cannot be read.
std::unique_ptr<Operation> timed(std::unique_ptr<Operation> operation);
/// Returns the offload with the card's simulated time in each phase, besides the host's time.
std::unique_ptr<Offload> timed(std::unique_ptr<Offload> offload);

/// Keeps freed host-only buffers by size for reuse above an emulated card. XRT's emulation (2.13)
/// takes a new buffer at a freed buffer's address for the freed buffer.
template <class Buffer>
class KeptBuffers {
 public:
  /// Removes and returns a kept buffer of `bytes`, or nothing if there is none.
  std::optional<Buffer> take(std::size_t bytes) {
    const auto found = free_.find(bytes);
    if (found == free_.end()) {
      return std::nullopt;
    }
    return std::move(free_.extract(found).mapped());
  }
  /// Keeps a host-only buffer for reuse if a card is emulated, else frees it.
  void keep(std::size_t bytes, Buffer buffer) {
    if (present()) {
      free_.emplace(bytes, std::move(buffer));
    }
  }

 private:
  std::multimap<std::size_t, Buffer> free_;
};

/// Returns the kept buffers of this process. They are never destroyed, because the runtime may end
/// before.
template <class Buffer>
KeptBuffers<Buffer>& kept_buffers() {
  static auto& buffers = *new KeptBuffers<Buffer>();
  return buffers;
}

}  // namespace isthmus::emulated_card
