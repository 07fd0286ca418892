// The card as the shim uses it: its memory, its kernels, and the time that calls take.
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

/// Femtoseconds to an event whose time is unknown: 2^61, 38 minutes. Times wrap at 2^64, and a
/// signed difference of two times is below 2^63.
inline constexpr std::uint64_t far_future_fs = std::uint64_t{1} << 61U;

/// A copy of a program's buffer in a memory that an argument reaches; XRT makes it when the program
/// sets the argument to a buffer in another memory.
struct LocalCopy {
  std::uint64_t to = 0;  ///< address of the copy
  std::uint64_t from = 0;
  std::uint64_t bytes = 0;
  Time duration = 0;
  std::string kernel{};
  std::size_t argument = 0;  ///< number of the argument
};

/// The emulated card. A call that the card cannot do throws MemoryError, KernelError or CardError.
class Device {
 public:
  /// `fatal_warnings` names a file: an access past the end of a buffer then throws KernelError.
  /// `as_hardware` means that the program takes the card for a board. Without `looks` the program
  /// counts as looking at every buffer.
  Device(Description description, Timing& timing, ProgramMemory& host, Meter& meter,
         const std::vector<std::string>& kernel_folders, std::string fatal_warnings = "",
         bool as_hardware = false, HostLooks* looks = nullptr, RunWatch* watch = nullptr,
         const std::vector<std::string>& not_needed = {});

  /// Counts a call; call it before each of the functions below.
  void begin_call();
  /// Allocates a buffer. Returns the name of the memory's file if the memory is shared, else "".
  std::string allocate(std::uint64_t address, std::uint64_t bytes, bool shared);
  void free(std::uint64_t address);
  void import(std::uint64_t address, std::uint64_t bytes, int descriptor) {
    memory_.import(address, bytes, descriptor);
  }
  void copy_to_card(std::uint64_t address, std::span<const std::byte> data);
  std::span<const std::byte> copy_from_card(std::uint64_t address, std::uint64_t bytes);
  /// Returns card memory: of an allocation, or new memory if the program accesses memory outside
  /// its buffers.
  std::span<std::byte> memory(std::uint64_t address, std::uint64_t bytes);
  void write_registers(std::uint64_t address, std::span<const std::byte> data);
  void read_registers(std::uint64_t address, std::span<std::byte> to);
  /// Returns when the unit's run ends, or now if it has ended. Nothing if the end depends on
  /// streams, or if the unit restarts itself.
  std::optional<std::uint64_t> end_of(std::uint64_t address);
  /// Copies within the card's memory, as the copy unit of a board does. Returns the copy's time.
  Time copy(std::uint64_t to, std::uint64_t from, std::size_t bytes);
  /// Warns that XRT has made a copy because a buffer lies in the wrong memory (banks.cpp).
  void note_local_copy(const LocalCopy& copy);
  /// Spends the time of a copy from or to another card's memory; the caller copies the bytes.
  void spend_on_copy_between_cards(Direction direction, std::uint64_t address, std::uint64_t bytes);
  /// Notes that the program has sent bytes, or read a buffer, without a transfer.
  void note_sent(std::uint64_t address, std::uint64_t bytes);
  void note_taken(std::uint64_t address, std::uint64_t bytes);
  /// Sets the function that returns whether the program has not seen the end of a numbered start.
  void ask_for_waits(HostStarts::Asked misses) { starts_.ask(misses); }
  [[nodiscard]] Warnings& warnings() { return warnings_; }
  /// Returns the order of runs. The caller notes there each run that the program starts, and each
  /// end.
  [[nodiscard]] RunOrder& order() { return order_; }
  /// Returns whether the program has sent data to the buffer at an address.
  [[nodiscard]] bool was_sent(std::uint64_t address) {
    const BufferUse* use = memory_.use_of(address);
    return use != nullptr && use->sent;
  }
  /// Notes that the program has started a run, which may wait for a unit. 0: not watched.
  void note_submitted(std::uint64_t number);
  /// Notes the number of the next start of the unit at an address; 0: not watched. `is_mistaken`
  /// says that the user was warned of a mistake in this start. `ordered` is the run's number in
  /// `order`; 0: it is not noted there.
  void note_start(std::uint64_t address, std::uint64_t number, bool is_mistaken = false,
                  std::uint64_t ordered = 0);
  /// Warns of outputs that the program never synced back; call it when the program closes the card.
  void warn_of_lost_outputs();

 private:
  struct Unit {
    ComputeUnit place;
    std::unique_ptr<KernelModel> model;
    std::vector<std::byte> registers;
    bool running = false;
    std::uint64_t end = 0;
    bool runs_on = false;  ///< whether the unit restarts itself until its counter is cleared
    /// Duration of one run of a unit that restarts itself and has no streams.
    Time period = 0;
    /// Whether XRT starts the unit as a kernel: accesses to its control register then belong to the
    /// launch. Otherwise the program accesses the registers itself.
    bool by_xrt = false;
    bool flows = false;        ///< whether it has streams to other units
    bool waits = false;        ///< whether it runs and its end depends on streams
    bool is_long = false;      ///< whether the user was warned that its function computes for long
    RunOrigin origin{};        ///< of its latest run
    bool is_mistaken = false;  ///< whether that start had a mistake
    std::uint64_t run = 0;     ///< number of its last run among those of the card
  };

  /// These throw CardError for memories that the board lacks (banks.cpp).
  void check_memories();
  void check_memory(const MemoryRange& range) const;
  void check_clock();
  void spend_on_software(double nanoseconds, const char* kind, std::uint64_t bytes);
  void spend_on_transfer(Direction direction, std::uint64_t address, std::uint64_t bytes);
  /// These write the events of transfers and runs (bounds.cpp).
  std::string facts_of(Direction direction, std::uint64_t address, std::uint64_t bytes);
  void record_kernel(const Unit& unit, std::uint64_t begin, Time duration,
                     const KernelOutcome& outcome);
  void warn_if_lost(BufferUse& use);
  void warn_if_never_written(const BufferUse& use);
  /// Returns whether the program may not know that a run has ended. A run without a number of the
  /// program's start (OpenCL, XRT's C functions) counts while it runs.
  [[nodiscard]] bool is_missed(const RunOrigin& run) {
    return run.start != 0 ? starts_.is_missed(run.start) : order_.is_under_way(run.number);
  }
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
  RunOrder order_;
  std::uint64_t kernel_runs_ = 0;  ///< number of runs that have begun
  std::uint64_t submitted_ = 0;    ///< number of the program's latest start
  unsigned waiting_ = 0;           ///< number of starts that wait for their unit
  using Duration = std::chrono::nanoseconds;
  /// Real time for which all running units have waited for streams and the program for these units,
  /// since the program last acted.
  Duration stuck_for_{};
  Duration looked_{};  ///< real time of the last call of find_deadlock

  Dataflow flow_;  // the last member, because its destructor ends runs that use the others
};

}  // namespace isthmus::card::process
