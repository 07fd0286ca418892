// The card as its shim sees it: its memory, its kernels, and the time that calls take.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isthmus/card/process/call_record.hpp"
#include "isthmus/card/process/dataflow.hpp"
#include "isthmus/card/process/description.hpp"
#include "isthmus/card/process/host_starts.hpp"
#include "isthmus/card/process/kernels.hpp"
#include "isthmus/card/process/long_run.hpp"
#include "isthmus/card/process/memory.hpp"
#include "isthmus/card/process/meter.hpp"
#include "isthmus/card/process/timing.hpp"
#include "isthmus/card/process/transfer_queue.hpp"

namespace isthmus::card::process {

// The lowest bits of a kernel's control register (AMD's UG1393, "Control Register").
inline constexpr std::uint32_t ap_start = 1;
inline constexpr std::uint32_t ap_done = 2;
inline constexpr std::uint32_t ap_idle = 4;

/// Distance to an event whose time is unknown: 2^61 fs, 38 minutes. Times wrap at 2^64 fs, and the
/// difference of two times has a sign, so 2^63 fs is the limit.
inline constexpr std::uint64_t far_future_fs = std::uint64_t{1} << 61U;

/// The emulated card. A call that the card cannot do throws MemoryError, KernelError or CardError.
class Device {
 public:
  /// With a `fatal_warnings` file an access past the end of a buffer throws KernelError. A program
  /// that runs `as_hardware` takes the card for a board. Without `looks` the program counts as
  /// looking at each buffer.
  Device(Description description, Timing& timing, ProgramMemory& host, Meter& meter,
         const std::vector<std::string>& kernel_folders, std::string fatal_warnings = "",
         bool as_hardware = false, HostLooks* looks = nullptr, RunWatch* watch = nullptr,
         const std::vector<std::string>& not_needed = {});

  /// Counts a call; to be called before each of the calls below.
  void begin_call();
  /// Allocates a buffer. Returns the name of the memory's file; empty for memory that is not
  /// shared.
  std::string allocate(std::uint64_t address, std::uint64_t bytes, bool shared);
  void free(std::uint64_t address);
  void import(std::uint64_t address, std::uint64_t bytes, int descriptor) {
    memory_.import(address, bytes, descriptor);
  }
  void copy_to_card(std::uint64_t address, std::span<const std::byte> data);
  std::span<const std::byte> copy_from_card(std::uint64_t address, std::uint64_t bytes);
  /// Returns card memory: an allocation, or new memory if a program accesses memory beside its
  /// buffers.
  std::span<std::byte> memory(std::uint64_t address, std::uint64_t bytes);
  void write_registers(std::uint64_t address, std::span<const std::byte> data);
  void read_registers(std::uint64_t address, std::span<std::byte> to);
  /// Returns the end of the unit's run: now if it has ended; nothing if its end depends on streams,
  /// or if the unit restarts itself.
  std::optional<std::uint64_t> end_of(std::uint64_t address);
  /// Copies within the card's memory, as a unit of the board does.
  void copy(std::uint64_t to, std::uint64_t from, std::size_t bytes);
  /// Takes the time of a copy from or to another card's memory; does not copy the bytes.
  void spend_on_copy_between_cards(Direction direction, std::uint64_t address, std::uint64_t bytes);
  /// Notes that the program sent bytes, or read a buffer, without a transfer.
  void note_sent(std::uint64_t address, std::uint64_t bytes);
  void note_taken(std::uint64_t address, std::uint64_t bytes);
  /// `misses(number)`: whether the program has not seen the end of the run with that start number.
  void ask_for_waits(HostStarts::Misses misses) { starts_.ask(misses); }
  /// Notes that the program has started a run, which may wait for its unit; 0: not watched.
  void note_submitted(std::uint64_t number);
  /// Notes the number of the next start of the unit at an address; 0: not watched. `is_mistaken`:
  /// the program made a mistake of which the user was warned.
  void note_start(std::uint64_t address, std::uint64_t number, bool is_mistaken = false);
  /// Warns of outputs that the program never synced back; to be called when it closes the card.
  void warn_of_lost_outputs();

 private:
  struct Unit {
    ComputeUnit place;
    std::unique_ptr<KernelModel> model;
    std::vector<std::byte> registers;
    bool running = false;
    std::uint64_t end = 0;
    bool runs_on = false;  ///< restarts itself until its counter is cleared
    Time period = 0;       ///< duration of a run that restarts itself, without streams
    /// Whether XRT starts it as a kernel: then accesses to the control register are part of the
    /// launch. Otherwise the program itself accesses the registers.
    bool by_xrt = false;
    bool flows = false;        ///< has streams to other units
    bool waits = false;        ///< runs; its end depends on streams
    bool is_long = false;      ///< its function has computed for long, and the user was warned
    std::uint64_t start = 0;   ///< number of the program's last start; 0: not watched
    bool is_mistaken = false;  ///< that start had a mistake
    std::uint64_t run = 0;     ///< number of the last run among those of the card
  };

  void check_memories() const;
  void check_clock();
  void spend_on_software(double nanoseconds, const char* kind, std::uint64_t bytes);
  void spend_on_transfer(Direction direction, std::uint64_t address, std::uint64_t bytes);
  /// `facts_of` and `record_kernel` write the events of transfers and runs (bounds.cpp).
  std::string facts_of(Direction direction, std::uint64_t address, std::uint64_t bytes);
  void record_kernel(const Unit& unit, std::uint64_t begin, Time duration,
                     const KernelOutcome& outcome);
  void warn_if_lost(BufferUse& use);
  static Pieces changed(const BufferUse& use, std::uint64_t address, std::span<const std::byte> now,
                        std::span<const std::byte> data);
  void warn_if_overwritten(BufferUse& use, std::uint64_t address, std::span<const std::byte> data);
  void warn_if_missed(const BufferUse& use, std::uint64_t address, std::uint64_t bytes);
  Cost cost_of(Direction direction, std::uint64_t address, std::uint64_t bytes);

  Unit* unit_at(std::uint64_t address);
  [[nodiscard]] std::size_t number_of(const Unit& unit) const {
    return static_cast<std::size_t>(&unit - units_.data());
  }
  void control(Unit& unit, std::uint32_t value);
  void start(Unit& unit);
  KernelOutcome run(Unit& unit, StreamAccess* streams = nullptr);
  [[nodiscard]] std::optional<Computing> given_computing(const Unit& unit);
  void note_computing(const Unit& unit, const Computing& computing);
  void start_flow(Unit& unit, std::uint32_t times);
  void advance_flows();
  void publish_next_end();
  void find_deadlock();
  void stop(Unit& unit);
  std::uint32_t status(Unit& unit);
  void register_access(const Unit& unit, bool load);

  Description description_;
  Timing* timing_;
  TransferQueue transfers_;
  ProgramMemory* host_;
  Meter* meter_;
  CardMemory memory_;
  std::vector<Unit> units_;
  bool programmed_ = false;
  Warnings warnings_;
  RunWatch* watch_;
  bool as_hardware_;
  HostLooks* looks_;
  HostStarts starts_;
  std::uint64_t submitted_ = 0;  ///< number of the program's latest start
  unsigned waiting_ = 0;         ///< starts that wait for their unit
  using Duration = std::chrono::nanoseconds;
  /// Real time since the program last acted, in which all running units wait for streams and the
  /// program waits for these units.
  Duration stuck_for_{};
  Duration looked_{};  ///< when find_deadlock was called last, in real time

  Dataflow flow_;  // last member: runs that its destructor ends use the other members
};

}  // namespace isthmus::card::process
