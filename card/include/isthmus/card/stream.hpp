// Simulates long sequential accesses to host memory, across the link, and to card memory.
#pragma once

#include <cstdint>
#include <vector>

#include "isthmus/card/event.hpp"
#include "isthmus/card/host.hpp"
#include "isthmus/card/link.hpp"

namespace isthmus::card {

class Stream;

/// What streams share: time, link, host memory, and the credits that the host grants.
struct Crossing {
  Crossing(const Board& board, std::uint64_t seed);

  void reset(std::uint64_t sample);
  /// Lets streams go on that wait for credits.
  void credits_came() const;

  Simulator simulator;
  Link link;
  HostMemory host;
  Credits posted_data;
  Credits posted_headers;
  Credits nonposted_headers;
  std::vector<Stream*> streams;  ///< index: the stream's id
  /// The stream that has just issued the last packet of a segment.
  const Stream* at_boundary = nullptr;
};

/// The work of a stream.
struct StreamPlan {
  std::int64_t bytes = 0;
  std::int64_t address = 0;  ///< address of the first byte; only the offset in its page matters
  std::int64_t repeat_bytes = 0;  ///< the addresses start again after so many bytes; 0: never
  /// Bytes of a descriptor or burst: a segment ends at multiples of it, and where addresses start
  /// again.
  std::int64_t segment_bytes = 1;
  Time gap = 0;         ///< pause between the last packet of a segment and the next segment
  Time interval = 0;    ///< least time from one segment's start to the next
  Residence residence;  ///< which pages of host memory are in the cache
};

/// A receiver of notices about how many bytes of data arrive.
class Taker {
 public:
  Taker() = default;
  Taker(const Taker&) = delete;
  Taker& operator=(const Taker&) = delete;
  virtual ~Taker() = default;

  virtual void offer(std::int64_t bytes) = 0;
};

/// A sequential access. When it ends, the owner gets an event whose payload is the stream's id.
class Stream : public Actor, public Taker {
 public:
  explicit Stream(Crossing& crossing);

  void begin(const StreamPlan& plan, Actor& owner);
  [[nodiscard]] bool active() const { return issued_ < plan_.bytes; }
  [[nodiscard]] std::int64_t issued() const { return issued_; }
  [[nodiscard]] const StreamPlan& plan() const { return plan_; }
  [[nodiscard]] std::int64_t begun() const { return begun_; }
  [[nodiscard]] std::int64_t page() const;

  /// Issues as many packets as are possible now.
  virtual void proceed() = 0;
  /// Lets a stream that follows another stream issue these bytes.
  void offer(std::int64_t bytes) final;
  /// Returns how many bytes were offered and not yet issued.
  [[nodiscard]] std::int64_t waiting() const { return offered_ - issued_; }
  /// Skips bytes that would behave as the previous bytes do.
  virtual void skip(std::int64_t bytes);
  virtual void save(State& state) const;
  virtual void reset();

 protected:
  virtual void prepare() {}
  void follow(bool follows) { follows_ = follows; }
  [[nodiscard]] bool may_issue(std::int64_t bytes) const { return !follows_ || waiting() >= bytes; }
  [[nodiscard]] Time now() const { return crossing_->simulator.now(); }
  [[nodiscard]] std::int64_t address() const;
  /// Returns the size of the next packet in bytes. It ends at a multiple of `most` or at the end of
  /// the segment or of the work.
  [[nodiscard]] std::int64_t next_bytes(std::int64_t most) const;
  [[nodiscard]] bool at_segment_start() const { return fresh_segment_; }
  /// Returns whether gap and interval allow the next packet now; if not, schedules a wake event.
  bool paced();
  Access access(std::int64_t bytes);
  /// Counts an issued packet. `through` is when it has left the user bus; a gap begins then.
  void issued(std::int64_t bytes, Time through = 0);
  void wake_at(Time time);
  void complete_at(Time time);

  Crossing* crossing_;
  StreamPlan plan_;

  enum Kind : std::uint8_t { wake, arrive, ready, deliver, release, kinds };
  /// A packet on its way, in a form that is equal for equal packets of different sweeps.
  struct Packed {
    Kind kind = wake;
    std::int64_t bytes = 0;
    bool hit = true;
    bool translated = true;
    bool last = false;
    std::int64_t offset = 0;  ///< distance of the address from a read completion boundary

