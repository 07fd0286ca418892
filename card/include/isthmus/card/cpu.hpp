// The processor's own loads and stores to the card.
#pragma once

#include <cstdint>

#include "isthmus/card/host.hpp"
#include "isthmus/card/link.hpp"

namespace isthmus::card {

/// What an address of the card is behind.
enum class Place : std::uint8_t { registers, sram };

/// Instructions: uncached or streaming loads, uncached or write-combined stores.
enum class Instruction : std::uint8_t { load, streaming_load, store, combined_store };

/// `count` accesses of `width` bytes each, at consecutive addresses.
struct CpuAccess {
  Instruction instruction = Instruction::load;
  Place place = Place::registers;
  std::int64_t width = 4;
  std::int64_t count = 1;
  std::int64_t in_flight = 0;   ///< loads on their way together; 0: as many as the host can
  std::int64_t call_bytes = 0;  ///< by system calls of so many bytes each; 0: by a pointer
};

class Cpu {
 public:
  /// Throws BoardError where the board lacks the place.
  static Time device_time(const Board& board, const CpuAccess& access);

  /// From the first instruction until the last load has its data or the last store is at the
  /// device. Nothing else uses the link meanwhile.
  static Time run(const Board& board, Link& link, Time now, const CpuAccess& access);
};

}  // namespace isthmus::card
