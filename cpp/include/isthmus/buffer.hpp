// Memory on either side of a crossing, and the proof that data arrived.
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
#include <vector>

namespace isthmus {

inline constexpr std::size_t page_bytes = 4096;

/// Memory that the verification can reach outside the timed region.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
  virtual void put(std::size_t offset, std::span<const std::byte> from) = 0;
  virtual void get(std::size_t offset, std::span<std::byte> to) = 0;

  /// What happens to memory in place: it is looked at, or all of it is written.
  enum class Access : std::uint8_t { read, replace };
  /// Has `work` reach the first `bytes` where they are, by several threads at once. False, and
  /// nothing happened, where the host cannot: then there are put and get.
  virtual bool in_place(std::size_t bytes, Access access,
                        const std::function<void(std::byte*)>& work);

  /// One 8-byte word in each of `words.size()` consecutive pages, the first at `offset`.
  /// By default a loop of put/get; a backend with strided copies does it in one.
  virtual void put_words(std::size_t offset, std::span<const std::uint64_t> words);
  virtual void get_words(std::size_t offset, std::span<std::uint64_t> words);
};

/// Memory of this process, whoever owns it.
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

/// The machine or the user's limits do not allow this kind of memory; the message says what would.
class MemoryLimitError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Host memory of one kind: `pageable` (as malloc gives it), `aligned` (page), `offset<N>` (N bytes
/// into a page), `hugepage` (2 MiB aligned, huge pages asked for by madvise), `node<N>` (pages on
/// NUMA node N of a machine that has several), or as one of the `allocators` gives it: `mmap`,
/// `hugetlb` (huge pages set aside), `mlock` (locked pages), or by the function and alignment in
/// its name.
class HostBuffer final : public HostMemory {
 public:
  /// Throws std::invalid_argument for an unknown kind, std::bad_alloc when there is no memory,
  /// MemoryLimitError.
  HostBuffer(const std::string& kind, std::size_t bytes);
  ~HostBuffer() override;

  /// The kinds that any backend with host-side buffers can offer, without `offset<N>`.
  static std::vector<std::string> kinds();
  /// Further kinds, which differ in how they are asked for.
  static std::vector<std::string> allocators();
  static bool knows(const std::string& kind);
  /// N of `node<N>`.
  static std::optional<int> node(const std::string& kind);

 private:
  void take(void* block, void (*release)(void*));
  void map(std::size_t bytes, int flags);

  std::byte* block_ = nullptr;
  std::size_t mapped_ = 0;
  void (*release_)(void*) = nullptr;
};

/// Numbers of a list such as Linux writes it: `0-1,4`.
std::vector<int> numbers_in(std::string_view ranges);
/// NUMA nodes that Linux can tell apart.
inline constexpr std::size_t most_nodes = 1024;
/// NUMA nodes of this machine that have memory: at least one.
std::vector<int> memory_nodes();
/// Has pages come from one node when they are touched. Throws MemoryLimitError.
void place_on_node(std::span<std::byte> pages, int node);
/// The nodes on which the pages of `data` lie, each once; below 0 for what was never touched, none
/// where the system does not tell.
std::vector<int> nodes_of(std::span<const std::byte> data);

/// Host memory that somebody else owns (a mapped buffer, a runtime's own allocation).
class HostView final : public HostMemory {
 public:
  HostView(std::byte* data, std::size_t bytes) noexcept : HostMemory(data, bytes) {}
  void move_to(std::byte* data) noexcept { place(data); }
};

/// Reproducible contents: 64-bit word i is seed + i * an odd constant, so that no word repeats
/// within a buffer and a dropped, doubled or moved piece cannot pass. `offset` is the position of
/// `to` in the whole.
void fill_pattern(std::span<std::byte> to, std::uint64_t seed, std::size_t offset = 0);
bool has_pattern(std::span<const std::byte> data, std::uint64_t seed, std::size_t offset = 0);

/// The same for the first `bytes` of any memory, piece by piece.
void put_pattern(Memory& memory, std::size_t bytes, std::uint64_t seed);
bool holds_pattern(Memory& memory, std::size_t bytes, std::uint64_t seed);

/// Sum modulo 2^64 of the pattern's words, a shorter last word padded with zeros.
std::uint64_t pattern_sum(std::size_t bytes, std::uint64_t seed);

/// Contents that differ from the pattern of this seed in every word (below 8 bytes: every byte).
void poison(Memory& memory, std::size_t bytes, std::uint64_t seed);

/// A word that follows from `stamp` in every page of the first `bytes`, at a place that moves with
/// it.
void put_stamp(Memory& memory, std::size_t bytes, std::uint64_t stamp);
bool holds_stamp(Memory& memory, std::size_t bytes, std::uint64_t stamp);

/// A sequence number that never returned before in this process: fresh data for every repetition.
std::uint64_t fresh_stamp() noexcept;

/// One transfer whose effect can be proved: what is in `source` must arrive in `destination`.
/// Both outlive the movement.
class Movement {
 public:
  Movement(Memory& source, Memory& destination, std::size_t bytes)
      : source_(&source), destination_(&destination), bytes_(bytes) {}

  /// Fresh pattern in the whole source, poison in the whole destination.
  void arm_fully(std::uint64_t seed);
  [[nodiscard]] bool arrived_fully(std::uint64_t seed);

  /// The stamp in the whole source.
  void arm(std::uint64_t stamp);
  [[nodiscard]] bool arrived(std::uint64_t stamp);

 private:
  Memory* source_;
  Memory* destination_;
  std::size_t bytes_;
};

}  // namespace isthmus
