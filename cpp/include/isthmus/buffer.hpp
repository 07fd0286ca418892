// Memory of hosts and devices, and the data patterns that verify movements between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace isthmus {

inline constexpr std::size_t page_bytes = 4096;

/// Memory that the verification reads and writes outside the timed region.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
  virtual void put(std::size_t offset, std::span<const std::byte> from) = 0;
  virtual void get(std::size_t offset, std::span<std::byte> to) = 0;

  /// What `in_place` may do with memory: read it, or replace all its contents.
  enum class Access : std::uint8_t { read, replace };
  /// Calls `work` on the first `bytes` in place, in several threads. Returns false without a call
  /// if the host cannot access the memory: the caller then uses `put` and `get`.
  virtual bool in_place(std::size_t bytes, Access access,
                        const std::function<void(std::byte*)>& work);

  /// Writes one 8-byte word to each of `words.size()` consecutive pages, the first at byte
  /// `offset`. By default each word takes a `put`; a backend with strided copies needs one copy for
  /// all.
  virtual void put_words(std::size_t offset, std::span<const std::uint64_t> words);
  virtual void get_words(std::size_t offset, std::span<std::uint64_t> words);
};

/// Memory of this process that another object owns.
class HostMemory : public Memory {
 public:
  [[nodiscard]] std::byte* data() noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept override { return bytes_; }
  bool in_place(std::size_t bytes, Access access,
                const std::function<void(std::byte*)>& work) override;
  void put(std::size_t offset, std::span<const std::byte> from) override;
  void get(std::size_t offset, std::span<std::byte> to) override;

 protected:
  HostMemory(std::byte* data, std::size_t bytes) noexcept : data_(data), bytes_(bytes) {}
  void place(std::byte* data) noexcept { data_ = data; }

 private:
  std::byte* data_;
  std::size_t bytes_;
};

