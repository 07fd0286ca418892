// Loads and stores of the processor to the card.
#pragma once

#include <cstdint>

#include "isthmus/card/host.hpp"
#include "isthmus/card/link.hpp"

namespace isthmus::card {

/// Part of the card at an address.
enum class Place : std::uint8_t { registers, sram };

/// Instructions: uncached or streaming loads, uncached or write-combined stores.
enum class Instruction : std::uint8_t { load, streaming_load, store, combined_store };

/// `count` accesses of `width` bytes each, at consecutive addresses.
struct CpuAccess {
  Instruction instruction = Instruction::load;
  Place place = Place::registers;
  std::int64_t width = 4;
  std::int64_t count = 1;
  std::int64_t in_flight = 0;   ///< most loads in flight; 0: the host's limit
  std::int64_t call_bytes = 0;  ///< bytes of each system call; 0: access by a pointer
};

class Cpu {
 public:
  /// Returns the time of an access in the device. Throws BoardError if the board lacks the place.
  static Time device_time(const Board& board, const CpuAccess& access);

  /// Returns the time from the first instruction until the last load has its data, or the last
  /// store is at the device. Nothing else may use the link meanwhile.
  static Time run(const Board& board, Link& link, Time now, const CpuAccess& access);
};

}  // namespace isthmus::card
