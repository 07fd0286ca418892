#include "isthmus/buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <stdexcept>

#include "parallel.hpp"

namespace isthmus {
namespace {

static_assert(std::endian::native == std::endian::little, "patterns are defined little-endian");

constexpr std::size_t word_bytes = sizeof(std::uint64_t);
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20U;
/// Pieces in which memory is filled and checked: large enough for a device, fits a cache.
constexpr std::size_t chunk_bytes = std::size_t{1} << 20U;
/// Odd, so that consecutive words differ in every bit position's period; 2^64 / golden ratio.
constexpr std::uint64_t step = 0x9E3779B97F4A7C15U;

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

/// N of "offset<N>" written as offset64; nothing when `kind` is another one.
std::optional<std::size_t> page_offset(const std::string& kind) {
  constexpr std::string_view prefix = "offset";
  if (!kind.starts_with(prefix)) {
    return std::nullopt;
  }
  std::size_t offset = 0;
  const char* begin = kind.data() + prefix.size();
  const char* end = kind.data() + kind.size();
  const auto [rest, error] = std::from_chars(begin, end, offset);
  if (error != std::errc{} || rest != end || offset >= page_bytes) {
    return std::nullopt;
  }
  return offset;
}

void* allocate_pages(std::size_t bytes) {
  void* block = nullptr;
  return posix_memalign(&block, page_bytes, round_up(bytes, page_bytes)) == 0 ? block : nullptr;
}

/// A way to ask for memory of an alignment.
struct Allocator {
  std::string_view name;
  void* (*allocate)(std::size_t bytes);
  void (*release)(void*);
};

template <std::size_t Alignment>
void* by_posix_memalign(std::size_t bytes) {
  void* block = nullptr;
  return posix_memalign(&block, Alignment, bytes) == 0 ? block : nullptr;
}
template <std::size_t Alignment>
void* by_aligned_alloc(std::size_t bytes) {
  return std::aligned_alloc(Alignment, round_up(bytes, Alignment));
}
template <std::size_t Alignment>
void* by_new(std::size_t bytes) {
  return ::operator new(bytes, std::align_val_t(Alignment));
}
template <std::size_t Alignment>
void delete_aligned(void* block) {
  ::operator delete(block, std::align_val_t(Alignment));
}

constexpr std::array<Allocator, 6> allocators_by_name = {{
    {"posix_memalign64", by_posix_memalign<64>, std::free},
    {"posix_memalign4096", by_posix_memalign<4096>, std::free},
    {"aligned_alloc64", by_aligned_alloc<64>, std::free},
    {"aligned_alloc4096", by_aligned_alloc<4096>, std::free},
    {"new64", by_new<64>, delete_aligned<64>},
    {"new4096", by_new<4096>, delete_aligned<4096>},
}};

std::uint64_t stamp_word(std::uint64_t stamp, std::size_t page) {
  return stamp * step + page * 0xD1342543DE82EF95U;
}

/// Where in its page the word of this stamp goes; it wanders through all 512 places.
std::size_t stamp_place(std::uint64_t stamp) {
  return stamp * 37U % (page_bytes / word_bytes) * word_bytes;
}

/// The pages of a buffer that hold a whole word at `place`, and what is left in the last page.
struct Grid {
  std::size_t whole = 0;
  std::size_t tail_offset = 0;
  std::size_t tail_bytes = 0;
};

Grid grid_of(std::size_t bytes, std::size_t place) {
  Grid grid;
  grid.whole = bytes / page_bytes;
  const std::size_t rest = bytes % page_bytes;
  if (rest >= place + word_bytes) {
    ++grid.whole;
  } else if (rest > 0) {
    grid.tail_bytes = std::min(rest, word_bytes);
    grid.tail_offset = bytes - grid.tail_bytes;
  }
  return grid;
}

/// Eight words at a time: two vectors of four even without AVX, and no multiplication in the loop.
using Lanes = std::uint64_t __attribute__((vector_size(64)));

/// Fills the whole words of `to` from the pattern's word `word` on; returns the bytes filled.
std::size_t fill_words(std::span<std::byte> to, std::uint64_t word) {
  const std::size_t words = to.size() / word_bytes;
  Lanes lanes{};
  for (std::size_t i = 0; i < 8; ++i) {
    lanes[i] = word + i * step;
  }
  std::size_t i = 0;
  for (; i + 8 <= words; i += 8) {
    std::memcpy(to.data() + i * word_bytes, &lanes, sizeof(lanes));
    lanes += 8 * step;
  }
  for (; i < words; ++i) {
    const std::uint64_t value = word + i * step;
    std::memcpy(to.data() + i * word_bytes, &value, word_bytes);
  }
  return words * word_bytes;
}

/// Calls `visit(offset, piece)` with scratch memory for each piece until it returns false.
template <class Visit>
bool for_each_piece(std::size_t bytes, const Visit& visit) {
  std::vector<std::byte> scratch(std::min(bytes, chunk_bytes));
  for (std::size_t at = 0; at < bytes; at += scratch.size()) {
    if (!visit(at, std::span(scratch).first(std::min(scratch.size(), bytes - at)))) {
      return false;
    }
  }
  return true;
}

/// Differs from the pattern in every bit. Piece by piece, so that it stays in a cache meanwhile.
void fill_inverted(std::span<std::byte> to, std::uint64_t seed, std::size_t offset) {
  for (std::size_t at = 0; at < to.size(); at += page_bytes) {
    const auto piece = to.subspan(at, std::min(page_bytes, to.size() - at));
    fill_pattern(piece, seed, offset + at);
    for (std::byte& value : piece) {
      value = ~value;
    }
  }
}

std::vector<std::uint64_t> stamp_words(std::uint64_t stamp, std::size_t count) {
  std::vector<std::uint64_t> words(count);
  for (std::size_t page = 0; page < count; ++page) {
    words[page] = stamp_word(stamp, page);
  }
  return words;
}

}  // namespace

void Memory::put_words(std::size_t offset, std::span<const std::uint64_t> words) {
  for (const std::uint64_t& word : words) {
    put(offset, std::as_bytes(std::span(&word, 1)));
    offset += page_bytes;
  }
}

void Memory::get_words(std::size_t offset, std::span<std::uint64_t> words) {
  for (std::uint64_t& word : words) {
    get(offset, std::as_writable_bytes(std::span(&word, 1)));
    offset += page_bytes;
  }
}

std::vector<std::string> HostBuffer::kinds() { return {"aligned", "pageable", "hugepage"}; }

std::vector<std::string> HostBuffer::allocators() {
  std::vector<std::string> names = {"mmap", "hugetlb", "mlock"};
  for (const Allocator& allocator : allocators_by_name) {
    names.emplace_back(allocator.name);
  }
  return names;
}

bool HostBuffer::knows(const std::string& kind) {
  const auto known = kinds();
  const auto more = allocators();
  return std::ranges::find(known, kind) != known.end() ||
         std::ranges::find(more, kind) != more.end() || page_offset(kind);
}

HostBuffer::HostBuffer(const std::string& kind, std::size_t bytes) : bytes_(bytes) {
  const std::size_t wanted = std::max<std::size_t>(bytes, 1);
  const auto* const named =
      std::ranges::find(allocators_by_name, std::string_view(kind), &Allocator::name);
  if (named != allocators_by_name.end()) {
    take(named->allocate(wanted), named->release);
  } else if (kind == "pageable") {
    take(std::malloc(wanted), std::free);
  } else if (kind == "mmap") {
    map(wanted, 0);
  } else if (kind == "hugetlb") {
    map(round_up(wanted, huge_page_bytes), MAP_HUGETLB);
  } else if (kind == "hugepage") {
    map(round_up(wanted, huge_page_bytes) + huge_page_bytes, 0);
    const auto address = reinterpret_cast<std::uintptr_t>(block_);
    data_ = block_ + (round_up(address, huge_page_bytes) - address);
    madvise(data_, round_up(wanted, huge_page_bytes), MADV_HUGEPAGE);
  } else if (kind == "mlock") {
    map(wanted, 0);
    if (mlock(block_, mapped_) != 0) {
      munmap(block_, mapped_);
      throw MemoryLimitError(
          "the limit on locked memory is too low: ulimit -l unlimited (as root)");
    }
  } else if (const auto offset =
                 kind == "aligned" ? std::optional<std::size_t>(0) : page_offset(kind)) {
    take(allocate_pages(wanted + *offset), std::free);
    data_ = block_ + *offset;
  } else {
    throw std::invalid_argument("unknown host memory kind '" + kind + "'");
  }
}

void HostBuffer::take(void* block, void (*release)(void*)) {
  if (block == nullptr) {
    throw std::bad_alloc();
  }
  data_ = block_ = static_cast<std::byte*>(block);
  release_ = release;
}

void HostBuffer::map(std::size_t bytes, int flags) {
  void* block =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (block == MAP_FAILED && flags == MAP_HUGETLB) {
    throw MemoryLimitError("no " + std::to_string(bytes / huge_page_bytes) +
                           " huge pages of 2 MiB are free: sysctl vm.nr_hugepages=1024 (as root)");
  }
  if (block == MAP_FAILED) {
    throw std::bad_alloc();
  }
  data_ = block_ = static_cast<std::byte*>(block);
  mapped_ = bytes;
}

HostBuffer::~HostBuffer() {
  if (mapped_ > 0) {
    munmap(block_, mapped_);
  } else {
    release_(block_);
  }
}

void HostBuffer::put(std::size_t offset, std::span<const std::byte> from) {
  std::memcpy(data_ + offset, from.data(), from.size());
}

void HostBuffer::get(std::size_t offset, std::span<std::byte> to) {
  std::memcpy(to.data(), data_ + offset, to.size());
}

void HostView::put(std::size_t offset, std::span<const std::byte> from) {
  std::memcpy(data_ + offset, from.data(), from.size());
}

void HostView::get(std::size_t offset, std::span<std::byte> to) {
  std::memcpy(to.data(), data_ + offset, to.size());
}

void fill_pattern(std::span<std::byte> to, std::uint64_t seed, std::size_t offset) {
  std::size_t at = 0;
  while (at < to.size()) {
    const std::size_t position = offset + at;
    const std::uint64_t word = seed + position / word_bytes * step;
    const std::size_t inside = position % word_bytes;
    if (inside == 0 && to.size() - at >= word_bytes) {
      at += fill_words(to.subspan(at), word);
    } else {
      const std::size_t part = std::min(word_bytes - inside, to.size() - at);
      std::memcpy(to.data() + at, reinterpret_cast<const std::byte*>(&word) + inside, part);
      at += part;
    }
  }
}

bool has_pattern(std::span<const std::byte> data, std::uint64_t seed, std::size_t offset) {
  std::array<std::byte, page_bytes> expected{};
  for (std::size_t at = 0; at < data.size(); at += expected.size()) {
    const std::size_t part = std::min(expected.size(), data.size() - at);
    fill_pattern(std::span(expected).first(part), seed, offset + at);
    if (std::memcmp(expected.data(), data.data() + at, part) != 0) {
      return false;
    }
  }
  return true;
}

void put_pattern(Memory& memory, std::size_t bytes, std::uint64_t seed) {
  if (std::byte* const data = memory.addressable()) {
    in_parts(bytes, [&](std::size_t begin, std::size_t end) {
      fill_pattern(std::span(data + begin, end - begin), seed, begin);
    });
    return;
  }
  for_each_piece(bytes, [&](std::size_t at, std::span<std::byte> piece) {
    fill_pattern(piece, seed, at);
    memory.put(at, piece);
    return true;
  });
}

bool holds_pattern(Memory& memory, std::size_t bytes, std::uint64_t seed) {
  if (const std::byte* const data = memory.addressable()) {
    std::atomic<bool> all{true};
    in_parts(bytes, [&](std::size_t begin, std::size_t end) {
      if (!has_pattern(std::span(data + begin, end - begin), seed, begin)) {
        all = false;
      }
    });
    return all;
  }
  return for_each_piece(bytes, [&](std::size_t at, std::span<std::byte> piece) {
    memory.get(at, piece);
    return has_pattern(piece, seed, at);
  });
}

std::uint64_t pattern_sum(std::size_t bytes, std::uint64_t seed) {
  const std::uint64_t words = bytes / word_bytes;
  // n (n - 1) / 2 before the product wraps: one of the two factors is even.
  const std::uint64_t pairs = words % 2 == 0 ? words / 2 * (words - 1) : words * ((words - 1) / 2);
  std::uint64_t tail = 0;
  fill_pattern(std::as_writable_bytes(std::span(&tail, 1)).first(bytes % word_bytes), seed,
               words * word_bytes);
  return words * seed + pairs * step + tail;
}

void poison(Memory& memory, std::size_t bytes, std::uint64_t seed) {
  if (std::byte* const data = memory.addressable()) {
    in_parts(bytes, [&](std::size_t begin, std::size_t end) {
      fill_inverted(std::span(data + begin, end - begin), seed, begin);
    });
    return;
  }
  for_each_piece(bytes, [&](std::size_t at, std::span<std::byte> piece) {
    fill_inverted(piece, seed, at);
    memory.put(at, piece);
    return true;
  });
}

void put_stamp(Memory& memory, std::size_t bytes, std::uint64_t stamp) {
  const std::size_t place = stamp_place(stamp);
  const Grid grid = grid_of(bytes, place);
  if (grid.whole > 0) {
    memory.put_words(place, stamp_words(stamp, grid.whole));
  }
  if (grid.tail_bytes > 0) {
    const std::uint64_t word = stamp_word(stamp, grid.whole);
    memory.put(grid.tail_offset, std::as_bytes(std::span(&word, 1)).first(grid.tail_bytes));
  }
}

bool holds_stamp(Memory& memory, std::size_t bytes, std::uint64_t stamp) {
  const std::size_t place = stamp_place(stamp);
  const Grid grid = grid_of(bytes, place);
  if (grid.whole > 0) {
    std::vector<std::uint64_t> words(grid.whole);
    memory.get_words(place, words);
    if (words != stamp_words(stamp, grid.whole)) {
      return false;
    }
  }
  if (grid.tail_bytes > 0) {
    const std::uint64_t expected = stamp_word(stamp, grid.whole);
    std::uint64_t word = 0;
    memory.get(grid.tail_offset,
               std::as_writable_bytes(std::span(&word, 1)).first(grid.tail_bytes));
    return std::memcmp(&word, &expected, grid.tail_bytes) == 0;
  }
  return true;
}

std::uint64_t fresh_stamp() noexcept {
  static std::atomic<std::uint64_t> next{[] {
    std::random_device device;
    return static_cast<std::uint64_t>(device()) << 32U;
  }()};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void Movement::arm_fully(std::uint64_t seed) {
  put_pattern(*source_, bytes_, seed);
  poison(*destination_, bytes_, seed);
}

bool Movement::arrived_fully(std::uint64_t seed) {
  return holds_pattern(*destination_, bytes_, seed);
}

void Movement::arm(std::uint64_t stamp) { put_stamp(*source_, bytes_, stamp); }

bool Movement::arrived(std::uint64_t stamp) { return holds_stamp(*destination_, bytes_, stamp); }

}  // namespace isthmus
