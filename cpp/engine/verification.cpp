// Writes and checks the data patterns that show whether a transfer moved all data.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <random>

#include "isthmus/buffer.hpp"
#include "parallel.hpp"

namespace isthmus {
namespace {

static_assert(std::endian::native == std::endian::little, "patterns are defined little-endian");

constexpr std::size_t word_bytes = sizeof(std::uint64_t);
/// Bytes of device memory that are filled or checked at once: efficient to transfer, and in a
/// cache.
constexpr std::size_t cached_bytes = std::size_t{1} << 20U;
/// Difference of consecutive words: 2^64 / golden ratio, odd, so that every bit differs in its
/// period.
constexpr std::uint64_t pattern_step = 0x9E3779B97F4A7C15U;

std::uint64_t stamp_word(std::uint64_t stamp, std::size_t page) {
  return seed_of(stamp) + page * 0xD1342543DE82EF95U;
}

/// Returns the byte offset of a stamp's word in its page; consecutive stamps use all 512 words.
std::size_t stamp_place(std::uint64_t stamp) {
  return stamp * 37U % (page_bytes / word_bytes) * word_bytes;
}

/// How a stamp covers a buffer: the number of pages that hold the whole word at `place`, and the
/// last bytes of the buffer if its last page ends before that word.
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

/// Eight words that are added at once. Even without AVX the loop has vector instructions and no
/// multiplication.
using Lanes = std::uint64_t __attribute__((vector_size(64)));

/// Fills the whole words of `to` with `word`, `word + step`, ...; returns the number of bytes
/// filled.
std::size_t fill_words(std::span<std::byte> to, std::uint64_t word, std::uint64_t step) {
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

/// Fills memory with the words `first`, `first + step`, ..., from their byte `offset`.
void fill(std::span<std::byte> to, std::uint64_t first, std::uint64_t step, std::size_t offset) {
  std::size_t at = 0;
  while (at < to.size()) {
    const std::size_t position = offset + at;
    const std::uint64_t word = first + position / word_bytes * step;
    const std::size_t inside = position % word_bytes;
    if (inside == 0 && to.size() - at >= word_bytes) {
      at += fill_words(to.subspan(at), word, step);
    } else {
      const std::size_t part = std::min(word_bytes - inside, to.size() - at);
      std::memcpy(to.data() + at, reinterpret_cast<const std::byte*>(&word) + inside, part);
      at += part;
    }
  }
}

/// Returns the bytes of scratch memory for a buffer: at most 1 MiB, which one processor fills, or
/// enough for all processors if the buffer is larger than that.
std::size_t piece_of(std::size_t bytes) {
  if (bytes <= cached_bytes) {
    return bytes;
  }
  const std::size_t busy = bytes_for_all();
  return bytes > busy ? busy : cached_bytes;
}

/// Calls `work(offset, piece)` for each piece of a buffer in order; `piece` is scratch memory. Ends
/// early and returns false if `work` returns false.
template <class Work>
bool for_each_piece(std::size_t bytes, const Work& work) {
  std::vector<std::byte> scratch(piece_of(bytes));
  for (std::size_t at = 0; at < bytes; at += scratch.size()) {
    if (!work(at, std::span(scratch).first(std::min(scratch.size(), bytes - at)))) {
      return false;
    }
  }
  return true;
}

/// MADV_POPULATE_WRITE of Linux 5.14, which older headers lack.
constexpr int populate_for_writing = 23;

/// Has Linux allocate all pages by one system call instead of a fault for each. If the call fails
/// (Linux before 5.14, device memory), the first access to each page allocates it.
void prefault(std::span<std::byte> memory) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t skipped = (page_bytes - begin % page_bytes) % page_bytes;
  if (memory.size() < skipped + page_bytes) {
    return;
  }
  const auto pages = memory.subspan(skipped, (memory.size() - skipped) / page_bytes * page_bytes);
  // If the last page exists, earlier accesses allocated all pages. The first page proves nothing: a
  // heap's header may lie in it.
  std::byte* const last = &pages.back() - (page_bytes - 1);
  unsigned char is_there = 0;
  if (mincore(last, page_bytes, &is_there) == 0 && is_there == 0) {
    madvise(pages.data(), pages.size(), populate_for_writing);
  }
}

/// Fills the first `bytes` of any memory: several threads call `fill(part, offset)`.
template <class Fill>
void put_all(Memory& memory, std::size_t bytes, const Fill& fill) {
  const auto filled = [&fill](std::span<std::byte> to, std::size_t offset, bool fresh) {
    in_parts(to.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t at = begin; at < end; at += cached_bytes) {
        const auto piece = to.subspan(at, std::min(cached_bytes, end - at));
        if (fresh && piece.size() == cached_bytes) {
          prefault(piece);
        }
        fill(piece, offset + at);
      }
    });
  };
  const auto all = [&](std::byte* data) { filled(std::span(data, bytes), 0, true); };
  if (memory.in_place(bytes, Memory::Access::replace, all)) {
    return;
  }
  for_each_piece(bytes, [&](std::size_t at, std::span<std::byte> piece) {
    filled(piece, at, false);
    memory.put(at, piece);
    return true;
  });
}

