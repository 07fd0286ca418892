#include "isthmus/buffer.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <stdexcept>

using isthmus::HostBuffer;
using isthmus::HostView;
using isthmus::Memory;
using isthmus::Movement;
using isthmus::page_bytes;

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t seed = 0x0123456789ABCDEF;

Bytes pattern(std::size_t size, std::uint64_t of = seed) {
  Bytes data(size);
  isthmus::fill_pattern(data, of);
  return data;
}

/// Sizes around every boundary in the code of patterns and stamps.
std::vector<std::size_t> sizes() {
  std::vector<std::size_t> all(20);
  std::iota(all.begin(), all.end(), 1);
  all.insert(all.end(), {4095, 4096, 4097, (std::size_t{1} << 20U) + 3});
  return all;
}

/// Offsets to spoil: every byte of a small buffer; else both ends, a page's edges and the middle.
std::vector<std::size_t> places(std::size_t size) {
  if (size <= 20) {
    std::vector<std::size_t> all(size);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  return {0, 1, 7, 8, 9, 4087, 4094, size / 2, size - 9, size - 8, size - 7, size - 2, size - 1};
}

/// Whether the check finds the fault; true also if the data happen to be right.
bool found(const Bytes& spoilt, const Bytes& good) {
  return spoilt == good || !isthmus::has_pattern(spoilt, seed);
}

void copy(Memory& from, Memory& to) {
  Bytes data(from.bytes());
  from.get(0, data);
  to.put(0, data);
}

/// Memory that uses the strided copies of its base class.
class PlainMemory final : public Memory {
 public:
  explicit PlainMemory(std::size_t bytes) : data_(bytes) {}
  [[nodiscard]] std::size_t bytes() const noexcept override { return data_.size(); }
  void put(std::size_t offset, std::span<const std::byte> from) override {
    std::copy_n(from.begin(), from.size(), data_.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  void get(std::size_t offset, std::span<std::byte> to) override {
    std::copy_n(data_.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
  }

 private:
  Bytes data_;
};

}  // namespace

TEST_CASE("buffer: a pattern is recognised, as a whole and in pieces", "[buffer]") {
  for (const std::size_t size : sizes()) {
    const Bytes whole = pattern(size);
    CAPTURE(size);
    CHECK(isthmus::has_pattern(whole, seed));
    Bytes pieces(size);
    for (std::size_t at = 0, length = 1; at < size; at += length, length = length * 2 + 1) {
      const auto piece = std::span(pieces).subspan(at, std::min(length, size - at));
      isthmus::fill_pattern(piece, seed, at);
      CHECK(isthmus::has_pattern(piece, seed, at));
    }
    CHECK(pieces == whole);
  }
}

TEST_CASE("buffer: large host-accessible memory holds the same pattern as other memory",
          "[buffer]") {
  const std::size_t size = GENERATE((4U << 20U) + 1, (8U << 20U) - 1, (29U << 20U) + 4099);
  HostBuffer host("pageable", size);
  PlainMemory plain(size);
  const auto same = [&] {
    Bytes there(size);
    plain.get(0, there);
    return std::memcmp(there.data(), host.data(), size) == 0;
  };
  CAPTURE(size);
  put_pattern(host, size, seed);
  put_pattern(plain, size, seed);
  CHECK(same());
  CHECK(holds_pattern(host, size, seed));
  for (const std::size_t place : {std::size_t{0}, size / 2, size - 1}) {
    host.data()[place] ^= std::byte{1};
    CHECK_FALSE(holds_pattern(host, size, seed));
    host.data()[place] ^= std::byte{1};
  }
  poison(host, size, seed);
  poison(plain, size, seed);
  CHECK(same());
}

TEST_CASE("buffer: a pattern is made of its words", "[buffer]") {
  const Bytes data = pattern(40);
  for (std::uint64_t i = 0; i < 5; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, data.data() + 8 * i, sizeof(word));
    CHECK(word == seed + i * 0x9E3779B97F4A7C15U);
  }
}

TEST_CASE("buffer: another seed's pattern does not pass", "[buffer]") {
  for (const std::size_t size : sizes()) {
    CAPTURE(size);
    CHECK_FALSE(isthmus::has_pattern(pattern(size, seed + 1), seed));
  }
}

TEST_CASE("buffer: every flipped byte is found", "[buffer]") {
  for (const std::size_t size : sizes()) {
    Bytes data = pattern(size);
    for (const std::size_t place : places(size)) {
      const std::byte good = data[place];
      for (const int bit : {0, 3, 7}) {
        data[place] =
            good ^ std::byte{static_cast<unsigned char>(1U << static_cast<unsigned>(bit))};
        CAPTURE(size, place, bit);
        CHECK_FALSE(isthmus::has_pattern(data, seed));
      }
      data[place] = good;
    }
  }
}

TEST_CASE("buffer: every dropped, doubled or shifted piece is found", "[buffer]") {
  for (const std::size_t size : sizes()) {
    const Bytes good = pattern(size);
    for (const std::size_t place : places(size)) {
      CAPTURE(size, place);
      const auto at = static_cast<std::ptrdiff_t>(place);
      Bytes dropped = good;  // the rest moves up, the last byte is kept
      std::copy(good.begin() + at + 1, good.end(), dropped.begin() + at);
      CHECK(found(dropped, good));
      Bytes doubled = good;  // the rest moves down, the last byte is lost
      std::copy(good.begin() + at, good.end() - 1, doubled.begin() + at + 1);
      CHECK(found(doubled, good));
    }
    for (const std::size_t shift : {1, 7, 8, 64, 4096}) {
      Bytes shifted(size);
      for (std::size_t i = 0; i < size; ++i) {
        shifted[i] = good[(i + shift) % size];
      }
      CAPTURE(size, shift);
      CHECK(found(shifted, good));
    }
  }
}

TEST_CASE("buffer: swapped and repeated halves are found", "[buffer]") {
  for (const std::size_t size : sizes()) {
    const Bytes good = pattern(size);
    const auto half = static_cast<std::ptrdiff_t>(size / 2);
    Bytes swapped = good;
    std::swap_ranges(swapped.begin(), swapped.begin() + half, swapped.end() - half);
    Bytes repeated = good;
    std::copy(good.begin(), good.begin() + half, repeated.end() - half);
    CAPTURE(size);
    CHECK(found(swapped, good));
    CHECK(found(repeated, good));
  }
}

TEST_CASE("buffer: poison differs from the pattern in every byte", "[buffer]") {
  for (const std::size_t size : sizes()) {
    HostBuffer buffer("aligned", size);
    isthmus::poison(buffer, size, seed);
    const Bytes good = pattern(size);
    CAPTURE(size);
    CHECK(std::mismatch(good.begin(), good.end(), buffer.data(), std::not_equal_to<>()).first ==
          good.end());
  }
}

TEST_CASE("buffer: the pattern's sum is that of its words", "[buffer]") {
  for (const std::size_t size : sizes()) {
    const Bytes data = pattern(size);
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < size; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, data.data() + at, std::min<std::size_t>(8, size - at));
      sum += word;
    }
    CAPTURE(size);
    CHECK(isthmus::pattern_sum(size, seed) == sum);
  }
}

