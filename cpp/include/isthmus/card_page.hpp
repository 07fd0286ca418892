// The use of each card: a file that a program's shim and its virtual clock write. `card exec` reads
// it (emulation/python/isthmus_emulation/page.py), and so does a backend (emulated_card.cpp).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace isthmus::card::process {

/// Environment variable that names the file.
inline constexpr const char* page_variable = "ISTHMUS_CARD_PAGE";
inline constexpr std::uint32_t page_magic = 0x48545349;  // "ISTH"
inline constexpr std::uint32_t page_version = 2;
inline constexpr std::size_t most_cards = 64;

// Words, for Python reads them too. NOLINTNEXTLINE(performance-enum-size)
enum class SlotState : std::uint32_t { unused, open, closed };

/// What ends kernels that wait for streams, and kernels that restart themselves.
// NOLINTNEXTLINE(performance-enum-size)
enum class Ending : std::uint32_t { none, program, bitstream };

using Count = std::atomic<std::uint64_t>;

/// Kinds of virtual clocks: processor time and simulated time, or simulated time alone.
inline constexpr std::uint32_t clock_of_program = 1;
inline constexpr std::uint32_t clock_of_card = 2;

/// One card as one process uses it. Times are femtoseconds modulo 2^64: only differences mean
/// something, of up to 2.5 hours.
struct alignas(64) CardSlot {
  std::atomic<SlotState> state;
  std::atomic<std::uint32_t> card;     ///< N of XRT's device N
  std::atomic<std::uint32_t> program;  ///< process that uses it
  std::atomic<std::uint32_t> busy;     ///< kernels whose end the program has not seen

  // Written by the shim.
  Count elapsed_fs;  ///< what calls took, waits for kernels included: a program's clock goes by it
  Count simulated_fs;  ///< link, card and kernels at work, as far as calls took it
  Count driver_fs;     ///< software that the board assumes; both count calls that overlap once
  Count kernel_fs;     ///< kernels at work, waited for or not
  Count done_fs;       ///< on the line offset + elapsed: when the next kernel ends, while busy
  Count bytes_to_card;
  Count bytes_from_card;
  Count kernel_bytes;  ///< that kernels read and wrote, each sweep counted
  Count transfers;
  Count kernels;
  Count registers;  ///< accesses by the program
  Count calls;

  /// 1: something happens on the card at `done_fs`.
  std::atomic<std::uint32_t> pending;
  std::atomic<Ending> ending;

  // Written by the shim and the virtual clock before a call.
  Count offset_fs;    ///< the program's time when the call began, less elapsed_fs then
  Count patience_fs;  ///< from there to the program's next deadline: a poll jumps no further
  std::atomic<std::uint32_t> alone;  ///< 1: a poll may jump
  std::atomic<std::uint32_t> stuck;  ///< 1: all wait, without a deadline
  Count waited_fs;  ///< how long a kernel that starts has waited in the runtime's queue
};

/// Zero but for magic, version and `clock` when it is made.
struct Page {
  std::uint32_t magic;
  std::uint32_t version;
  /// Not 0: the program has a virtual clock.
  std::atomic<std::uint32_t> clock;
  alignas(64) std::array<CardSlot, most_cards> slots;
};

static_assert(std::is_standard_layout_v<Page> && Count::is_always_lock_free);
static_assert(sizeof(CardSlot) == 192 && offsetof(CardSlot, elapsed_fs) == 16);

}  // namespace isthmus::card::process
