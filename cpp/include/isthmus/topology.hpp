// Finds each rank's neighbours in an exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "isthmus/backend.hpp"

namespace isthmus {

/// Messages that a rank sends at once: in lane 0 to its next neighbour, in lane 1 to its previous
/// one. So it receives the previous neighbour's lane 0.
inline constexpr unsigned lanes = 2;
/// Repetitions of an exchange that are verified together, with separate buffers: a repeated or
/// misplaced message is then found.
inline constexpr std::size_t exchange_buffer_sets = 4;
/// Most bytes of a message: MPI counts bytes with an int.
inline constexpr std::uint64_t most_message_bytes = std::uint64_t{1} << 30U;

/// The two neighbours of a rank; a single rank is its own neighbour.
struct Neighbours {
  unsigned next = 0;
  unsigned previous = 0;

  [[nodiscard]] unsigned receiver(unsigned lane) const { return lane == 0 ? next : previous; }
  [[nodiscard]] unsigned sender(unsigned lane) const { return lane == 0 ? previous : next; }
};

/// Returns axis `topology`. `ring`: the order of ranks; `pairs`: both neighbours of a rank are its
/// partner; `random`: a ring in a drawn order, the same for each number of ranks.
AxisInfo topology_axis();
/// Throws UsageError for an unknown topology.
Neighbours neighbours_of(const std::string& topology, unsigned rank, unsigned ranks);

/// Returns the partner in the pairs 0 and 1, 2 and 3, ...; the last of an odd number is its own
/// partner.
unsigned partner_of(unsigned rank, unsigned ranks);

}  // namespace isthmus
