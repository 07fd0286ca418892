#include "commands.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <ranges>
#include <utility>

#include "clock.hpp"

namespace isthmus::shim {
namespace {

using card::process::ap_done;
using card::process::ap_idle;
using card::process::ap_start;

void set_state(const Command& command, std::uint32_t state) {
  if (command.header == nullptr) {
    return;
  }
  __atomic_store_n(command.header, (*command.header & ~state_mask) | state, __ATOMIC_RELEASE);
}

std::uint64_t later(std::uint64_t time, std::optional<std::uint64_t> other) {
  return other && is_before(time, *other) ? *other : time;
}

}  // namespace

void Commands::submit(Command command) {
  if (!packets_.insert(command.header).second) {
    const auto detach = [&command](Command& older) {
      if (older.header == command.header) {
        older.header = nullptr;
      }
    };
    for (auto& queue : queues_ | std::views::values) {
      std::ranges::for_each(queue, detach);
    }
    std::ranges::for_each(running_ | std::views::values, detach);
  }
  command.number = ++submitted_;
  device_->order().begin();
  std::deque<Command>& queue = queues_[command.units];
  queue.push_back(std::move(command));
}

void Commands::complete(Command& command) {
  ++ended_;
  device_->order().end(command.number);
  set_state(command, state_completed);
  packets_.erase(command.header);
}

std::optional<Commands::StartOfNext> Commands::start_of_next() {
  if (running_.size() == units_->size()) {
    return std::nullopt;
  }
  std::optional<StartOfNext> first;
  std::uint64_t number = ~std::uint64_t{0};
  for (auto queue = queues_.begin(); queue != queues_.end(); ++queue) {
    const auto& [units, commands] = *queue;
    const auto unit =
        std::ranges::find_if(units, [this](std::size_t each) { return is_idle(each); });
    const Command& command = commands.front();
    if (unit == units.end() || command.number > number) {
      continue;
    }
    number = command.number;
    first = {.time = later(later(command.submitted, last_start_), free_since_[*unit]),
             .queue = queue,
             .unit = *unit};
  }
  return first;
}

std::optional<std::uint64_t> Commands::next() {
  std::optional<std::uint64_t> first;
  if (const auto start = start_of_next()) {
    first = start->time;
  }
  for (const auto& [unit, command] : running_) {
    const auto end = device_->end_of((*units_)[unit]);
    if (end && (!first || is_before(*end, *first))) {
      first = end;
    }
  }
  return first;
}

void Commands::start(const StartOfNext& next) {
  std::deque<Command>& queue = next.queue->second;
  Command command = std::move(queue.front());
  queue.pop_front();
  if (queue.empty()) {
    queues_.erase(next.queue);
  }
  set_now(next.time);
  meter_->slot().waited_fs = next.time - command.submitted;
  std::memcpy(command.registers.data(), &ap_start, sizeof ap_start);
  set_state(command, state_running);
  device_->begin_call();
  device_->note_start((*units_)[next.unit], command.start, clock::is_mistaken(command.start),
                      command.number);
  device_->write_registers((*units_)[next.unit], command.registers);
  last_start_ = meter_->now();
  running_.emplace(next.unit, std::move(command));
}

/// Ends a unit's command at the card's time, if the unit's status says that the kernel has ended.
void Commands::end(std::size_t unit) {
  std::array<std::byte, sizeof(std::uint32_t)> status{};
  device_->read_registers((*units_)[unit], status);
  if ((std::to_integer<std::uint32_t>(status.front()) & (ap_done | ap_idle)) == 0) {
    return;
  }
  const auto found = running_.find(unit);
  free_since_[unit] = meter_->now();
  complete(found->second);
  running_.erase(found);
}

void Commands::advance(std::uint64_t time, std::optional<std::uint64_t> waits) {
  for (auto now = next(); now && !is_before(time, *now); now = next()) {
    const auto start_now = start_of_next();
    if (start_now && start_now->time == *now) {
      start(*start_now);
      continue;
    }
    for (const auto& [unit, command] : running_) {
      if (device_->end_of((*units_)[unit]) == *now) {
        // The thread's call takes the time of its wait, without the start's time, which was counted
        // before.
        const std::uint64_t since = waits ? later(*waits, last_start_) : *now;
        set_now(is_before(since, *now) ? since : *now);
        meter_->slot().alone = 1;
        meter_->slot().patience_fs = *now - meter_->now();
        end(unit);
        waits = waits ? now : waits;
        break;
      }
    }
  }
}

void Commands::look() {
  std::vector<std::size_t> units;
  for (const auto& [unit, command] : running_) {
    if (!device_->end_of((*units_)[unit])) {
      units.push_back(unit);
    }
  }
  std::ranges::for_each(units, [this](std::size_t unit) { end(unit); });
}

}  // namespace isthmus::shim
