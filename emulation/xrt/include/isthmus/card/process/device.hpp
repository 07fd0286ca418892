// The card as XRT's hardware emulation sees it: one answer to each call.
#pragma once

#include <array>
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
#include "isthmus/card/process/kernels.hpp"
#include "isthmus/card/process/long_run.hpp"
#include "isthmus/card/process/memory.hpp"
#include "isthmus/card/process/meter.hpp"
#include "isthmus/card/process/timing.hpp"
#include "isthmus/card/process/transfer_queue.hpp"
#include "isthmus/card/process/wire.hpp"

namespace isthmus::card::process {

/// The largest piece in which XRT hands over a transfer, as our settings tell it to.
inline constexpr std::uint64_t packet_bytes = std::uint64_t{64} << 20U;

/// Where XRT finds the unit that copies within the card's memory, as our settings tell it to
/// (emulation/python/isthmus/emulation/session.py), and what it writes there.
inline constexpr std::uint64_t copier_address = 0x102'0000;
inline constexpr std::size_t copier_registers = 36;

/// What is to be sent: a message, and bytes of card memory behind it.
struct Reply {
  MessageWriter message;
  std::span<const std::byte> data;
};

class Device {
 public:
  /// With a `fatal_warnings` file an access past the end of a buffer throws KernelError. A program
  /// that runs `as_hardware` believes that this is a board. Without `looks` the program counts as
  /// one that looks at each buffer.
  Device(Description description, Timing& timing, ProgramMemory& host, Meter& meter,
         const std::vector<std::string>& kernel_folders, std::string fatal_warnings = "",
         bool as_hardware = false, HostLooks* looks = nullptr, RunWatch& watch = watch_by_alarm());

  /// Throws MemoryError, KernelError, CardError or WireError for what cannot be answered.
  Reply answer(Call call, const Message& request);

  // The calls themselves, for a shim in the program's process. Each throws as `answer` does.

  /// To be called before each of the calls below: counts it.
  void begin_call();
  /// Returns the name of the file behind the memory; empty for memory that is not shared.
  std::string allocate(std::uint64_t address, std::uint64_t bytes, bool shared);
  void free(std::uint64_t address);
  void import(std::uint64_t address, std::uint64_t bytes, int descriptor) {
    memory_.import(address, bytes, descriptor);
  }
  void copy_to_card(std::uint64_t address, std::span<const std::byte> data);
  std::span<const std::byte> copy_from_card(std::uint64_t address, std::uint64_t bytes);
  /// Card memory that was allocated, or, for a program that reaches behind its buffers, new memory.
  std::span<std::byte> memory(std::uint64_t address, std::uint64_t bytes);
  void write_registers(std::uint64_t address, std::span<const std::byte> data);
  void read_registers(std::uint64_t address, std::span<std::byte> to);
  /// When the unit at an address ends; now where it has ended, nothing where others decide.
  std::optional<std::uint64_t> end_of(std::uint64_t address);
  /// A copy of card memory from, or to, another card's memory; not the bytes themselves.
  void spend_on_copy_between_cards(Direction direction, std::uint64_t address, std::uint64_t bytes);
  /// The program sent bytes to the card, or took a buffer's bytes from it, in another way.
  void note_sent(std::uint64_t address, std::uint64_t bytes);
  void note_taken(std::uint64_t address);
  /// To be called when the program leaves the card: warns of outputs that it never synced back.
  void tell_lost_outputs();

 private:
  struct Unit {
    ComputeUnit place;
    std::unique_ptr<KernelModel> model;
    std::vector<std::byte> registers;
    bool running = false;
    std::uint64_t end = 0;
    std::uint64_t runs = 0;  ///< so many, where it starts itself again
    bool runs_on = false;    ///< until its counter is cleared
    Time period = 0;         ///< of one run of these; not where it has streams
    /// Whether XRT runs it by itself, as it does a kernel: then what it does to the control
    /// register is in the launch. Else a program works with its registers.
    bool by_xrt = false;
    bool flows = false;    ///< has streams to others
    bool waits = false;    ///< has not ended, which others decide
    bool is_long = false;  ///< its function has computed for long, which was told
    unsigned polls = 0;    ///< since it is to end, and a run began or ended last
  };

  void check_memories() const;
  void spend_on_software(double nanoseconds, const char* kind, std::uint64_t bytes);
  Reply answer_copy(Direction direction, const Message& request);
  void spend_on_transfer(Direction direction, std::uint64_t address, std::uint64_t bytes);
  /// For the list of events: what bounds a transfer, and what a kernel's run moves (bounds.cpp).
  std::string facts_of(Direction direction, std::uint64_t address, std::uint64_t bytes);
  void record_kernel(const Unit& unit, std::uint64_t begin, Time duration,
                     const KernelOutcome& outcome);
  void tell_if_lost(const BufferUse& use);
  Cost cost_of(Direction direction, std::uint64_t address, std::uint64_t bytes);
  Reply copy_with_file(Direction direction, const Message& request);
  Reply import_file(const Message& request);

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
  void tell_next_end();
  void find_deadlock();
  void stop(Unit& unit);
  bool write_copier(std::uint64_t address, std::span<const std::byte> data);
  std::uint32_t status(Unit& unit);
  bool may_end_now(Unit& unit);
  void count_polls_anew();
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
  std::array<std::byte, copier_registers> copier_{};
  using Duration = std::chrono::nanoseconds;
  /// How long all that runs has waited for streams, and the program for that, in real time; since
  /// the program did something.
  Duration stuck_for_{};
  Duration looked_{};  ///< when find_deadlock was called last, in real time

  /// A transfer that XRT hands over in pieces takes as long as in one.
  struct Pieces {
    Direction direction{};
    std::uint64_t next = 0;  ///< address behind the piece before
    std::uint64_t bytes = 0;
    Cost cost;
  } pieces_;

  Dataflow flow_;  // last: runs that it ends use the others
};

}  // namespace isthmus::card::process
