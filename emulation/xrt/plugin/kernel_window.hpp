// The copy of a buffer for a kernel in C++, with counts of the kernel's reads and writes.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/card/kernel_call.hpp"
#include "isthmus/card/kernel_plugin.h"
#include "isthmus/card/pieces.hpp"
#include "reached.hpp"
#include "unwritten.hpp"

namespace isthmus::card::plugin {

inline constexpr std::uint64_t page_bytes = 4096;
inline constexpr std::uint64_t guard_bytes = std::uint64_t{1}
                                             << 32U;  ///< pages without access on each side
/// Bytes past a buffer's end that a kernel may access, as on a board; an access farther off is an
/// error.
inline constexpr std::uint64_t tail_bytes = std::uint64_t{1} << 20U;

/// Longer buffers are copied block by block, at the first access to a block. A kernel that runs
/// once for each work-group accesses few blocks. Least bytes of a block, and most blocks.
inline constexpr std::uint64_t block_bytes = std::uint64_t{1} << 18U;
inline constexpr std::uint64_t most_blocks = 4096;

constexpr std::uint64_t whole_pages(std::uint64_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

struct Accesses {
  std::uint64_t bytes = 0;
  std::uint64_t beats = 0;  ///< accesses to another element than the previous one
  std::uint64_t element = ~std::uint64_t{0};
};

/// Throws if a call of the card failed, which has kept the message.
inline void check(int failed) {
  if (failed != 0) {
    throw std::runtime_error("");
  }
}

/// Memory of an earlier window, for reuse: new mappings would take most of a short run's wall time.
struct WindowMemory {
  std::byte* mapping = nullptr;
  std::uint64_t mapped = 0;
  std::byte* before = nullptr;
};

/// A copy of the buffer of one argument, between pages that cannot be accessed.
struct Window {
  const isthmus_kernel_run* run = nullptr;
  const Argument* argument = nullptr;
  std::uint64_t card_address = 0;
  std::uint64_t bytes = 0;
  /// Bytes copied: more than `bytes` after accesses past the buffer's end.
  std::uint64_t copied = 0;
  std::uint64_t mapped = 0;
  std::byte* mapping = nullptr;
  bool is_open = false;  ///< whether all pages can be accessed, as in an earlier window's memory
  std::byte* before_room = nullptr;  ///< memory of an earlier window for `before`
  std::uint64_t begin = 0;           ///< address of the copy
  /// The copy's contents before the run, if the kernel may write.
  std::byte* before = nullptr;
  Accesses reads, writes;
  Reached read;
  Pieces written;
  /// Whether nothing else writes to the buffer during the run. If so, `reached` may hold bytes
  /// between those that the run wrote.
  bool alone = true;
  Reached reached;  ///< written bytes, until `find_written`
  std::uint64_t block = block_bytes;
  std::vector<bool> missing;  ///< which blocks are not copied yet; empty: all are

  Unwritten unwritten;

  /// Makes the copy. If other runs may write to the buffer during this run (not `alone`), copies
  /// all of it now.
  void start() {
    unwritten.find(*run, card_address, bytes);
    if (!alone || bytes <= block_bytes) {
      extend(bytes);
      return;
    }
    block = std::max(block_bytes, whole_pages(bytes / most_blocks));
    missing.assign((bytes + block - 1) / block, true);
    copied = bytes;
  }

  void count(std::uint64_t address, std::uint64_t size, bool write) {
    const std::uint64_t at = address - begin;
    check_place(at, address < begin, size, write);
    if (at + size > bytes) {
      warn(at, size, write);
    }
    if (at + size > copied) {
      extend(at + size);
    }
    Accesses& accesses = write ? writes : reads;
    accesses.bytes += size;
    const std::uint64_t first = element_of(at);
    const std::uint64_t last = size > 1 ? element_of(at + size - 1) : first;
    accesses.beats += last - first + (first == accesses.element ? 0 : 1);
    accesses.element = last;
    if (!unwritten.empty()) {
      check_written(at, size, write);
    }
    if (write) {
      note_written(at, at + size);
    } else {
      read.add(at, at + size);
    }
  }

  /// Handles an access to a page without a copy that the compiler has not reported. Throws like
  /// `count`.
  void fault(std::uint64_t address, bool write) {
    check_place(address - begin, address < begin, 0, write);
    const std::uint64_t at = address - begin;
    if (at < whole_pages(bytes) && fetch(std::min(at, bytes - 1) / block)) {
      return;
    }
    warn(at, 0, write);
    extend(whole_pages(at + 1));
    if (write) {  // which bytes of the page are written is unknown
      note_written(at / page_bytes * page_bytes, copied);
    }
  }

  [[nodiscard]] std::byte* copy() const { return mapping + guard_bytes; }

  /// Copies the contents to `before`.
  void remember() {
    if (before != nullptr || bytes == 0) {
      return;
    }
    void* made = before_room;
    if (made == nullptr) {
      made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    before_room = nullptr;
    if (made == MAP_FAILED) {
      throw std::runtime_error("no memory for the buffer of argument " +
                               std::string(argument->name));
    }
    before = static_cast<std::byte*>(made);
    if (missing.empty()) {
      std::memcpy(before, copy(), bytes);
    }
  }

  /// Adds bytes that have changed without a report: compilers do not report writes of structures
  /// that functions return, and libraries report none.
  void find_written() {
    for (const auto& [begin_here, end_here] : reached.all().ends()) {
      each_there(begin_here, end_here,
                 [this](std::uint64_t from, std::uint64_t to) { written.add(from, to); });
    }
    if (before == nullptr) {
      return;
    }
    // Memory beyond the contents was 0.
    const auto is_set = [](std::byte value) { return value != std::byte{0}; };
    const bool none = !missing.empty() && missing.back();
    const std::span rest(copy() + copied, copy() + (none ? copied : whole_pages(copied)));
    const bool is_zero =
        rest.empty() || (!is_set(rest.front()) &&
                         std::memcmp(rest.data(), rest.subspan(1).data(), rest.size() - 1) == 0);
    if (!is_zero) {
      const auto first = std::ranges::find_if(rest, is_set);
      const auto last = std::ranges::find_if(rest | std::views::reverse, is_set).base();
      const auto place = [&](auto at) {
        return copied + static_cast<std::uint64_t>(at - rest.begin());
      };
      warn(place(first), 0, true);
      written.add(place(first), place(last));
    }
    std::uint64_t from = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps;
    for (const auto& [begin, end] : written.ends()) {
      gaps.emplace_back(from, std::min(begin, bytes));
      from = end;
    }
    gaps.emplace_back(from, bytes);
    for (const auto& [from_here, to_here] : gaps) {
      each_there(from_here, to_here, [this](std::uint64_t at, std::uint64_t end) {
        for (; at < end; at += page_bytes) {
          find_unreported(at, std::min(at + page_bytes, end));
        }
      });
    }
  }

  /// Returns whether another window with as many pages can use the memory.
  [[nodiscard]] bool is_reusable() const {
    return missing.empty() && copied == bytes && bytes <= block_bytes;
  }

  /// Extends the copy past the buffer's end with the card's bytes.
  void extend(std::uint64_t end) {
    if (!missing.empty()) {
      fetch(missing.size() - 1);
    }
    if (is_open) {  // removes an earlier window's data past the buffer's end
      std::memset(copy() + end, 0, whole_pages(end) - end);
      is_open = false;
    } else {
      open(whole_pages(copied), whole_pages(end));
    }
    check(run->load(run->card, card_address + copied, copy() + copied, end - copied));
    copied = end;
  }

 private:
  /// Copies a block from the card; returns false if it was copied before.
  bool fetch(std::uint64_t which) {
    if (which >= missing.size() || !missing[which]) {
      return false;
    }
    const std::uint64_t from = which * block;
    const std::uint64_t size = std::min(block, bytes - from);
    open(from, whole_pages(from + size));
    check(run->load(run->card, card_address + from, copy() + from, size));
    if (before != nullptr) {  // memcpy would count as the kernel's access
      check(run->load(run->card, card_address + from, before + from, size));
    }
    missing[which] = false;
    return true;
  }

  void open(std::uint64_t from, std::uint64_t to) const {
    if (to > from) {
      mprotect(copy() + from, to - from, PROT_READ | PROT_WRITE);
    }
  }

  /// Calls `what` for each part of a range that has been copied.
  template <class What>
  void each_there(std::uint64_t from, std::uint64_t to, const What& what) {
    while (from < to) {
      const std::uint64_t which = from / block;
      // The last block contains the bytes past the buffer's end.
      const bool last = which + 1 >= missing.size();
      const std::uint64_t end = last ? to : std::min(to, (which + 1) * block);
      if (missing.empty() || !missing[last ? missing.size() - 1 : which]) {
        what(from, end);
      }
      from = end;
    }
  }

  /// Warns, once, of a read element of which nothing has written any byte.
  void check_written(std::uint64_t at, std::uint64_t size, bool write) {
    if (write) {
      unwritten.write(at, size);
      return;
    }
    const std::uint64_t one = argument->element_bytes;
    // Whether code that reports no writes has changed bytes of this range.
    const auto is_changed = [this](std::uint64_t from, std::uint64_t to) {
      return before != nullptr && std::memcmp(copy() + from, before + from, to - from) != 0;
    };
    const std::uint64_t begin = at / one * one;
    const std::uint64_t end = std::min((at + size + one - 1) / one * one, bytes);
    if (const auto found = unwritten.first_of(begin, end, one, is_changed)) {
      unwritten.forget();
      check(run->reads_unwritten(run->card, card_address + *found));
    }
  }

  void note_written(std::uint64_t from, std::uint64_t to) {
    if (alone) {
      reached.add(from, to);
    } else {
      written.add(from, to);
    }
  }

  void check_place(std::uint64_t at, bool below, std::uint64_t size, bool write) const {
    if (below || at > bytes + tail_bytes || size > bytes + tail_bytes - at) {
      throw std::out_of_range("it " + what(at, size, write) + ", whose buffer has " +
                              std::to_string(bytes));
    }
  }

  /// Returns a text like "reads 4 bytes at byte 8 of argument in"; without the 4 if it is unknown.
  [[nodiscard]] std::string what(std::uint64_t at, std::uint64_t size, bool write) const {
    return (write ? "writes" : "reads") + (size > 0 ? ' ' + std::to_string(size) + " bytes" : "") +
           " at byte " + std::to_string(static_cast<std::int64_t>(at)) + " of argument " +
           argument->name;
  }

  /// Warns, once, of a read and of a write past the buffer's end. The card cannot warn, because
  /// there may be another buffer.
  void warn(std::uint64_t at, std::uint64_t size, bool write) {
    if (std::exchange(write ? warned_of_write_ : warned_of_read_, true)) {
      return;
    }
    const std::string has = bytes == 0 ? ", whose address is that of no buffer (freed before?)"
                                       : ", whose buffer has " + std::to_string(bytes);
    const std::string text = what(at, size, write) + has + "; a board would go on";
    check(run->warn(run->card, text.c_str(), ""));
  }

  [[nodiscard]] std::uint64_t element_of(std::uint64_t at) const {
    const std::uint64_t bytes_of_one = argument->element_bytes;
    return (bytes_of_one & (bytes_of_one - 1)) == 0
               ? at >> static_cast<unsigned>(__builtin_ctzll(bytes_of_one))
               : at / bytes_of_one;
  }

  void find_unreported(std::uint64_t begin, std::uint64_t end) {
    while (begin < end && std::memcmp(copy() + begin, before + begin, end - begin) != 0) {
      const auto differ = [this](std::uint64_t at) { return copy()[at] != before[at]; };
      while (!differ(begin)) {
        ++begin;
      }
      std::uint64_t same = begin;
      while (same < end && differ(same)) {
        ++same;
      }
      written.add(begin, same);
      const std::uint64_t element = element_of(same - 1);
      const std::uint64_t fresh = element - begin / argument->element_bytes +
                                  (begin / argument->element_bytes != writes.element ? 1 : 0);
      writes.beats += fresh;
      writes.bytes += fresh * argument->element_bytes;
      writes.element = element;
      begin = same;
    }
  }

  bool warned_of_read_ = false;
  bool warned_of_write_ = false;
};

}  // namespace isthmus::card::plugin
