#include "isthmus/card/process/meter.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace isthmus::card::process {
namespace {

Page* map_page(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat found{};
  if (file < 0 || fstat(file, &found) != 0 || std::cmp_less(found.st_size, sizeof(Page))) {
    if (file >= 0) {
      close(file);
    }
    throw std::runtime_error(path + " is no page for the card's time");
  }
  void* data = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (data == MAP_FAILED) {
    throw std::runtime_error(path + " cannot be mapped");
  }
  auto* page = static_cast<Page*>(data);
  if (page->magic != page_magic || page->version != page_version) {
    munmap(data, sizeof(Page));
    throw std::runtime_error(path + " is no page of this version");
  }
  return page;
}

/// Returns the word by which events name a source of computing time.
const char* name_of(Source source) {
  switch (source) {
    case Source::by_user:
      return "given";
    case Source::estimated:
      return "estimate";
    default:
      return "unknown";
  }
}

/// Returns whether `now` is at or after `end`, although times wrap.
bool reached(std::uint64_t now, std::uint64_t end) {
  return static_cast<std::int64_t>(now - end) >= 0;
}

}  // namespace

Meter::Meter(const Place& place) : computing_file_(place.computing) {
  if (place.page.empty()) {
    own_ = std::make_unique<CardSlot>();
    slot_ = own_.get();
  } else {
    page_ = map_page(place.page);
    take_slot(place);
  }
  if (!place.events.empty()) {
    events_.reset(std::fopen(place.events.c_str(), "we"));
    if (!events_) {
      throw std::runtime_error(place.events + " cannot be written");
    }
    // Each line is written at once, because the process may be killed.
    static_cast<void>(std::setvbuf(events_.get(), nullptr, _IOLBF, BUFSIZ));
    std::fprintf(events_.get(), "# card %u board %s program %u\n", place.card, place.board.c_str(),
                 place.program);
  }
}

Meter::~Meter() {
  if (page_ != nullptr) {
    slot_->state = SlotState::closed;
    munmap(page_, sizeof(Page));
  }
}

/// Takes the slot that this program's card had before, else an unused slot, else any closed slot.
/// The slot keeps its counts, so that sums over all slots stay right.
void Meter::take_slot(const Place& place) {
  const auto claim = [this](CardSlot& slot, SlotState from) {
    slot_ = &slot;
    return slot.state.compare_exchange_strong(from, SlotState::open);
  };
  const auto ours = [&](CardSlot& slot) {
    return slot.program == place.program && slot.card == place.card &&
           claim(slot, SlotState::closed);
  };
  const auto unused = [&](CardSlot& slot) { return claim(slot, SlotState::unused); };
  const auto closed = [&](CardSlot& slot) { return claim(slot, SlotState::closed); };
  if (!std::ranges::any_of(page_->slots, ours) && !std::ranges::any_of(page_->slots, unused) &&
      !std::ranges::any_of(page_->slots, closed)) {
    munmap(page_, sizeof(Page));
    throw std::runtime_error("more than " + std::to_string(most_cards) + " cards are in use");
  }
  slot_->card = place.card;
  slot_->program = place.program;
  slot_->busy = 0;
  slot_->ending = Ending::none;
}

void Meter::spend(const Cost& cost) {
  const Time total = cost.total();
  const std::uint64_t begin = now();
  const std::uint64_t end = begin + static_cast<std::uint64_t>(total);
  // Another thread's call may have counted a part of this call's time. The signed difference is
  // used, because times wrap.
  const auto counted =
      spent_any_ ? std::clamp<Time>(static_cast<Time>(spent_until_ - begin), 0, total) : 0;
  if (!spent_any_ || static_cast<Time>(end - spent_until_) > 0) {
    spent_until_ = end;
  }
  spent_any_ = true;
  Time driver = cost.driver;
  if (counted > 0) {
    const double fresh = static_cast<double>(total - counted) / static_cast<double>(total);
    driver = static_cast<Time>(fresh * static_cast<double>(cost.driver));
  }
  slot_->driver_fs += static_cast<std::uint64_t>(driver);
  slot_->simulated_fs += static_cast<std::uint64_t>(total - counted - driver);
  slot_->elapsed_fs += static_cast<std::uint64_t>(cost.total());
}

