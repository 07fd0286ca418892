// Messages between ranks, which are processes under MPI, threads in tests, or a single process.
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

/// What a rank does at the moment, in the order of blame: if ranks hang, a rank of the first of
/// these values holds up ranks of later values.
enum class Activity : std::uint8_t {
  working,     ///< uses its own device or memory, or checks data
  exchanging,  ///< sends and receives in a timed loop
  waiting,     ///< waits for all other ranks in a collective call
};

/// A group of ranks. Every rank calls the collective functions in the same order. All functions
/// throw BackendError if the layer below, e.g. MPI, reports an error.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  [[nodiscard]] virtual unsigned rank() const noexcept = 0;
  [[nodiscard]] virtual unsigned size() const noexcept = 0;

  /// The collective functions. `all_gather` writes the `own` of each rank to `all`, in the order of
  /// ranks.
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
  /// Begins all these messages in order; cheaper than one call for each.
  virtual void begin_sends(std::span<const Message> messages);
  virtual void begin_receives(std::span<const Message> messages);

  /// Sends or receives one message and waits for its completion. The peer is another rank, and no
  /// other message is under way.
  virtual void send(std::span<const std::byte> data, unsigned to, int tag);
  virtual void receive(std::span<std::byte> data, unsigned from, int tag);

  /// Returns what this rank does at the moment; any thread may call it.
  [[nodiscard]] Activity activity() const noexcept {
    return activity_.load(std::memory_order_relaxed);
  }
  /// Sets the activity of a rank while this object lives, and then restores the previous activity.
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

  /// Returns the values of all ranks, in the order of ranks. Collective.
  template <class Value>
  [[nodiscard]] std::vector<Value> gathered(const Value& own) {
    static_assert(std::is_trivially_copyable_v<Value>);
    std::vector<Value> all(size());
    all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
    return all;
  }
  /// Returns rank 0's value on every rank. Collective.
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

/// Creates a communicator of one rank, which sends messages only to itself.
std::unique_ptr<Communicator> single_process_communicator();

/// Duplicates a communicator of the MPI that this process has initialised. Collective. `handle` is
/// the communicator's handle: an address for Open MPI, otherwise an integer. `vendor` only appears
/// in messages, because the library itself shows which interface it has. Throws BackendError if no
/// initialised MPI is found.
std::unique_ptr<Communicator> mpi_communicator(const std::string& vendor, std::uintptr_t handle);

}  // namespace isthmus
