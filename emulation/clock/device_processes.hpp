// Device processes that XRT's shim has started.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "isthmus/card/process/page.hpp"

namespace isthmus::card::clock {

/// Those that nobody has waited for: a descriptor of each, and its number.
class DeviceProcesses {
 public:
  static constexpr int unknown = -1;    ///< place of one that nobody named
  static constexpr int unwatched = -2;  ///< place of one without a descriptor: its end is not seen

  /// Enters a process with its descriptor, or none (-1): its place. The descriptor is the table's
  /// unless the place is `unwatched`.
  int enter(pid_t process, int descriptor) {
    for (std::size_t place = 0; descriptor >= 0 && place < all_.size(); ++place) {
      int free = -1;
      if (all_[place].descriptor.compare_exchange_strong(free, descriptor)) {
        all_[place].process = process;
        return static_cast<int>(place);
      }
    }
    return unwatched;
  }

  /// -1 where the place is free.
  [[nodiscard]] int descriptor(std::size_t place) const { return all_[place].descriptor; }

  /// Frees the place of a process that has ended: its number; 0 where another thread did so.
  pid_t remove(std::size_t place, int descriptor) {
    const pid_t process = all_[place].process;
    return all_[place].descriptor.compare_exchange_strong(descriptor, -1) ? process : 0;
  }

  /// Frees a place: the descriptor that it had, or -1.
  int forget(std::size_t place) { return all_[place].descriptor.exchange(-1); }

  [[nodiscard]] static constexpr std::size_t size() { return process::most_cards; }

 private:
  struct Started {
    std::atomic<int> descriptor = -1;
    pid_t process = 0;
  };
  std::array<Started, process::most_cards> all_{};
};

}  // namespace isthmus::card::clock
