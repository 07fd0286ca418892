// Neighbours of ranks in an exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "isthmus/backend.hpp"

namespace isthmus {

/// Messages of a rank in one step of an exchange: lane 0 goes to its next neighbour, lane 1 to the
/// previous one. A message from the previous neighbour is in that rank's lane 0.
inline constexpr unsigned lanes = 2;
/// Repetitions of an exchange that are verified together, to detect repeated and misplaced
/// messages.
inline constexpr std::size_t exchange_buffer_sets = 4;
/// MPI counts bytes with an int.
inline constexpr std::uint64_t most_message_bytes = std::uint64_t{1} << 30U;

/// The two neighbours of a rank; a single rank is its own neighbour.
struct Neighbours {
  unsigned next = 0;
  unsigned previous = 0;

  [[nodiscard]] unsigned receiver(unsigned lane) const { return lane == 0 ? next : previous; }
  [[nodiscard]] unsigned sender(unsigned lane) const { return lane == 0 ? previous : next; }
};

/// Axis `topology`: `ring`, in the order of ranks; `pairs`, both neighbours of a rank are its
/// partner; `random`, a ring in random order, which depends only on the number of ranks.
AxisInfo topology_axis();
/// Throws UsageError for an unknown topology.
Neighbours neighbours_of(const std::string& topology, unsigned rank, unsigned ranks);

/// Partner in the pairs 0 and 1, 2 and 3, ...; the last of an odd number is its own partner.
unsigned partner_of(unsigned rank, unsigned ranks);

}  // namespace isthmus
