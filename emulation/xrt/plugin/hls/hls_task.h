// Replaces AMD's header of this name, if that is absent: functions that run for
// ever beside the function that made them, and wait for their streams. All run in one thread, each
// until it waits, so the order is always the same.
#pragma once

#include "isthmus_standard.h"

#include <memory>
#include <tuple>
#include <utility>

#include "isthmus_turns.h"

#define hls_thread_local static

namespace hls {

/// Calls `function(arguments...)` again and again; references stay bound to the first objects.
class task {
 public:
  task() = default;
  template <class Result, class... Types, class... Given>
  task(Result (*function)(Types...), Given&&... given) {
    (*this)(function, std::forward<Given>(given)...);
  }
  /// Begins the task if it has not begun.
  template <class Result, class... Types, class... Given>
  void operator()(Result (*function)(Types...), Given&&... given) {
    if (turns_ == nullptr) {
      using Arguments = std::tuple<Types...>;
      auto arguments = std::make_shared<Arguments>(std::forward<Given>(given)...);
      turns_ = std::make_unique<isthmus_turns>(
          [function, arguments] { std::apply(function, *arguments); });
    }
  }

 private:
  std::unique_ptr<isthmus_turns> turns_;
};

}  // namespace hls
