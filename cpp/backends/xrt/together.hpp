// Starts several operations, such as transfers, and waits for all of them.
#pragma once

#include <exception>
#include <utility>
#include <vector>

namespace isthmus::xrt_native {

/// Starts each of `items` by `start`, which returns an object to wait for; then waits for all. If a
/// start throws, waits for the started items first, because they use their memory.
template <class Items, class Start>
void start_together(Items& items, const Start& start) {
  std::vector<decltype(start(*items.begin()))> started;
  std::exception_ptr failure;
  const auto attempt = [&failure](const auto& action) {
    try {
      action();
    } catch (...) {
      failure = failure ? failure : std::current_exception();
    }
  };
  for (auto& item : items) {
    attempt([&] { started.push_back(start(item)); });
    if (failure) {
      break;
    }
  }
  for (auto& handle : started) {
    attempt([&] { handle.wait(); });
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace isthmus::xrt_native
