#include "isthmus/card/process/coroutine.hpp"

#include <utility>

namespace isthmus::card::process {

Coroutine::Coroutine(std::function<void()> body)
    : thread_([this, body = std::move(body)] {
        await(Turn::function);
        try {
          body();
        } catch (...) {
          thrown_ = std::current_exception();
        }
        ended_ = true;
        give(Turn::caller);
      }) {}

Coroutine::~Coroutine() { thread_.join(); }

void Coroutine::give(Turn turn) {
  const std::scoped_lock lock(mutex_);
  turn_ = turn;
  changed_.notify_all();
}

void Coroutine::await(Turn turn) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this, turn] { return turn_ == turn; });
}

void Coroutine::resume() {
  give(Turn::function);
  await(Turn::caller);
  if (thrown_) {
    std::rethrow_exception(std::exchange(thrown_, nullptr));
  }
}

void Coroutine::pause() {
  give(Turn::caller);
  await(Turn::function);
}

}  // namespace isthmus::card::process