TEST_CASE("buffer: patterns go through any memory, larger than one piece too", "[buffer]") {
  const std::size_t size = (std::size_t{9} << 20U) + 5;  // pieces are of 4 MiB
  HostBuffer buffer("pageable", size);
  isthmus::put_pattern(buffer, size, seed);
  CHECK(isthmus::holds_pattern(buffer, size, seed));
  CHECK(isthmus::has_pattern(std::span(buffer.data(), size), seed));
  const std::size_t place =
      GENERATE_COPY(std::size_t{0}, (std::size_t{4} << 20U) - 1, std::size_t{4} << 20U, size - 1);
  buffer.data()[place] ^= std::byte{1};
  CHECK_FALSE(isthmus::holds_pattern(buffer, size, seed));
}

TEST_CASE("buffer: a whole movement is proved", "[buffer]") {
  for (const std::size_t size : sizes()) {
    HostBuffer from("aligned", size);
    HostBuffer to("aligned", size);
    Movement movement(from, to, size);
    CAPTURE(size);
    movement.arm_fully(seed);
    CHECK_FALSE(movement.arrived_fully(seed));
    copy(from, to);
    CHECK(movement.arrived_fully(seed));
    movement.arm_fully(seed);  // poisons the data of the destination
    CHECK_FALSE(movement.arrived_fully(seed));
  }
}

TEST_CASE("buffer: stamps pass when data moved, stale data never", "[buffer]") {
  std::vector<std::size_t> tried = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10'000};
  for (std::size_t size = 4095; size <= 4104; ++size) {
    tried.push_back(size);
  }
  constexpr int stamps = 600;  // more than the 512 words of a page
  for (const std::size_t size : tried) {
    HostBuffer from("aligned", size);
    HostBuffer to("aligned", size);
    Movement movement(from, to, size);
    movement.arm_fully(seed);
    copy(from, to);
    int passed = 0;
    int stale = 0;
    for (int i = 0; i < stamps; ++i) {
      const std::uint64_t stamp = isthmus::fresh_stamp();
      movement.arm(stamp);
      stale += movement.arrived(stamp) ? 1 : 0;
      copy(from, to);
      passed += movement.arrived(stamp) ? 1 : 0;
    }
    CAPTURE(size);
    CHECK(stale == 0);
    CHECK(passed == stamps);
  }
}

