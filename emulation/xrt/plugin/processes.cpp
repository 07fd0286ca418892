#include "processes.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "hls/isthmus_turns.h"
#include "isthmus/card/loop_counts.hpp"

namespace isthmus::card::plugin {
namespace {

using hls::isthmus_fifo;
using hls::isthmus_turns;

/// A stream that was full when no process of the region could go on.
struct Stop {
  std::string name;
  std::size_t depth = 0;
  std::string writer;
  std::string others;  ///< what the other processes waited for
};

/// Whether a region has stood still. Pipelines then hold no more words, so that the depth in the
/// warning suffices on any board.
bool has_stopped = false;

std::size_t stages() { return has_stopped ? 0 : Phases::stages(); }

/// Full streams of regions that still run.
std::map<isthmus_fifo*, Stop> open_stops;
/// Warnings about regions that have ended.
std::vector<std::string> texts;

/// Returns the full stream for which a process, or the first word in its pipeline, waits; else
/// null.
isthmus_fifo* full_stream(isthmus_turns& process) {
  if (process.pipeline().held != 0) {
    return process.pipeline().first.fifo;
  }
  return !process.is_done() && process.waits().for_room ? process.waits().fifo : nullptr;
}

/// Returns a text like "join (line 9) waits for a word of b".
std::string what_waits(isthmus_turns& process) {
  const std::string begin = process.process() + " waits for ";
  const hls::isthmus_wait& waits = process.waits();
  if (const isthmus_fifo* const full = full_stream(process)) {
    return begin + "room in " + full->name;
  }
  if (waits.fifo != nullptr) {
    return begin + "a word of " + waits.fifo->name;
  }
  return begin + (waits.outside != nullptr ? "another kernel" : "a process before it");
}

std::string what_all_wait(const std::vector<isthmus_turns*>& there, const isthmus_turns* but) {
  std::string all;
  for (isthmus_turns* const one : there) {
    if (one != but && !one->process().empty() && !one->is_done()) {
      all += (all.empty() ? "" : ", ") + what_waits(*one);
    }
  }
  return all;
}

/// Call it when no process can go on: lengthens the shortest of the full streams by a word. Returns
/// whether a stream was full.
bool relieve(const std::vector<isthmus_turns*>& there) {
  const auto is_full = [](isthmus_turns* one) { return full_stream(*one) != nullptr; };
  std::vector<isthmus_turns*> writers;
  std::ranges::copy_if(there, std::back_inserter(writers), is_full);
  if (writers.empty()) {
    return false;
  }
  const auto order = [&](isthmus_turns* one) {
    const isthmus_fifo& fifo = *full_stream(*one);
    const bool reader_waits_for_room = std::ranges::any_of(
        writers, [&](isthmus_turns* other) { return &other->pipeline() == fifo.reader; });
    return std::pair(reader_waits_for_room, fifo.limit);
  };
  isthmus_turns& found = **std::ranges::min_element(writers, {}, order);
  isthmus_fifo& fifo = *full_stream(found);
  const auto [stop, is_first] = open_stops.try_emplace(&fifo);
  if (is_first) {
    stop->second.name = fifo.name;
    stop->second.depth = fifo.depth;
    stop->second.writer = found.process();
    stop->second.others = what_all_wait(there, &found);
  }
  has_stopped = true;
  for (isthmus_turns* const one : there) {
    one->pipeline().stages = 0;
  }
  ++fifo.limit;
  found.pipeline().advance();
  return true;
}

/// Returns a text like "variable=c depth=1021 (line 14)", with a depth that suffices for the
/// stream.
std::string sufficient(const isthmus_fifo& fifo) {
  return "variable=" + fifo.name.substr(0, fifo.name.find('[')) +
         " depth=" + std::to_string(fifo.most) + " (line " + std::to_string(fifo.line) + ')';
}

/// Makes the texts of warnings about a region that ends, while its streams still exist.
void close_stops() {
  for (const auto& [fifo, stop] : open_stops) {
    std::string text = "stands still on a board: stream " + stop.name + " is full with " +
                       std::to_string(stop.depth) + " words, and " + stop.writer +
                       " waits for room in it; " + stop.others + ". #pragma HLS STREAM " +
                       sufficient(*fifo) + " lets it go on";
    for (const auto& [other, _] : open_stops) {
      text += other != fifo ? ", with " + sufficient(*other) : "";
    }
    if (std::ranges::find(texts, text) == texts.end()) {
      texts.push_back(text);
    }
  }
  open_stops.clear();
  has_stopped = false;
}

}  // namespace

std::vector<std::string> take_stops() { return std::exchange(texts, {}); }

}  // namespace isthmus::card::plugin

