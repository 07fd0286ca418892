// The card's memory, as far as the program allocated some of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "isthmus/card/process/buffer_use.hpp"

namespace isthmus::card::process {

/// Somebody reached for memory that nobody allocated.
class MemoryError : public std::runtime_error {
 public:
  MemoryError(std::uint64_t address, std::uint64_t bytes, const std::string& why);
};

/// Host memory that the program gave to the card. Each function throws MemoryError where the
/// program gave none at that address.
class ProgramMemory {
 public:
  ProgramMemory() = default;
  ProgramMemory(const ProgramMemory&) = delete;
  ProgramMemory& operator=(const ProgramMemory&) = delete;
  virtual ~ProgramMemory() = default;

  virtual void read(std::uint64_t address, std::span<std::byte> to) = 0;
  virtual void write(std::uint64_t address, std::span<const std::byte> from) = 0;
  /// Bytes from an address to the end of the buffer there, at most `most`.
  virtual std::uint64_t bytes_at(std::uint64_t address, std::uint64_t most) = 0;
};

class CardMemory {
 public:
  CardMemory() = default;
  CardMemory(const CardMemory&) = delete;
  CardMemory& operator=(const CardMemory&) = delete;
  ~CardMemory();

  /// In place of all that was allocated there: XRT's buffers never meet, so that was memory which a
  /// program reached for without a buffer. Zeros until they are written. Shared ones are in a file
  /// that the program may map; its name is returned. Throws std::bad_alloc.
  std::string allocate(std::uint64_t address, std::uint64_t bytes, bool shared);
  void free(std::uint64_t address);
  /// What was done with the buffer in which an address lies. Null where that is not known: outside
  /// of buffers, and in memory that the program or another card writes without a call.
  [[nodiscard]] BufferUse* use_of(std::uint64_t address);
  /// Begins a run of a kernel; returns its number.
  std::uint64_t begin_run() { return ++runs_; }
  /// The buffers whose use is known.
  [[nodiscard]] std::vector<const BufferUse*> uses() const;
  /// Puts a file of another card behind memory that is allocated here. Throws MemoryError.
  void import(std::uint64_t address, std::uint64_t bytes, int descriptor);

  /// Whether no byte of it is allocated.
  [[nodiscard]] bool vacant(std::uint64_t address, std::uint64_t bytes) const;
  /// Throws MemoryError where it is not all of one allocation.
  [[nodiscard]] std::span<std::byte> at(std::uint64_t address, std::uint64_t bytes) const;
  /// Whether it is all of one allocation.
  [[nodiscard]] bool holds(std::uint64_t address, std::uint64_t bytes) const;
  /// As many of these bytes, at least one, as one allocation has. Where there is none, all up to
  /// the next one are allocated: a kernel reaches the card's memory beside its buffers, too.
  [[nodiscard]] std::span<std::byte> reach(std::uint64_t address, std::uint64_t bytes);
  /// Bytes that are allocated from this address on, 0 where no allocation begins there.
  [[nodiscard]] std::uint64_t allocated_at(std::uint64_t address) const;
  /// Bytes from an address to the end of the allocation that it lies in, 0 where there is none.
  [[nodiscard]] std::uint64_t bytes_at(std::uint64_t address) const;

 private:
  struct Region {
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t mapped = 0;
    int descriptor = -1;
    std::optional<BufferUse> use{};  ///< where it is known
  };
  Region& add(std::uint64_t address, std::uint64_t bytes, bool shared);
  static void release(const Region& region);
  /// Frees all regions that have a byte of these, or begin at their address.
  void free_all(std::uint64_t address, std::uint64_t bytes);

  std::map<std::uint64_t, Region> regions_;
  std::uint64_t runs_ = 0;
};

}  // namespace isthmus::card::process