TEST_CASE("buffer: data of an earlier stamp never pass as a later one", "[buffer]") {
  // One byte has only 256 values. From two bytes on, none of these stamps equals the first.
  const std::size_t size = GENERATE(2, 7, 8, 9, 4096, 4097, 10'000);
  HostBuffer from("aligned", size);
  HostBuffer to("aligned", size);
  Movement movement(from, to, size);
  movement.arm(isthmus::fresh_stamp());
  copy(from, to);
  int stale = 0;
  for (int i = 0; i < 2'000; ++i) {
    const std::uint64_t stamp = isthmus::fresh_stamp();
    movement.arm(stamp);
    stale += movement.arrived(stamp) ? 1 : 0;
  }
  CHECK(stale == 0);
}

TEST_CASE("buffer: every page has a stamp of its own", "[buffer]") {
  constexpr std::size_t size = 5 * page_bytes + 100;
  HostBuffer from("aligned", size);
  HostBuffer to("aligned", size);
  Movement movement(from, to, size);
  for (std::size_t page = 0; page <= size / page_bytes; ++page) {
    const std::uint64_t stamp = isthmus::fresh_stamp();
    movement.arm(stamp);
    Bytes before(std::min(page_bytes, size - page * page_bytes));
    to.get(page * page_bytes, before);
    copy(from, to);
    CHECK(movement.arrived(stamp));
    to.put(page * page_bytes, before);  // as if only this page had not been moved
    CAPTURE(page);
    CHECK_FALSE(movement.arrived(stamp));
  }
}

TEST_CASE("buffer: stamps come to every word of a page", "[buffer]") {
  HostBuffer from("aligned", page_bytes);
  HostBuffer to("aligned", page_bytes);
  Movement movement(from, to, page_bytes);
  movement.arm_fully(seed);
  std::vector<bool> stuck_is_seen(page_bytes / 8);
  for (std::size_t i = 0; i < stuck_is_seen.size(); ++i) {
    const std::uint64_t stamp = isthmus::fresh_stamp();
    movement.arm(stamp);
    copy(from, to);
    for (std::size_t word = 0; word < stuck_is_seen.size(); ++word) {
      to.data()[word * 8] ^= std::byte{1};
      stuck_is_seen[word] = stuck_is_seen[word] || !movement.arrived(stamp);
      to.data()[word * 8] ^= std::byte{1};
    }
  }
  CHECK(std::ranges::count(stuck_is_seen, false) == 0);
}

TEST_CASE("buffer: stamps never return", "[buffer]") {
  const std::uint64_t first = isthmus::fresh_stamp();
  CHECK(isthmus::fresh_stamp() == first + 1);
  CHECK(isthmus::fresh_stamp() == first + 2);
}

namespace {

/// Number of equal bytes among the first `size` bytes of two stamps' words.
std::size_t equal_bytes(std::uint64_t one, std::uint64_t other, std::size_t size = 8) {
  const std::uint64_t a = isthmus::seed_of(one);
  const std::uint64_t b = isthmus::seed_of(other);
  std::size_t equal = 0;
  for (std::size_t place = 0; place < size; ++place) {
    equal += (a >> 8 * place & 0xFFU) == (b >> 8 * place & 0xFFU) ? 1 : 0;
  }
  return equal;
}

}  // namespace

TEST_CASE("buffer: data of stamps that are near differ in every byte, wherever they lie",
          "[buffer]") {
  const std::uint64_t first = isthmus::fresh_stamp();
  for (std::uint64_t distance = 1; distance <= isthmus::distinct_stamps; ++distance) {
    for (std::size_t offset = 0; offset < 3 * page_bytes; offset += 509) {
      Bytes one(23);
      Bytes other(23);
      isthmus::fill_pattern(one, isthmus::seed_of(first), offset);
      isthmus::fill_pattern(other, isthmus::seed_of(first + distance), offset);
      CAPTURE(distance, offset);
      CHECK(std::mismatch(one.begin(), one.end(), other.begin(), std::not_equal_to<>()).first ==
            one.end());
    }
  }
  CHECK(isthmus::distinct_distance(1) == 1);
  for (std::uint64_t ranks = 1; ranks < 3000; ++ranks) {
    const std::uint64_t distance = isthmus::distinct_distance(2 * ranks + 1);
    CHECK(distance > 2 * ranks);
    CHECK(equal_bytes(first, first + distance) == 0);
  }
}

TEST_CASE("buffer: data of the movements of a part differ in every byte", "[buffer]") {
  const std::uint64_t first = isthmus::fresh_stamp();
  for (std::uint64_t movement = 1; movement <= 16; ++movement) {
    for (int later = -4; later <= 4; ++later) {
      CAPTURE(movement, later);
      CHECK(equal_bytes(first, first + movement * isthmus::next_movement +
                                   static_cast<std::uint64_t>(later)) == 0);
    }
  }
}

TEST_CASE("buffer: memory between the ends of a movement is poisoned", "[buffer]") {
  const std::size_t size = GENERATE(1, 2, 3, 5, 7, 8, 4097);
  HostBuffer from("aligned", size);
  HostBuffer between("aligned", size);
  HostBuffer to("aligned", size);
  Movement movement(from, to, size, {&between});
  movement.arm_fully(seed);
  const Bytes good = pattern(size);
  CHECK(std::mismatch(good.begin(), good.end(), between.data(), std::not_equal_to<>()).first ==
        good.end());
  copy(between, to);  // the first direction moved nothing
  CHECK_FALSE(movement.arrived_fully(seed));
}

TEST_CASE("buffer: each kind of host memory has its alignment", "[buffer]") {
  const std::size_t size = GENERATE(1, 4096, 100'000);
  const auto misaligned = [size](const std::string& kind, std::size_t to) {
    HostBuffer buffer(kind, size);
    CHECK(buffer.bytes() == size);
    isthmus::put_pattern(buffer, size, seed);
    CHECK(isthmus::holds_pattern(buffer, size, seed));
    return reinterpret_cast<std::uintptr_t>(buffer.data()) % to;
  };
  CHECK(misaligned("aligned", page_bytes) == 0);
  CHECK(misaligned("pageable", alignof(std::max_align_t)) == 0);
  CHECK(misaligned("hugepage", std::size_t{2} << 20U) == 0);
  CHECK(misaligned("offset0", page_bytes) == 0);
  CHECK(misaligned("offset1", page_bytes) == 1);
  CHECK(misaligned("offset64", page_bytes) == 64);
  CHECK(misaligned("offset4095", page_bytes) == 4095);
}

TEST_CASE("buffer: known kinds can be made, others are refused", "[buffer]") {
  for (const std::string& kind : HostBuffer::kinds()) {
    CHECK(HostBuffer::knows(kind));
    CHECK_NOTHROW(HostBuffer(kind, 10));
  }
  for (const std::string kind :
       {"", "Aligned", "offset", "offset4096", "offset-1", "offset+1", "offset1x", "offset 1",
        "offset99999999999999999999", "node", "node1024", "device"}) {
    CAPTURE(kind);
    CHECK_FALSE(HostBuffer::knows(kind));
    CHECK_THROWS_AS(HostBuffer(kind, 10), std::invalid_argument);
  }
}

TEST_CASE("buffer: memory that cannot be allocated is refused", "[buffer]") {
#ifndef SANITIZED  // the sanitizers' allocators end the process instead
  const std::string kind = GENERATE("aligned", "pageable", "hugepage", "offset1");
  CHECK_THROWS_AS(HostBuffer(kind, std::size_t{1} << 60U), std::bad_alloc);
#endif
}

TEST_CASE("buffer: words a page apart are the same by loop and by memory", "[buffer]") {
  constexpr std::size_t size = 4 * page_bytes + 24;
  const std::vector<std::uint64_t> words = {11, 22, 33, 44, 55};
  const std::size_t offset = GENERATE(0, 8, 16);
  PlainMemory plain(size);
  isthmus::put_pattern(plain, size, seed);
  plain.put_words(offset, words);
  for (std::size_t page = 0; page < words.size(); ++page) {
    std::uint64_t word = 0;
    plain.get(page * page_bytes + offset, std::as_writable_bytes(std::span(&word, 1)));
    CHECK(word == words[page]);
  }
  std::vector<std::uint64_t> back(words.size());
  plain.get_words(offset, back);
  CHECK(back == words);
  // No other byte was touched.
  isthmus::fill_pattern(std::as_writable_bytes(std::span(back)).first(8), seed, offset);
  plain.put(offset, std::as_bytes(std::span(back)).first(8));
  Bytes page(page_bytes);
  plain.get(0, page);
  CHECK(isthmus::has_pattern(page, seed));
}

TEST_CASE("buffer: a view follows the memory that it is moved to", "[buffer]") {
  Bytes first = pattern(100);
  Bytes second = pattern(100, seed + 1);
  HostView view(first.data(), first.size());
  CHECK(isthmus::holds_pattern(view, 100, seed));
  view.move_to(second.data());
  CHECK(isthmus::holds_pattern(view, 100, seed + 1));
  CHECK(view.bytes() == 100);
}
