// Who talks to whom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "isthmus/backend.hpp"

namespace isthmus {

/// Messages that a rank has at once in an exchange: lane 0 goes to its next neighbour, lane 1 to
/// the one before; so what comes from the one before comes in that rank's lane 0.
inline constexpr unsigned lanes = 2;
/// Repetitions of an exchange whose messages are verified together: enough to see a message that
/// came twice, or in another's place.
inline constexpr std::size_t exchange_buffer_sets = 4;
/// MPI counts bytes with an int.
inline constexpr std::uint64_t most_message_bytes = std::uint64_t{1} << 30U;

/// The two neighbours of a rank; one alone is its own.
struct Neighbours {
  unsigned next = 0;
  unsigned previous = 0;

  [[nodiscard]] unsigned receiver(unsigned lane) const { return lane == 0 ? next : previous; }
  [[nodiscard]] unsigned sender(unsigned lane) const { return lane == 0 ? previous : next; }
};

/// Axis `topology`: `ring`, in the order of the ranks; `pairs`, both neighbours of a rank are its
/// partner; `random`, one ring in an order that is drawn, the same each time for so many ranks.
AxisInfo topology_axis();
/// Throws UsageError for another word.
Neighbours neighbours_of(const std::string& topology, unsigned rank, unsigned ranks);

/// Ranks 0 and 1, 2 and 3, ...; the last of an odd number is its own partner.
unsigned partner_of(unsigned rank, unsigned ranks);

}  // namespace isthmus