void Meter::spend(const Cost& cost, const char* kind, const std::string& name, std::uint64_t bytes,
                  const std::string& more) {
  event(kind, name, now(), cost.total(), bytes, more);
  spend(cost);
}

void Meter::begin_kernel() {
  ++slot_->busy;
  ++slot_->kernels;
}

void Meter::record_kernel(std::uint64_t begin, Time duration, const std::string& name,
                          const KernelOutcome& outcome) {
  const Computing& computing = outcome.computing;
  std::string more;
  if (computing.source != Source::by_model) {
    more = std::string("\t") + name_of(computing.source) + '\t' + std::to_string(outcome.memory) +
           '\t' + std::to_string(computing.time) + '\t' + std::to_string(computing.least);
  }
  if (computing.source == Source::estimated) {
    more += '\t' + std::to_string(computing.most) + '\t' + computing.bound + '\t' +
            std::to_string(computing.first_words);
    for (const LoopChange& change : computing.changes) {
      more += '\t' + change.kind + '\t' + change.name + '\t' + std::to_string(change.count) + '\t' +
              std::to_string(change.saved) + '\t' + std::to_string(change.bytes);
    }
  }
  event("kernel", name, begin, duration, outcome.bytes, more);
  slot_->kernel_fs += static_cast<std::uint64_t>(duration);
  slot_->kernel_bytes += outcome.bytes;
}

void Meter::note_facts(const std::string& instance, const std::string& facts) {
  std::string& last = facts_[instance];
  if (events_ && last != facts) {
    last = facts;
    std::fprintf(events_.get(), "facts\t%s\t%s\n", instance.c_str(), facts.c_str());
  }
}

void Meter::note_computing(const ComputeUnit& unit, const Computing& computing) {
  if (computing_file_.empty() || computing.source == Source::by_model ||
      !noted_.insert(unit.kernel + '\t' + (computing.text.empty() ? "" : "estimate")).second) {
    return;
  }
  const bool is_range = computing.source == Source::by_user && !unit.least_cycles.empty();
  const std::string how = is_range ? "range" : name_of(computing.source);
  const std::string text = computing.source == Source::estimated ? computing.text : unit.computing;
  std::ofstream file(computing_file_, std::ios::app);
  file << unit.kernel + '\t' + how + '\t' + text + '\n' << std::flush;
}

void Meter::note(const ComputeUnit& unit, const std::string& fact) {
  const std::string line = unit.kernel + '\t' + fact;
  if (!computing_file_.empty() && noted_.insert(line).second) {
    std::ofstream file(computing_file_, std::ios::app);
    file << line + '\n' << std::flush;
  }
}

bool Meter::poll(std::uint64_t end) {
  if (reached(now(), end)) {
    return true;
  }
  const bool clock = has_clock();
  if (clock && slot_->alone == 0) {
    return false;
  }
  std::uint64_t rest = end - now();
  if (clock) {
    rest = std::min(rest, slot_->patience_fs.load());
  }
  spend({.simulated = static_cast<Time>(rest), .driver = 0});
  return reached(now(), end);
}

void Meter::event(const char* kind, const std::string& name, std::uint64_t begin, Time duration,
                  std::uint64_t bytes, const std::string& more) {
  if (events_ && std::fprintf(events_.get(), "%s\t%s\t%" PRIu64 "\t%" PRId64 "\t%" PRIu64 "%s\n",
                              kind, name.c_str(), begin, duration, bytes, more.c_str()) < 0) {
    throw std::runtime_error(std::string("the timeline cannot be written: ") +
                             std::strerror(errno));
  }
}

}  // namespace isthmus::card::process
