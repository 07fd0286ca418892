// Communication between ranks: processes under MPI, threads in tests, or a single process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace isthmus {

/// Present activity of a rank. If ranks hang, those with the first of these values block the
/// others.
enum class Activity : std::uint8_t {
  working,     ///< with its own device or memory, or checking data
  exchanging,  ///< sending and receiving in a timed loop
  waiting,     ///< for all other ranks, in a collective
};

/// A group of ranks. Every rank calls the collective functions in the same order. All functions
/// throw BackendError for errors of the layer below.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  [[nodiscard]] virtual unsigned rank() const noexcept = 0;
  [[nodiscard]] virtual unsigned size() const noexcept = 0;

  /// Collective. `all` has room for `own` of every rank, in the order of ranks.
  void barrier();
  void all_gather(std::span<const std::byte> own, std::span<std::byte> all);
  void broadcast(std::span<std::byte> data, unsigned root);

  /// Messages between two ranks with the same tag arrive in the order in which they were begun,
  /// each in a receive of the same size. All begun messages are complete, and their memory may be
  /// reused, when `wait_all` returns, or when any of these functions throws.
  virtual void begin_send(std::span<const std::byte> data, unsigned to, int tag) = 0;
  virtual void begin_receive(std::span<std::byte> data, unsigned from, int tag) = 0;
  virtual void wait_all() = 0;

  /// A message from the view of one of its two ranks.
  struct Message {
    std::span<std::byte> data;
    unsigned peer = 0;
    int tag = 0;
  };
  /// Begins many messages in order, with little overhead for each.
  virtual void begin_sends(std::span<const Message> messages);
  virtual void begin_receives(std::span<const Message> messages);

  /// Sends or receives one message and blocks; not to the same rank, and not while other messages
  /// are begun.
  virtual void send(std::span<const std::byte> data, unsigned to, int tag);
  virtual void receive(std::span<std::byte> data, unsigned from, int tag);

  /// Present activity of this rank; may be called from another thread.
  [[nodiscard]] Activity activity() const noexcept {
    return activity_.load(std::memory_order_relaxed);
  }
  /// Sets the activity of a rank for the lifetime of this object.
  class Doing {
   public:
    Doing(Communicator& communicator, Activity activity) noexcept
        : now_(&communicator.activity_), before_(communicator.activity()) {
      now_->store(activity, std::memory_order_relaxed);
    }
    Doing(const Doing&) = delete;
    Doing& operator=(const Doing&) = delete;
    ~Doing() { now_->store(before_, std::memory_order_relaxed); }

   private:
    std::atomic<Activity>* now_;
    Activity before_;
  };

  /// The value of every rank, in the order of ranks. Collective.
  template <class Value>
  [[nodiscard]] std::vector<Value> gathered(const Value& own) {
    static_assert(std::is_trivially_copyable_v<Value>);
    std::vector<Value> all(size());
    all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
    return all;
  }
  /// Rank 0's value. Collective.
  template <class Value>
  [[nodiscard]] Value agreed(Value value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    broadcast(std::as_writable_bytes(std::span(&value, 1)), 0);
    return value;
  }

 protected:
  /// Implementation of the collective functions.
  virtual void meet() = 0;
  virtual void gather(std::span<const std::byte> own, std::span<std::byte> all) = 0;
  virtual void spread(std::span<std::byte> data, unsigned root) = 0;

 private:
  std::atomic<Activity> activity_ = Activity::working;
};

/// A communicator of a single rank, which sends only to itself.
std::unique_ptr<Communicator> single_process_communicator();

/// A duplicate of a communicator of this process's initialised MPI. Collective. `vendor` is for
/// messages; the library itself shows whether it uses handles of Open MPI or of MPICH. `handle` is
/// the value of the handle: an address for Open MPI, otherwise an integer. Throws BackendError
/// without such an MPI.
std::unique_ptr<Communicator> mpi_communicator(const std::string& vendor, std::uintptr_t handle);

}  // namespace isthmus
