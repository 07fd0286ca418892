// A function that can pause and be resumed, on a thread of its own.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace isthmus::card::process {

/// Runs a function on a thread. While `resume` waits for the function to pause or end, its caller
/// stands still, so the two threads never run at the same time.
class Coroutine {
 public:
  explicit Coroutine(std::function<void()> body);
  Coroutine(const Coroutine&) = delete;
  Coroutine& operator=(const Coroutine&) = delete;
  /// Requires that the function has ended.
  ~Coroutine();

  /// Runs the function until it pauses or ends; throws what the function throws.
  void resume();
  /// Pauses the function, which calls this, until the next `resume`.
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
