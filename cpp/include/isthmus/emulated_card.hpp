// For backends whose runtime can have an emulated card behind it: what an operation takes there.
// The folder emulation/ implements it; in a build without that folder no card is emulated.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "isthmus/backend.hpp"
#include "isthmus/offload.hpp"

namespace isthmus::emulated_card {

#ifdef ISTHMUS_XRT_EMULATION
/// Whether this process's runtime has emulated cards: it says so in its environment.
bool present();

/// Says so of a device: its clock is simulated, and the software above it is real. What this
/// machine's processor takes for an add says nothing of the board's host: no offload has it.
void describe(DeviceInfo& info);

/// The same operation, whose simulated time is what the card took meanwhile; itself where no card
/// is emulated. Throws BackendError where the card tells no time.
std::unique_ptr<Operation> timed(std::unique_ptr<Operation> operation);
/// The same of an offload: each phase has the card's time beside the host's.
std::unique_ptr<Offload> timed(std::unique_ptr<Offload> offload);
#else
inline bool present() { return false; }
inline void describe(DeviceInfo& /*info*/) {}
inline std::unique_ptr<Operation> timed(std::unique_ptr<Operation> operation) { return operation; }
inline std::unique_ptr<Offload> timed(std::unique_ptr<Offload> offload) { return offload; }
#endif

/// Host-only buffers that are free, by size. XRT's emulation (seen in 2.13) takes a freed one for a
/// new one at the same address, so above an emulated card they are kept, and used again.
template <class Buffer>
class KeptBuffers {
 public:
  /// One of that size, if there is one.
  std::optional<Buffer> take(std::size_t bytes) {
    const auto found = free_.find(bytes);
    if (found == free_.end()) {
      return std::nullopt;
    }
    return std::move(free_.extract(found).mapped());
  }
  /// To be called with each host-only buffer that is of no more use.
  void keep(std::size_t bytes, Buffer buffer) {
    if (present()) {
      free_.emplace(bytes, std::move(buffer));
    }
  }

 private:
  std::multimap<std::size_t, Buffer> free_;
};

/// Those of this process. Never destroyed: the runtime may be gone by then.
template <class Buffer>
KeptBuffers<Buffer>& kept_buffers() {
  static auto& buffers = *new KeptBuffers<Buffer>();
  return buffers;
}

}  // namespace isthmus::emulated_card
