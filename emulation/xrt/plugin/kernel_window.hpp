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
/// A kernel may access so much behind a buffer, as on a board; farther off is an error.
inline constexpr std::uint64_t tail_bytes = std::uint64_t{1} << 20U;

/// A longer buffer is copied block by block, when the kernel first accesses a block: a kernel that
/// starts for each of many work-groups accesses few blocks. Least size, and most blocks.
inline constexpr std::uint64_t block_bytes = std::uint64_t{1} << 18U;
inline constexpr std::uint64_t most_blocks = 4096;

constexpr std::uint64_t whole_pages(std::uint64_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

struct Accesses {
  std::uint64_t bytes = 0;
  std::uint64_t beats = 0;  ///< changes from one element to another
  std::uint64_t element = ~std::uint64_t{0};
};

/// Throws if a call of the card failed; the card has the message.
inline void check(int failed) {
  if (failed != 0) {
    throw std::runtime_error("");
  }
}

/// Memory of an earlier window. Mapping new memory for each run would take most of a short run's
/// wall time.
struct WindowMemory {
  std::byte* mapping = nullptr;
  std::uint64_t mapped = 0;
  std::byte* before = nullptr;
};

/// A copy of one argument's buffer, between pages without access.
struct Window {
  const isthmus_kernel_run* run = nullptr;
  const Argument* argument = nullptr;
  std::uint64_t card_address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t copied = 0;  ///< more than `bytes` after accesses behind the buffer
  std::uint64_t mapped = 0;
  std::byte* mapping = nullptr;
  bool is_open = false;  ///< whether all pages are accessible: memory of an earlier window
  std::byte* before_room = nullptr;  ///< room for `before`, from the earlier window
  std::uint64_t begin = 0;           ///< address of the copy in this process
  std::byte* before = nullptr;       ///< contents before the run, if the kernel may write
  Accesses reads, writes;
  Reached read;
  Pieces written;
  /// Whether nothing else writes to the buffer before the run ends: then `reached` may hold bytes
  /// between those that the run wrote.
  bool alone = true;
  Reached reached;  ///< written bytes, until `find_written`
  std::uint64_t block = block_bytes;
  std::vector<bool> missing;  ///< blocks that are not copied yet; empty: all are copied

  Unwritten unwritten;

  /// Makes the copy. If the buffer is not `alone`, it copies all now, because others may write to
  /// it during the run.
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

  /// Handles an access that the compiler did not report, to a page without a copy. Throws as
  /// `count`.
  void fault(std::uint64_t address, bool write) {
    check_place(address - begin, address < begin, 0, write);
    const std::uint64_t at = address - begin;
    if (at < whole_pages(bytes) && fetch(std::min(at, bytes - 1) / block)) {
      return;
    }
    warn(at, 0, write);
    extend(whole_pages(at + 1));
    if (write) {  // the written bytes of the page are unknown
      note_written(at / page_bytes * page_bytes, copied);
    }
  }

  [[nodiscard]] std::byte* copy() const { return mapping + guard_bytes; }

  /// Stores the present contents in `before`.
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

  /// Adds bytes that changed without a report: compilers do not report structures that functions
  /// return, nor writes by libraries.
  void find_written() {
    for (const auto& [begin_here, end_here] : reached.all().ends()) {
      each_there(begin_here, end_here,
                 [this](std::uint64_t from, std::uint64_t to) { written.add(from, to); });
    }
    if (before == nullptr) {
      return;
    }
    // The rest of the last page was 0.
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

  /// Whether a later window with as many pages can use the memory.
  [[nodiscard]] bool is_reusable() const {
    return missing.empty() && copied == bytes && bytes <= block_bytes;
  }

  /// Extends the copy with the card's bytes behind it.
  void extend(std::uint64_t end) {
    if (!missing.empty()) {
      fetch(missing.size() - 1);
    }
    if (is_open) {  // clears data of the earlier window behind the buffer's end
      std::memset(copy() + end, 0, whole_pages(end) - end);
      is_open = false;
    } else {
      open(whole_pages(copied), whole_pages(end));
    }
    check(run->load(run->card, card_address + copied, copy() + copied, end - copied));
    copied = end;
  }

 private:
  /// Copies a block; returns false if it was copied before.
  bool fetch(std::uint64_t which) {
    if (which >= missing.size() || !missing[which]) {
      return false;
    }
    const std::uint64_t from = which * block;
    const std::uint64_t size = std::min(block, bytes - from);
    open(from, whole_pages(from + size));
    check(run->load(run->card, card_address + from, copy() + from, size));
    if (before != nullptr) {  // not by memcpy, which would count as an access of the kernel
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

  /// Calls `what` for the copied parts of a range.
  template <class What>
  void each_there(std::uint64_t from, std::uint64_t to, const What& what) {
    while (from < to) {
      const std::uint64_t which = from / block;
      const bool last = which + 1 >= missing.size();  // includes the bytes behind the buffer
      const std::uint64_t end = last ? to : std::min(to, (which + 1) * block);
      if (missing.empty() || !missing[last ? missing.size() - 1 : which]) {
        what(from, end);
      }
      from = end;
    }
  }

  /// Warns once of a read element none of whose bytes was ever written.
  void check_written(std::uint64_t at, std::uint64_t size, bool write) {
    if (write) {
      unwritten.write(at, size);
      return;
    }
    const std::uint64_t one = argument->element_bytes;
    const auto is_changed = [this](std::uint64_t from, std::uint64_t to) {  // without a report
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

  /// Returns "reads 4 bytes at byte 8 of argument in", without the number if it is unknown.
  [[nodiscard]] std::string what(std::uint64_t at, std::uint64_t size, bool write) const {
    return (write ? "writes" : "reads") + (size > 0 ? ' ' + std::to_string(size) + " bytes" : "") +
           " at byte " + std::to_string(static_cast<std::int64_t>(at)) + " of argument " +
           argument->name;
  }

  /// Warns once of a read and once of a write behind the buffer. The card cannot warn: another
  /// buffer may lie there.
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
