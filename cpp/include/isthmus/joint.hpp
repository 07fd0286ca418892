// Operations that several ranks execute together, and the engine that times them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/communicator.hpp"
#include "isthmus/engine.hpp"

namespace isthmus {

/// Identity of a message, which its sender and its receiver compute alike.
struct MessageName {
  unsigned sender = 0;
  unsigned lane = 0;  ///< 0 or 1: a rank sends two messages at once
  /// Index among the messages of this lane that get separate buffers for verification (arm_fully).
  std::size_t turn = 0;

  /// Returns the message's number, counted from 0 without gaps. It is added to a stamp, and
  /// `seed_of` it to a seed, so that the data of up to 256 messages differ in every byte.
  [[nodiscard]] std::uint64_t label(unsigned ranks) const;
};

/// One rank's part of an operation that all ranks repeat together. It owns its buffers. A rank that
/// fails in `run` continues to communicate until all ranks have finished, and only then throws, so
/// that no rank waits forever.
class JointOperation {
 public:
  JointOperation() = default;
  JointOperation(const JointOperation&) = delete;
  JointOperation& operator=(const JointOperation&) = delete;
  virtual ~JointOperation() = default;

  /// Exchanges information between ranks once, after all ranks have joined. Collective; all ranks
  /// throw the exception of any rank.
  virtual void connect(Communicator& /*communicator*/) {}
  /// Releases resources in an order that ranks must keep, once, at the end. Collective; not called
  /// after an exception.
  virtual void disconnect(Communicator& /*communicator*/) {}
  /// Executes this rank's part `repetitions` times, a number equal on all ranks. Only this call is
  /// timed.
  virtual void run(std::uint64_t repetitions) = 0;
  /// Bytes that this rank sends in one repetition.
  [[nodiscard]] virtual std::uint64_t moved_bytes() const = 0;
  /// These functions mean the same as those of `Operation`.
  [[nodiscard]] virtual std::optional<double> device_seconds() { return std::nullopt; }
  [[nodiscard]] virtual std::int64_t simulated_femtoseconds() const;
  [[nodiscard]] virtual std::vector<std::string> remarks() const { return {}; }
  [[nodiscard]] virtual std::string fault() const { return {}; }
  [[nodiscard]] virtual bool moves_data() const { return true; }

  /// Verification, outside the timed region. `arm_fully` gives each message of the next
  /// `armed_repetitions` a separate buffer and different contents. After `arm`, all messages of a
  /// lane use its first buffer. `seed` and `stamp` are equal on all ranks.
  virtual void arm_fully(std::uint64_t seed);
  [[nodiscard]] virtual bool arrived_fully(std::uint64_t seed);
  virtual void arm(std::uint64_t stamp);
  [[nodiscard]] virtual bool arrived(std::uint64_t stamp);
  [[nodiscard]] virtual std::uint64_t armed_repetitions() const { return 1; }

 protected:
  /// Registers messages of this rank for the verification above; `ranks` is the number of all
  /// ranks.
  void sends(Memory& from, std::size_t bytes, const MessageName& name, unsigned ranks);
  void receives(Memory& to, std::size_t bytes, const MessageName& name, unsigned ranks);
  /// Returns whether the next repetitions use separate buffers, after `arm_fully`.
  [[nodiscard]] bool fully_armed() const { return fully_armed_; }

 private:
  struct NamedMessage {
    Memory* memory;
    std::size_t bytes;
    std::uint64_t label;
    bool first_turn;
  };
  static NamedMessage named(Memory& memory, std::size_t bytes, const MessageName& name,
                            unsigned ranks);

  std::vector<NamedMessage> sent_;
  std::vector<NamedMessage> received_;
  bool fully_armed_ = false;
};

/// A series of one joint operation, which all ranks measure together.
///
/// A sample is the time of a loop of `Block::batch` repetitions after a barrier. Part 0 of the
/// block has the slowest rank's time and the sum of bytes sent. Part 1 + r has rank r's time and
/// the bytes that it sends. Rank 0 decides the length of the loop and the end of the series.
///
/// `measure` is collective, and takes about rank 0's `most_seconds`. All ranks get the same block.
/// All ranks throw the exception of any rank, with that rank's name.
class JointSeries final : public VisitedSeries<JointOperation> {
 public:
  JointSeries(Device& device, OperationSpec spec, const SeriesOptions& options,
              Communicator& communicator);

 private:
  /// One rank's times of one loop.
  struct Share {
    double seconds = 0;
    double device_seconds = -1;  ///< negative without a device clock
    std::int64_t simulated_fs = 0;
    bool failed = false;
  };

  std::unique_ptr<JointOperation> open(Block& block) override;
  /// Calls `arm`, waits for all ranks, runs the operation, then calls `check`. Collective; an
  /// exception of any rank is thrown on all.
  template <class Arm, class Check>
  std::vector<Share> round(JointOperation& operation, std::uint64_t repetitions, const Arm& arm,
                           const Check& check);
  std::vector<Share> verified_round(JointOperation& operation, Block& block, const char* when);
  void sample_simulated(JointOperation& operation, Block& block) override;
  void verify(JointOperation& operation, Block& block, const char* when, bool keep_cold) override;
  [[nodiscard]] std::uint64_t calibrated(JointOperation& operation) override;
  void sample_once(JointOperation& operation, Block& block) override;
  [[nodiscard]] bool goes_on(const Progress::Visit& visit) override;
  [[nodiscard]] double agreed(double seconds) override;
  void close(JointOperation& operation, Block& block) override;
  [[nodiscard]] std::uint64_t next_stamp();

  Communicator* communicator_;
  double seconds_per_tick_;  // scale of rank 0's clock, whose ticks a block counts
  std::uint64_t stamp_;      // the same on all ranks
  bool moves_ = true;        // whether all ranks keep data to verify; else nothing is verified
};

}  // namespace isthmus
