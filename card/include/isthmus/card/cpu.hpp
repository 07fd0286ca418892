// Computes the times of the processor's loads from and stores to the card.
#pragma once

#include <cstdint>

#include "isthmus/card/host.hpp"
#include "isthmus/card/link.hpp"

namespace isthmus::card {

/// The part of the card that an access reaches.
enum class Place : std::uint8_t { registers, sram };

/// Kinds of accesses: uncached and streaming loads, uncached and write-combined stores.
enum class Instruction : std::uint8_t { load, streaming_load, store, combined_store };

/// `count` accesses of `width` bytes each, at consecutive addresses.
struct CpuAccess {
  Instruction instruction = Instruction::load;
  Place place = Place::registers;
  std::int64_t width = 4;
  std::int64_t count = 1;
  std::int64_t in_flight = 0;   ///< most loads in flight; 0: as many as the host allows
  std::int64_t call_bytes = 0;  ///< bytes of each system call; 0: no system calls, but a mapping
};

class Cpu {
 public:
  /// Returns how long the device itself takes for an access. Throws BoardError if the board has no
  /// such part.
  static Time device_time(const Board& board, const CpuAccess& access);

  /// Returns the time from the first instruction until the last load has its data, or the last
  /// store reaches the device. The link must be idle.
  static Time run(const Board& board, Link& link, Time now, const CpuAccess& access);
};

}  // namespace isthmus::card
