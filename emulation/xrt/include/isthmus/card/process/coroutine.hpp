// A function that can pause, and go on later.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace isthmus::card::process {

/// Runs a function on a separate thread. The caller of `resume` waits until the function pauses or
/// ends, so the two threads never run at the same time.
class Coroutine {
 public:
  explicit Coroutine(std::function<void()> body);
  Coroutine(const Coroutine&) = delete;
  Coroutine& operator=(const Coroutine&) = delete;
  /// The function must have ended.
  ~Coroutine();

  /// Runs the function until it pauses or ends; throws its exception.
  void resume();
  /// Pauses the function; called by the function. Returns when the function is resumed.
  void pause();
  [[nodiscard]] bool has_ended() const { return ended_; }

 private:
  enum class Turn : std::uint8_t { caller, function };
  void give(Turn turn);
  void await(Turn turn);

  std::mutex mutex_;
  std::condition_variable changed_;
  Turn turn_ = Turn::caller;
  bool ended_ = false;
  std::exception_ptr thrown_;
  std::thread thread_;
};

}  // namespace isthmus::card::process