struct isthmus_region::Processes {
  struct One {
    std::unique_ptr<isthmus::card::plugin::Trail> trail;
    std::unique_ptr<hls::isthmus_turns> turns;
  };
  std::deque<One> all;

  [[nodiscard]] bool are_done(const std::vector<unsigned>& which) const {
    return std::ranges::all_of(which, [this](unsigned n) { return all[n].turns->is_done(); });
  }
};

isthmus_region::isthmus_region() : processes_(std::make_unique<Processes>()) {
  hls::isthmus_relieve = &isthmus::card::plugin::relieve;
  hls::isthmus_stages = &isthmus::card::plugin::stages;
}
isthmus_region::~isthmus_region() = default;

namespace {

/// Lets other functions run until these processes have ended. Throws std::runtime_error if they
/// never do.
void wait_for(const isthmus_region::Processes& processes, std::vector<unsigned> which) {
  struct Wanted {
    const isthmus_region::Processes* processes;
    std::vector<unsigned> which;
  };
  const Wanted wanted{&processes, std::move(which)};
  const auto are_done = [](const void* what) {
    const auto& all = *static_cast<const Wanted*>(what);
    return all.processes->are_done(all.which);
  };
  if (!are_done(&wanted) && !hls::isthmus_turns::others().run_until({are_done, &wanted}, true)) {
    std::vector<hls::isthmus_turns*> there;
    there.reserve(processes.all.size());
    for (const auto& one : processes.all) {
      there.push_back(one.turns.get());
    }
    throw std::runtime_error("processes of a DATAFLOW region wait for one another: " +
                             isthmus::card::plugin::what_all_wait(there, nullptr));
  }
}

/// Begins a process, whose loops count in `trail`; it waits until the processes `after` have ended.
void begin(isthmus_region::Processes& processes,
           std::unique_ptr<isthmus::card::plugin::Trail> trail, const char* name,
           std::vector<unsigned> after, std::function<void()> does) {
  isthmus_region::Processes::One& one = processes.all.emplace_back();
  one.trail = std::move(trail);
  one.turns = std::make_unique<hls::isthmus_turns>(
      [&processes, &one, after = std::move(after), does = std::move(does)] {
        hls::isthmus_trail = one.trail.get();
        wait_for(processes, after);
        does();
        hls::isthmus_turns::empty_pipeline();
      },
      name);
  one.turns->go_on();
}

}  // namespace

void isthmus_region::process(unsigned number, const char* name,
                             std::initializer_list<unsigned> after, std::function<void()> does) {
  begin(*processes_, isthmus::card::plugin::begin_process(number), name, after, std::move(does));
}

void isthmus_region::copy(const char* name, std::function<void()> does) {
  using isthmus::card::plugin::Trail;
  begin(*processes_, std::make_unique<Trail>(*static_cast<const Trail*>(hls::isthmus_trail)), name,
        {}, std::move(does));
}

void isthmus_region::join() {
  std::vector<unsigned> all(processes_->all.size());
  std::iota(all.begin(), all.end(), 0U);
  wait_for(*processes_, std::move(all));
  processes_->all.clear();
}

void isthmus_region::wait(std::initializer_list<unsigned> after) { wait_for(*processes_, after); }

void isthmus_region::finish() {
  join();
  isthmus::card::plugin::close_stops();
  isthmus::card::plugin::end_region();
}
