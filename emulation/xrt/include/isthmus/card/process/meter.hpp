// Keeps a card's simulated time on the page that the program shares, and the list of events.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "isthmus/card/process/description.hpp"
#include "isthmus/card/process/outcome.hpp"
#include "isthmus/card/process/timing.hpp"
#include "isthmus/card_page.hpp"

namespace isthmus::card::process {

class Meter {
 public:
  struct Place {
    std::string page;    ///< file of the page; empty: no page
    std::string events;  ///< file of the list of events; empty: no list
    /// File to which the meter appends a line for each kernel whose computing time is unknown or
    /// given by the user, and a line when given cycles are first counted. Empty: no file.
    std::string computing{};
    std::uint32_t card = 0;
    std::uint32_t program = 0;
    std::string board;
  };

  /// Throws std::runtime_error for a file that is no page, or a page without a free slot.
  explicit Meter(const Place& place);
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;
  ~Meter();

  /// Returns the program's time in femtoseconds, modulo 2^64.
  [[nodiscard]] std::uint64_t now() const {
    return slot_->offset_fs.load() + slot_->elapsed_fs.load();
  }
  /// Whether the program's clocks show that time.
  [[nodiscard]] bool has_clock() const { return page_ != nullptr && page_->clock != 0; }
  /// Adds the time of a call of the program. Time in which several threads are in calls counts once
  /// in the slot's `simulated_fs` and `driver_fs`.
  void spend(const Cost& cost);
  /// Adds the time, and an entry to the list of events.
  void spend(const Cost& cost, const char* kind, const std::string& name, std::uint64_t bytes,
             const std::string& more = "");

  /// Counts the start of a kernel. Call `next_end` before.
  void begin_kernel();
  /// Lists and counts a kernel's run, as soon as the run's end is known.
  void record_kernel(std::uint64_t begin, Time duration, const std::string& name,
                     const KernelOutcome& outcome);
  [[nodiscard]] bool lists_events() const { return events_ != nullptr; }
  /// Lists the facts of an instance's next runs, if they differ from those of its last run.
  void note_facts(const std::string& instance, const std::string& facts);
  /// Notes the source of the kernel's computing time, for the line at the program's end.
  void note_computing(const ComputeUnit& unit, const Computing& computing);
  /// Notes a further fact of the kernel for that line, once: "counted" (a run has returned, and the
  /// cycles that are given for it have taken time), "unchecked" (depths of its streams).
  void note(const ComputeUnit& unit, const std::string& fact);
  /// Sets the time of the next end of a running kernel.
  void next_end(std::uint64_t time) { slot_->done_fs = time; }
  /// Returns whether a kernel that ends at `end` is done. If nothing else of the program can run,
  /// time advances up to `end`.
  bool poll(std::uint64_t end);
  /// Counts a kernel's end as seen by the program.
  void end_kernel() { --slot_->busy; }
  /// Whether all threads of the program wait, none of them until a deadline.
  [[nodiscard]] bool is_program_stuck() const { return has_clock() && slot_->stuck != 0; }

  [[nodiscard]] Ending ending() const { return slot_->ending; }

  [[nodiscard]] CardSlot& slot() { return *slot_; }

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void take_slot(const Place& place);
  void event(const char* kind, const std::string& name, std::uint64_t begin, Time duration,
             std::uint64_t bytes, const std::string& more = "");

  std::unique_ptr<CardSlot> own_;  ///< the slot, if there is no page
  Page* page_ = nullptr;
  CardSlot* slot_ = nullptr;
  std::uint64_t spent_until_ = 0;  ///< latest end of a call, if `spent_any_`
  bool spent_any_ = false;
  std::unique_ptr<std::FILE, CloseFile> events_;
  std::map<std::string, std::string> facts_;  ///< last facts of each instance
  std::string computing_file_;
  std::set<std::string> noted_;  ///< kernels and facts that have a line in that file
};

}  // namespace isthmus::card::process
