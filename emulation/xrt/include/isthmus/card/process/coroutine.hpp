// A function that can stop within and go on later.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace isthmus::card::process {

/// Runs a function on a thread of its own, of which it is always known who runs: whoever resumes it
/// waits until it pauses or ends. So nothing of it happens at the same time as anything else.
class Coroutine {
 public:
  explicit Coroutine(std::function<void()> body);
  Coroutine(const Coroutine&) = delete;
  Coroutine& operator=(const Coroutine&) = delete;
  /// It must have ended.
  ~Coroutine();

  /// Lets it run until it pauses or ends; throws what it threw.
  void resume();
  /// Called by the function itself: returns when it is resumed.
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
