// How ranks talk: one process each under MPI, threads in tests, or one rank alone.
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

/// What a rank is at. Where several hang, those that are at the first of these keep the others.
enum class Activity : std::uint8_t {
  working,     ///< at something of its own: its device, memory, a check
  exchanging,  ///< in a timed loop, where its messages are
  waiting,     ///< for all others, in a collective
};

/// Ranks that work together. Every rank calls the collective functions in the same order. All throw
/// BackendError for what the layer below refuses.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  [[nodiscard]] virtual unsigned rank() const noexcept = 0;
  [[nodiscard]] virtual unsigned size() const noexcept = 0;

  /// Collective. `all` has room for `own` of every rank, in their order.
  void barrier();
  void all_gather(std::span<const std::byte> own, std::span<std::byte> all);
  void broadcast(std::span<std::byte> data, unsigned root);

  /// Messages between two ranks with one tag arrive in the order in which they were begun, each in
  /// a receive of its own size. What was begun is complete, and its memory free, when `wait_all`
  /// returns, or when anything of these throws.
  virtual void begin_send(std::span<const std::byte> data, unsigned to, int tag) = 0;
  virtual void begin_receive(std::span<std::byte> data, unsigned from, int tag) = 0;
  virtual void wait_all() = 0;

  /// A message as one of its two ranks has it.
  struct Message {
    std::span<std::byte> data;
    unsigned peer = 0;
    int tag = 0;
  };
  /// The same for many at once, in their order: where each costs little, so does beginning it.
  virtual void begin_sends(std::span<const Message> messages);
  virtual void begin_receives(std::span<const Message> messages);

  /// One message, waited for; not to oneself, and not while others are begun.
  virtual void send(std::span<const std::byte> data, unsigned to, int tag);
  virtual void receive(std::span<std::byte> data, unsigned from, int tag);

  /// What the calling rank is at now; may be asked from another thread.
  [[nodiscard]] Activity activity() const noexcept {
    return activity_.load(std::memory_order_relaxed);
  }
  /// Says what it is at, until its end.
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

  /// The value of every rank, in their order. Collective.
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
  /// The collective functions.
  virtual void meet() = 0;
  virtual void gather(std::span<const std::byte> own, std::span<std::byte> all) = 0;
  virtual void spread(std::span<std::byte> data, unsigned root) = 0;

 private:
  std::atomic<Activity> activity_ = Activity::working;
};

/// One rank that can only talk to itself.
std::unique_ptr<Communicator> single_process_communicator();

/// A duplicate of a communicator of the MPI that this process has loaded and initialised.
/// Collective over it. `vendor` is said in messages; the library itself tells whose handles it has:
/// those of Open MPI, or those that MPICH and its descendants share. `handle` is the handle's
/// value, an address with the one and an integer with the others. Throws BackendError without such
/// an MPI.
std::unique_ptr<Communicator> mpi_communicator(const std::string& vendor, std::uintptr_t handle);

}  // namespace isthmus
