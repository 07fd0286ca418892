// The memory page on which the emulation's shim and virtual clock count each emulated card's use
// and time. Its readers are emulated_card.cpp and `card exec` (isthmus_emulation/page.py).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace isthmus::card::process {

/// Environment variable with the path of the page's file.
inline constexpr const char* page_variable = "ISTHMUS_CARD_PAGE";
inline constexpr std::uint32_t page_magic = 0x48545349;  // "ISTH"
inline constexpr std::uint32_t page_version = 2;
inline constexpr std::size_t most_cards = 64;

// 32 bits, because Python reads this layout. NOLINTNEXTLINE(performance-enum-size)
enum class SlotState : std::uint32_t { unused, open, closed };

/// What ends kernels that wait for streams or restart themselves: the end of the program or of its
/// bitstream.
// NOLINTNEXTLINE(performance-enum-size)
enum class Ending : std::uint32_t { none, program, bitstream };

using Count = std::atomic<std::uint64_t>;

/// Values of `Page::clock`: the program's clock counts processor and simulated time, or
/// (clock_of_card) simulated time alone.
inline constexpr std::uint32_t clock_of_program = 1;
inline constexpr std::uint32_t clock_of_card = 2;

/// The use of one card by one process. Times are femtoseconds modulo 2^64: only differences up to
/// 2.5 hours have a meaning.
struct alignas(64) CardSlot {
  std::atomic<SlotState> state;
  std::atomic<std::uint32_t> card;     ///< N of XRT's device N
  std::atomic<std::uint32_t> program;  ///< the process that uses the card
  std::atomic<std::uint32_t> busy;     ///< kernels that run, or whose end the program has not seen

  // The shim writes these.
  /// Time of the program's calls, waits for kernels included; the virtual clock adds it.
  Count elapsed_fs;
  Count simulated_fs;  ///< the part of elapsed_fs in which link, card and kernels work
  /// The part of elapsed_fs in which the host's driver works, as the board's file assumes.
  Count driver_fs;
  Count kernel_fs;  ///< run time of kernels, even if the program does not wait for them
  /// While `pending`: when the next kernel ends, on the scale of offset_fs + elapsed_fs.
  Count done_fs;
  Count bytes_to_card;
  Count bytes_from_card;
  Count kernel_bytes;  ///< bytes that kernels read and wrote in all their sweeps
  Count transfers;
  Count kernels;
  Count registers;  ///< accesses to registers by the program
  Count calls;

  /// 1: the card will do something at `done_fs`.
  std::atomic<std::uint32_t> pending;
  std::atomic<Ending> ending;

  // The shim and the virtual clock write these before a call.
  Count offset_fs;  ///< the program's time when the call began, minus elapsed_fs at that moment
  /// Time from the call's begin to the program's next deadline: the most that a poll may skip.
  Count patience_fs;
  std::atomic<std::uint32_t> alone;  ///< 1: no other thread can run first, so a poll may skip time
  std::atomic<std::uint32_t> stuck;  ///< 1: all threads wait, none of them until a deadline
  Count waited_fs;  ///< how long the kernel that starts now has waited in the runtime's queue
};

/// The contents of the shared page. A new page is 0 except magic, version and `clock`.
struct Page {
  std::uint32_t magic;
  std::uint32_t version;
  /// Kind of the program's virtual clock; 0: the program has none.
  std::atomic<std::uint32_t> clock;
  alignas(64) std::array<CardSlot, most_cards> slots;
};

static_assert(std::is_standard_layout_v<Page> && Count::is_always_lock_free);
static_assert(sizeof(CardSlot) == 192 && offsetof(CardSlot, elapsed_fs) == 16);

}  // namespace isthmus::card::process