/// Returns whether `holds(part, offset)` is true for all parts of the first `bytes`; several
/// threads call it.
template <class Holds>
bool all_hold(Memory& memory, std::size_t bytes, const Holds& holds) {
  const auto checked = [&holds](std::span<const std::byte> data, std::size_t offset) {
    std::atomic<bool> all{true};
    in_parts(data.size(), [&](std::size_t begin, std::size_t end) {
      if (!holds(data.subspan(begin, end - begin), offset + begin)) {
        all = false;
      }
    });
    return all.load();
  };
  bool held = false;
  const auto all = [&](const std::byte* data) { held = checked(std::span(data, bytes), 0); };
  if (memory.in_place(bytes, Memory::Access::read, all)) {
    return held;
  }
  return for_each_piece(bytes, [&](std::size_t at, std::span<std::byte> piece) {
    memory.get(at, piece);
    return checked(piece, at);
  });
}

std::vector<std::uint64_t> stamp_words(std::uint64_t stamp, std::size_t count) {
  std::vector<std::uint64_t> words(count);
  for (std::size_t page = 0; page < count; ++page) {
    words[page] = stamp_word(stamp, page);
  }
  return words;
}

}  // namespace

bool Memory::in_place(std::size_t /*bytes*/, Access /*access*/,
                      const std::function<void(std::byte*)>& /*work*/) {
  return false;
}

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

void fill_pattern(std::span<std::byte> to, std::uint64_t seed, std::size_t offset) {
  fill(to, seed, pattern_step, offset);
}

/// ~(seed + i step) is ~seed - i step.
void fill_poison(std::span<std::byte> to, std::uint64_t seed, std::size_t offset) {
  fill(to, ~seed, 0 - pattern_step, offset);
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
  put_all(memory, bytes,
          [seed](std::span<std::byte> to, std::size_t offset) { fill_pattern(to, seed, offset); });
}

bool holds_pattern(Memory& memory, std::size_t bytes, std::uint64_t seed) {
  return all_hold(memory, bytes, [seed](std::span<const std::byte> data, std::size_t offset) {
    return has_pattern(data, seed, offset);
  });
}

std::uint64_t pattern_sum(std::size_t bytes, std::uint64_t seed) {
  const std::uint64_t words = bytes / word_bytes;
  // n (n - 1) / 2 without overflow of the product: one of the factors is even.
  const std::uint64_t pairs = words % 2 == 0 ? words / 2 * (words - 1) : words * ((words - 1) / 2);
  std::uint64_t tail = 0;
  fill_pattern(std::as_writable_bytes(std::span(&tail, 1)).first(bytes % word_bytes), seed,
               words * word_bytes);
  return words * seed + pairs * pattern_step + tail;
}

void poison(Memory& memory, std::size_t bytes, std::uint64_t seed) {
  put_all(memory, bytes,
          [seed](std::span<std::byte> to, std::size_t offset) { fill_poison(to, seed, offset); });
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

std::uint64_t distinct_distance(std::uint64_t least) {
  const auto distinct = [](std::uint64_t distance) {
    for (std::uint64_t word = seed_of(distance), place = 0; place < word_bytes;
         ++place, word >>= 8U) {
      const std::uint64_t byte = word & 0xFFU;
      // With a carry from the byte below, 0xFF adds 0 to this byte.
      if (byte == 0 || (byte == 0xFF && place > 0)) {
        return false;
      }
    }
    return true;
  };
  while (!distinct(least)) {
    ++least;
  }
  return least;
}

std::uint64_t fresh_stamps(std::uint64_t count) noexcept {
  static std::atomic<std::uint64_t> next{[] {
    std::random_device device;
    return static_cast<std::uint64_t>(device()) << 32U;
  }()};
  return next.fetch_add(count, std::memory_order_relaxed);
}

void Movement::arm_fully(std::uint64_t seed) {
  put_pattern(*source_, bytes_, seed);
  poison(*destination_, bytes_, seed);
  for (Memory* memory : between_) {
    poison(*memory, bytes_, seed);
  }
}

bool Movement::arrived_fully(std::uint64_t seed) {
  return holds_pattern(*destination_, bytes_, seed);
}

void Movement::arm(std::uint64_t stamp) { put_stamp(*source_, bytes_, stamp); }

bool Movement::arrived(std::uint64_t stamp) { return holds_stamp(*destination_, bytes_, stamp); }

}  // namespace isthmus