    [[nodiscard]] std::uint64_t pack() const;
    static Packed unpack(std::uint64_t payload);
  };
  void schedule(Time time, const Packed& packed) {
    crossing_->simulator.schedule(time, *this, packed.pack());
  }

  bool waits_for_credits_ = false;
  friend struct Crossing;

 private:
  Actor* owner_ = nullptr;
  std::int64_t issued_ = 0;
  std::int64_t offered_ = 0;
  bool follows_ = false;
  std::int64_t begun_ = 0;
  Time segment_start_ = 0;
  Time next_ = 0;
  bool fresh_segment_ = true;
  bool woken_ = false;  ///< whether a wake event is pending

 protected:
  /// Call it first when a wake event arrives.
  void awake() { woken_ = false; }
};

/// Where a stream's bytes come from or go to on the card.
struct Port {
  Server* server = nullptr;
  Pace byte;
  Time latency = 0;
  bool writes = false;
  Time turnaround = 0;  ///< pause whenever the direction changes
  Time gap = 0;         ///< pause after each use

  /// Uses the server for these bytes as soon as it is free; returns when that ends.
  [[nodiscard]] Time claim(Time now, std::int64_t bytes) const;
};

/// Reads host memory: tags and credits limit the requests, and split completions pass into a port.
class Reader final : public Stream {
 public:
  using Stream::Stream;

  /// `follower`, if not null, gets notice of arriving bytes. If `follows`, the reader requests only
  /// bytes that were offered to it. Arriving bytes also pass `path`, if it has a server.
  void limits(std::int64_t tags, Time card_latency, const Port& sink, Taker* follower,
              bool follows = false, const Port& path = {});
  void handle(std::uint64_t payload) override;
  void proceed() override;
  void save(State& state) const override;
  void skip(std::int64_t bytes) override;
  void reset() override;

 private:
  void prepare() override { arrived_ = 0; }
  void arrived(std::int64_t bytes);

  Port sink_;
  Port path_;
  Time card_latency_ = 0;
  std::int64_t all_tags_ = 1;
  std::int64_t tags_ = 1;
  std::int64_t arrived_ = 0;
  Taker* follower_ = nullptr;
};

/// Writes host memory by posted writes, as fast as the host's credits, the port and the user bus
/// allow.
class Writer final : public Stream {
 public:
  using Stream::Stream;

  /// `response` is the time from a burst's last data to its response; at most `bursts` bursts wait
  /// for one. With 0 bursts the work ends when the last packet has reached the host. If `follows`,
  /// the writer writes only bytes that were offered to it. If `answers_each`, the owner gets an
  /// event for each response.
  void limits(const Port& source, std::int64_t bursts, Time response, bool follows,
              bool answers_each = false);
  void handle(std::uint64_t payload) override;
  void proceed() override;
  void save(State& state) const override;
  void reset() override;

 private:
  void prepare() override { fetch(source_.latency); }
  void fetch(Time latency);

  Port source_;
  Credits bursts_{1};
  bool bursted_ = false;
  Time response_ = 0;
  bool answers_each_ = false;
  Time data_ready_ = 0;
};

/// Moves bursts between banks of card memory through a kernel.
class BankStream final : public Stream {
 public:
  using Stream::Stream;

  /// Reads a burst from every bank of `reads`, then writes a burst to every bank of `writes`; one
  /// of them may be empty.
  void limits(std::vector<Port> reads, std::vector<Port> writes, const Port& datapath,
              std::int64_t outstanding);
  void handle(std::uint64_t payload) override;
  void proceed() override;
  void save(State& state) const override;
  void skip(std::int64_t bytes) override;
  void reset() override;

 private:
  void prepare() override { done_ = 0; }
  void compute(std::int64_t bytes);

  std::vector<Port> reads_;
  std::vector<Port> writes_;
  Port datapath_;
  std::int64_t outstanding_ = 1;
  std::int64_t left_ = 1;
  std::int64_t done_ = 0;
};

}  // namespace isthmus::card
