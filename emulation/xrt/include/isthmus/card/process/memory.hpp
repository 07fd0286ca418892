// The card's memory: what the program allocates, and what kernels access outside of buffers.
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

/// An access to memory that nobody has allocated.
class MemoryError : public std::runtime_error {
 public:
  MemoryError(std::uint64_t address, std::uint64_t bytes, const std::string& why);
};

/// Host memory that the program lets the card access. Each function throws MemoryError for other
/// addresses.
class ProgramMemory {
 public:
  ProgramMemory() = default;
  ProgramMemory(const ProgramMemory&) = delete;
  ProgramMemory& operator=(const ProgramMemory&) = delete;
  virtual ~ProgramMemory() = default;

  virtual void read(std::uint64_t address, std::span<std::byte> to) = 0;
  virtual void write(std::uint64_t address, std::span<const std::byte> from) = 0;
  /// Returns the bytes from an address to the end of its buffer, `most` at the most.
  virtual std::uint64_t bytes_at(std::uint64_t address, std::uint64_t most) = 0;
};

class CardMemory {
 public:
  CardMemory() = default;
  CardMemory(const CardMemory&) = delete;
  CardMemory& operator=(const CardMemory&) = delete;
  ~CardMemory();

  /// Allocates memory of zeros and frees older allocations there. Those came from accesses without
  /// a buffer, because XRT's buffers never overlap. Returns the file of `shared` memory, which the
  /// program may map. Throws std::bad_alloc.
  std::string allocate(std::uint64_t address, std::uint64_t bytes, bool shared);
  void free(std::uint64_t address);
  /// Returns the record of the buffer's use that contains an address. Null outside of buffers, and
  /// for memory that the program or another card writes without a call.
  [[nodiscard]] BufferUse* use_of(std::uint64_t address);
  /// Returns a number for a run of a kernel that begins.
  std::uint64_t begin_run() { return ++runs_; }
  /// Counts a transfer of the program to the card; returns the number of transfers so far.
  std::uint64_t count_send() { return ++sends_; }
  [[nodiscard]] std::uint64_t sends() const { return sends_; }
  /// Returns the records of all buffers that have one.
  [[nodiscard]] std::vector<BufferUse*> uses();
  /// Maps another card's file over memory that is allocated here. Throws MemoryError.
  void import(std::uint64_t address, std::uint64_t bytes, int descriptor);

  /// Returns whether no byte of a range is allocated.
  [[nodiscard]] bool vacant(std::uint64_t address, std::uint64_t bytes) const;
  /// Returns the bytes of a range; throws MemoryError if no allocation contains it.
  [[nodiscard]] std::span<std::byte> at(std::uint64_t address, std::uint64_t bytes) const;
  /// Returns whether an allocation contains the range.
  [[nodiscard]] bool holds(std::uint64_t address, std::uint64_t bytes) const;
  /// Returns the part of these bytes that lies in one allocation, at least one byte. Outside of
  /// allocations it allocates the bytes up to the next one, because kernels can access memory
  /// there.
  [[nodiscard]] std::span<std::byte> reach(std::uint64_t address, std::uint64_t bytes);
  /// Returns the bytes of the allocation that begins at an address; 0 if none begins there.
  [[nodiscard]] std::uint64_t allocated_at(std::uint64_t address) const;
  /// Returns the bytes from an address to the end of its allocation; 0 outside of allocations.
  [[nodiscard]] std::uint64_t bytes_at(std::uint64_t address) const;

 private:
  struct Region {
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t mapped = 0;
    int descriptor = -1;
    std::optional<BufferUse> use{};  ///< empty: nobody records how the buffer is used
  };
  Region& add(std::uint64_t address, std::uint64_t bytes, bool shared);
  static void release(const Region& region);
  /// Frees all allocations that overlap these bytes or begin at this address.
  void free_all(std::uint64_t address, std::uint64_t bytes);

  std::map<std::uint64_t, Region> regions_;
  std::uint64_t runs_ = 0;
  std::uint64_t sends_ = 0;
};

}  // namespace isthmus::card::process
