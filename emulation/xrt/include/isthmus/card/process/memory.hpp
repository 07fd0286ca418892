// The card's memory: the program's allocations.
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

/// An access to memory that is not allocated.
class MemoryError : public std::runtime_error {
 public:
  MemoryError(std::uint64_t address, std::uint64_t bytes, const std::string& why);
};

/// Host memory that the program has made accessible to the card. Each function throws MemoryError
/// for any other address.
class ProgramMemory {
 public:
  ProgramMemory() = default;
  ProgramMemory(const ProgramMemory&) = delete;
  ProgramMemory& operator=(const ProgramMemory&) = delete;
  virtual ~ProgramMemory() = default;

  virtual void read(std::uint64_t address, std::span<std::byte> to) = 0;
  virtual void write(std::uint64_t address, std::span<const std::byte> from) = 0;
  /// Returns the bytes from an address to the end of its buffer, at most `most`.
  virtual std::uint64_t bytes_at(std::uint64_t address, std::uint64_t most) = 0;
};

class CardMemory {
 public:
  CardMemory() = default;
  CardMemory(const CardMemory&) = delete;
  CardMemory& operator=(const CardMemory&) = delete;
  ~CardMemory();

  /// Allocates memory of zeros, and frees older allocations there. These came from accesses without
  /// a buffer, because XRT's buffers never overlap. Returns the name of the file for `shared`
  /// memory, which the program may map. Throws std::bad_alloc.
  std::string allocate(std::uint64_t address, std::uint64_t bytes, bool shared);
  void free(std::uint64_t address);
  /// Returns the use of the buffer in which an address lies. Null if it is not known: outside of
  /// buffers, and in memory that the program or another card writes without a call.
  [[nodiscard]] BufferUse* use_of(std::uint64_t address);
  /// Begins a run of a kernel; returns its number.
  std::uint64_t begin_run() { return ++runs_; }
  /// Counts transfers of the program to the card; returns how many there were.
  std::uint64_t count_send() { return ++sends_; }
  [[nodiscard]] std::uint64_t sends() const { return sends_; }
  /// Returns the buffers whose use is known.
  [[nodiscard]] std::vector<BufferUse*> uses();
  /// Puts a file of another card behind memory that is allocated here. Throws MemoryError.
  void import(std::uint64_t address, std::uint64_t bytes, int descriptor);

  /// Whether no byte of a range is allocated.
  [[nodiscard]] bool vacant(std::uint64_t address, std::uint64_t bytes) const;
  /// Throws MemoryError if a range is not within an allocation.
  [[nodiscard]] std::span<std::byte> at(std::uint64_t address, std::uint64_t bytes) const;
  /// Whether a range is within an allocation.
  [[nodiscard]] bool holds(std::uint64_t address, std::uint64_t bytes) const;
  /// Returns the part of these bytes that lies in one allocation, at least one byte. Without an
  /// allocation it allocates all bytes up to the next one: kernels can access memory beside
  /// buffers.
  [[nodiscard]] std::span<std::byte> reach(std::uint64_t address, std::uint64_t bytes);
  /// Returns the size of the allocation that begins at an address; 0 without such an allocation.
  [[nodiscard]] std::uint64_t allocated_at(std::uint64_t address) const;
  /// Returns the bytes from an address to the end of its allocation; 0 outside of allocations.
  [[nodiscard]] std::uint64_t bytes_at(std::uint64_t address) const;

 private:
  struct Region {
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t mapped = 0;
    int descriptor = -1;
    std::optional<BufferUse> use{};  ///< empty if unknown
  };
  Region& add(std::uint64_t address, std::uint64_t bytes, bool shared);
  static void release(const Region& region);
  /// Frees all regions that overlap these bytes, or begin at their address.
  void free_all(std::uint64_t address, std::uint64_t bytes);

  std::map<std::uint64_t, Region> regions_;
  std::uint64_t runs_ = 0;
  std::uint64_t sends_ = 0;
};

}  // namespace isthmus::card::process
