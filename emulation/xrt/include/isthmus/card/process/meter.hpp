// Adds up a card's simulated time on the memory page (card_page.hpp), and writes the list of
// events.
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
    std::string page;    ///< file of the memory page; empty: no page
    std::string events;  ///< file for the list of events; empty: no list
    /// File with a line for each kernel whose computing time is unknown or given by the user, and
    /// for the first use of given cycles. Empty: no file.
    std::string computing{};
    std::uint32_t card = 0;
    std::uint32_t program = 0;
    std::string board;
  };

  /// Throws std::runtime_error if the file is no memory page, or the page has no free slot.
  explicit Meter(const Place& place);
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;
  ~Meter();

  /// Returns the program's time in femtoseconds modulo 2^64.
  [[nodiscard]] std::uint64_t now() const {
    return slot_->offset_fs.load() + slot_->elapsed_fs.load();
  }
  /// Returns whether the program's clocks show simulated time.
  [[nodiscard]] bool has_clock() const { return page_ != nullptr && page_->clock != 0; }
  /// Adds the time of a call of the program. Where calls of several threads overlap, `simulated_fs`
  /// and `driver_fs` of the slot count the time once.
  void spend(const Cost& cost);
  /// Adds the time of a call, and lists the call as an event.
  void spend(const Cost& cost, const char* kind, const std::string& name, std::uint64_t bytes,
             const std::string& more = "");

  /// Counts the start of a kernel; call `next_end` before.
  void begin_kernel();
  /// Lists a kernel's run as an event and counts it, as soon as its end is known.
  void record_kernel(std::uint64_t begin, Time duration, const std::string& name,
                     const KernelOutcome& outcome);
  [[nodiscard]] bool lists_events() const { return events_ != nullptr; }
  /// Lists facts about an instance's next runs, unless they are those of its last run.
  void note_facts(const std::string& instance, const std::string& facts);
  /// Notes where the kernel's computing time comes from, for the line at the program's end.
  void note_computing(const ComputeUnit& unit, const Computing& computing);
  /// Notes a further fact for that line, once: "counted" (given cycles have taken time in a run
  /// that has ended) or "unchecked" (depths of streams).
  void note(const ComputeUnit& unit, const std::string& fact);
  /// Sets when the next running kernel ends.
  void next_end(std::uint64_t time) { slot_->done_fs = time; }
  /// Returns whether a kernel that ends at `end` has ended. If nothing else of the program can run,
  /// this advances time up to `end`.
  bool poll(std::uint64_t end);
  /// Counts a kernel whose end the program has seen.
  void end_kernel() { --slot_->busy; }
  /// Returns whether all threads of the program wait, none of them until a deadline.
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

  std::unique_ptr<CardSlot> own_;  ///< the slot if there is no page
  Page* page_ = nullptr;
  CardSlot* slot_ = nullptr;
  std::uint64_t spent_until_ = 0;  ///< latest end of a call; only if `spent_any_`
  bool spent_any_ = false;
  std::unique_ptr<std::FILE, CloseFile> events_;
  std::map<std::string, std::string> facts_;  ///< facts about the last run, by instance
  std::string computing_file_;
  std::set<std::string> noted_;  ///< lines that the file has: a kernel and a fact each
};

}  // namespace isthmus::card::process