/// The machine or the user's limits do not allow this kind of memory; the message contains the
/// remedy.
class MemoryLimitError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Host memory of one kind: `pageable` (from malloc), `aligned` (to a page), `offset<N>` (N bytes
/// into a page), `hugepage` (2 MiB aligned, with madvise for huge pages), `node<N>` (pages on NUMA
/// node N of a machine with several), or of one of the `allocators`: `mmap`, `hugetlb` (reserved
/// huge pages), `mlock` (locked pages), or the function and alignment in its name.
class HostBuffer final : public HostMemory {
 public:
  /// Throws std::invalid_argument for an unknown kind, std::bad_alloc without memory,
  /// MemoryLimitError.
  HostBuffer(const std::string& kind, std::size_t bytes);
  ~HostBuffer() override;

  /// Returns the kinds for any backend with buffers in host memory; `offset<N>` is not listed.
  static std::vector<std::string> kinds();
  /// Returns further kinds, which differ in the function that allocates them.
  static std::vector<std::string> allocators();
  static bool knows(const std::string& kind);
  /// Returns the NUMA node N of the kind `node<N>`; returns nothing for other kinds.
  static std::optional<int> node(const std::string& kind);

 private:
  void take(void* block, void (*release)(void*));
  void map(std::size_t bytes, int flags);

  std::byte* block_ = nullptr;
  std::size_t mapped_ = 0;
  void (*release_)(void*) = nullptr;
};

/// Returns the numbers of a list in Linux's format, such as `0-1,4`.
std::vector<int> numbers_in(std::string_view ranges);
/// Largest number of NUMA nodes that Linux supports.
inline constexpr std::size_t most_nodes = 1024;
/// Returns the NUMA nodes of this machine that have memory: at least one.
std::vector<int> memory_nodes();
/// Makes Linux allocate pages, which nothing has accessed yet, on this node. Throws
/// MemoryLimitError.
void place_on_node(std::span<std::byte> pages, int node);
/// Returns the nodes on which pages of `data` lie, each once, and a negative number if pages are
/// not allocated yet; empty if Linux does not report nodes.
std::vector<int> nodes_of(std::span<const std::byte> data);

/// Host memory that another object owns: a mapped buffer, or memory that a runtime allocated.
class HostView final : public HostMemory {
 public:
  HostView(std::byte* data, std::size_t bytes) noexcept : HostMemory(data, bytes) {}
  void move_to(std::byte* data) noexcept { place(data); }
};

/// Fills `to` with the pattern of `seed`: 64-bit word i of a buffer is seed + i * an odd constant.
/// No word repeats, so a dropped, doubled or moved piece is detected. `offset` is the position of
/// `to` in the buffer.
void fill_pattern(std::span<std::byte> to, std::uint64_t seed, std::size_t offset = 0);
bool has_pattern(std::span<const std::byte> data, std::uint64_t seed, std::size_t offset = 0);

/// Writes the pattern to the first `bytes` of any memory, piece by piece.
void put_pattern(Memory& memory, std::size_t bytes, std::uint64_t seed);
bool holds_pattern(Memory& memory, std::size_t bytes, std::uint64_t seed);

/// Returns the sum modulo 2^64 of the pattern's words; a shorter last word is padded with zeros.
std::uint64_t pattern_sum(std::size_t bytes, std::uint64_t seed);

/// Fills `to` with contents that differ from the pattern of `seed` in every bit. `offset` is the
/// position of `to` in the buffer.
void fill_poison(std::span<std::byte> to, std::uint64_t seed, std::size_t offset = 0);
void poison(Memory& memory, std::size_t bytes, std::uint64_t seed);

/// Difference between the words of consecutive stamps, found by search: no product with 1 to
/// `distinct_stamps` has a byte 0x00 or, above the lowest byte, 0xFF. Data of different stamps
/// therefore differ in every byte, and old data never pass a check, at any size.
inline constexpr std::uint64_t stamp_step = 0x91231B5372CB60FDU;
inline constexpr std::uint64_t distinct_stamps = 120;
/// Distance between the stamps of a part's movements, found by search: the data of the first 17
/// movements differ in every byte, also from those of 4 stamps before and after.
inline constexpr std::uint64_t next_movement = 5001;

/// Returns the word that marks pages with this stamp; it also serves as the seed of a pattern.
constexpr std::uint64_t seed_of(std::uint64_t stamp) { return stamp * stamp_step; }
/// Returns the smallest distance >= `least` of two stamps whose data differ in every byte.
std::uint64_t distinct_distance(std::uint64_t least);

/// Writes a word that depends on `stamp` to every page of the first `bytes`, at an offset that also
/// depends on `stamp`.
void put_stamp(Memory& memory, std::size_t bytes, std::uint64_t stamp);
bool holds_stamp(Memory& memory, std::size_t bytes, std::uint64_t stamp);

/// Reserves `count` stamps that this process has not used, so that the data of every repetition and
/// part differ. Returns the first.
std::uint64_t fresh_stamps(std::uint64_t count) noexcept;
inline std::uint64_t fresh_stamp() noexcept { return fresh_stamps(1); }

/// A movement of data to verify: the contents of `source` must arrive in `destination`, through
/// each memory of `between`. All these memories must outlive the object.
class Movement {
 public:
  Movement(Memory& source, Memory& destination, std::size_t bytes,
           std::vector<Memory*> between = {})
      : source_(&source), destination_(&destination), bytes_(bytes), between_(std::move(between)) {}

  /// Writes the pattern of `seed` to the whole source, and other contents to the destination and
  /// `between`.
  void arm_fully(std::uint64_t seed);
  [[nodiscard]] bool arrived_fully(std::uint64_t seed);

  /// Writes the stamp's word to every page of the source.
  void arm(std::uint64_t stamp);
  [[nodiscard]] bool arrived(std::uint64_t stamp);

 private:
  Memory* source_;
  Memory* destination_;
  std::size_t bytes_;
  std::vector<Memory*> between_;
};

}  // namespace isthmus
