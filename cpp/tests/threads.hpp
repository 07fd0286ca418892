// Ranks that are threads of the test: a communicator with mailboxes, which can spoil messages on
// demand, and a function that runs an action on all ranks.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/communicator.hpp"

/// State that all ranks share. A message is kept until it is received, as with eager messages.
class World {
 public:
  using Bytes = std::vector<std::byte>;
  struct Post {
    unsigned from;
    unsigned to;
    int tag;
    Bytes data;
  };
  /// Gets every message before delivery, numbered from 0 for each sender, and may change it.
  using Fault = std::function<void(std::uint64_t number, Post& post)>;

  explicit World(unsigned ranks, Fault fault = nullptr)
      : boards_(ranks), fault_(std::move(fault)), numbers_(ranks) {}

  [[nodiscard]] unsigned ranks() const { return static_cast<unsigned>(boards_.size()); }

  void post(Post post) {
    const std::scoped_lock lock(mutex_);
    if (fault_) {
      fault_(numbers_[post.from]++, post);
    }
    mail_[{post.from, post.to, post.tag}].push_back(std::move(post.data));
    changed_.notify_all();
  }
  Bytes take(unsigned from, unsigned to, int tag) {
    std::unique_lock lock(mutex_);
    std::deque<Bytes>& box = mail_[{from, to, tag}];
    wait(lock, [&] { return !box.empty(); });
    Bytes data = std::move(box.front());
    box.pop_front();
    return data;
  }

  /// The data of every rank, once all ranks have called it.
  std::vector<Bytes> gathered(unsigned rank, std::span<const std::byte> own) {
    std::unique_lock lock(mutex_);
    boards_[rank].assign(own.begin(), own.end());
    const std::uint64_t round = round_;
    if (++present_ == boards_.size()) {
      present_ = 0;
      ++round_;
      gathered_ = boards_;
      changed_.notify_all();
    } else {
      wait(lock, [&] { return round_ != round; });
    }
    return gathered_;
  }

  /// A rank ended with an error: ranks that wait for it must stop.
  void give_up() {
    const std::scoped_lock lock(mutex_);
    given_up_ = true;
    changed_.notify_all();
  }

 private:
  template <class Condition>
  void wait(std::unique_lock<std::mutex>& lock, const Condition& condition) {
    changed_.wait(lock, [&] { return given_up_ || condition(); });
    if (!condition()) {
      throw std::runtime_error("another rank is gone");
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::tuple<unsigned, unsigned, int>, std::deque<Bytes>> mail_;
  std::vector<Bytes> boards_;
  std::vector<Bytes> gathered_;
  std::size_t present_ = 0;
  std::uint64_t round_ = 0;
  bool given_up_ = false;
  Fault fault_;
  std::vector<std::uint64_t> numbers_;
};

class ThreadCommunicator final : public isthmus::Communicator {
 public:
  ThreadCommunicator(World& world, unsigned rank) : world_(&world), rank_(rank) {}

  [[nodiscard]] unsigned rank() const noexcept override { return rank_; }
  [[nodiscard]] unsigned size() const noexcept override { return world_->ranks(); }
  void begin_send(std::span<const std::byte> data, unsigned to, int tag) override {
    world_->post({rank_, to, tag, {data.begin(), data.end()}});
  }
  void begin_receive(std::span<std::byte> data, unsigned from, int tag) override {
    awaited_.push_back({data, from, tag});
  }
  void wait_all() override {
    for (const Awaited& awaited : awaited_) {
      const World::Bytes data = world_->take(awaited.from, rank_, awaited.tag);
      if (data.size() > awaited.data.size()) {
        throw isthmus::BackendError("a message is longer than its receive");
      }
      // Not ranges::copy, which copies single bytes in g++ 12 without optimisation.
      std::copy_n(data.begin(), data.size(), awaited.data.begin());
    }
    awaited_.clear();
  }

 protected:
  void meet() override { world_->gathered(rank_, {}); }
  void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    auto to = all.begin();
    for (const World::Bytes& bytes : world_->gathered(rank_, own)) {
      to = std::ranges::copy(bytes, to).out;
    }
  }
  void spread(std::span<std::byte> data, unsigned root) override {
    std::ranges::copy(world_->gathered(rank_, data)[root], data.begin());
  }

 private:
  struct Awaited {
    std::span<std::byte> data;
    unsigned from;
    int tag;
  };
  World* world_;
  unsigned rank_;
  std::vector<Awaited> awaited_;
};

/// Runs `action(communicator)` on every rank, and throws the error of the first rank that failed.
inline void on_all_ranks(World& world, const std::function<void(isthmus::Communicator&)>& action) {
  std::vector<std::exception_ptr> errors(world.ranks());
  std::vector<std::thread> threads;
  threads.reserve(world.ranks());
  for (unsigned rank = 0; rank < world.ranks(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        ThreadCommunicator communicator(world, rank);
        action(communicator);
      } catch (...) {
        errors[rank] = std::current_exception();
        world.give_up();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::exception_ptr& error : errors) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
}
