// Stands in for AMD's header of the name, where that is not there: functions that run for ever
// beside the one that made them, and wait for their streams. One of them runs at a time, until it
// waits: all this is one thread, and the same each time.
#pragma once

#include "isthmus_standard.h"

#include <memory>
#include <tuple>
#include <utility>

#include "isthmus_turns.h"

#define hls_thread_local static

namespace hls {

/// `function(arguments...)`, again and again; references lead to what was there first.
class task {
 public:
  task() = default;
  template <class Result, class... Types, class... Given>
  task(Result (*function)(Types...), Given&&... given) {
    (*this)(function, std::forward<Given>(given)...);
  }
  /// Begins it, where that is not yet done.
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
