// Long sequential accesses: to host memory across the link, and to card memory.
#pragma once

#include <cstdint>
#include <vector>

#include "isthmus/card/event.hpp"
#include "isthmus/card/host.hpp"
#include "isthmus/card/link.hpp"

namespace isthmus::card {

class Stream;

/// State that streams share: time, the link, host memory, and the host's credits.
struct Crossing {
  Crossing(const Board& board, std::uint64_t seed);

  void reset(std::uint64_t sample);
  /// Lets streams that wait for credits go on.
  void credits_came() const;

  Simulator simulator;
  Link link;
  HostMemory host;
  Credits posted_data;
  Credits posted_headers;
  Credits nonposted_headers;
  std::vector<Stream*> streams;         ///< by id
  const Stream* at_boundary = nullptr;  ///< stream that has just issued a segment's last packet
};

/// The work of a stream.
struct StreamPlan {
  std::int64_t bytes = 0;
  std::int64_t address = 0;       ///< of the first byte; only its offset in a page matters
  std::int64_t repeat_bytes = 0;  ///< addresses start again after these bytes; 0: never
  /// Size of a descriptor or burst; segments end at its multiples, and where addresses start again.
  std::int64_t segment_bytes = 1;
  Time gap = 0;         ///< pause between a segment's last packet and the next segment
  Time interval = 0;    ///< least time between the starts of segments
  Residence residence;  ///< the host pages that are in the cache
};

/// A receiver of notices about arriving data.
class Taker {
 public:
  Taker() = default;
  Taker(const Taker&) = delete;
  Taker& operator=(const Taker&) = delete;
  virtual ~Taker() = default;

  virtual void offer(std::int64_t bytes) = 0;
};

/// Sequential access. At its end the owner gets an event, whose payload is the stream's id.
class Stream : public Actor, public Taker {
 public:
  explicit Stream(Crossing& crossing);

  void begin(const StreamPlan& plan, Actor& owner);
  [[nodiscard]] bool active() const { return issued_ < plan_.bytes; }
  [[nodiscard]] std::int64_t issued() const { return issued_; }
  [[nodiscard]] const StreamPlan& plan() const { return plan_; }
  [[nodiscard]] std::int64_t begun() const { return begun_; }
  [[nodiscard]] std::int64_t page() const;

  /// Issues as many packets as possible now.
  virtual void proceed() = 0;
  /// Allows a stream that follows another one to issue these bytes.
  void offer(std::int64_t bytes) final;
  /// Returns the offered bytes that are not yet issued.
  [[nodiscard]] std::int64_t waiting() const { return offered_ - issued_; }
  /// Skips bytes that behave as the bytes before.
  virtual void skip(std::int64_t bytes);
  virtual void save(State& state) const;
  virtual void reset();

 protected:
  virtual void prepare() {}
  void follow(bool follows) { follows_ = follows; }
  [[nodiscard]] bool may_issue(std::int64_t bytes) const { return !follows_ || waiting() >= bytes; }
  [[nodiscard]] Time now() const { return crossing_->simulator.now(); }
  [[nodiscard]] std::int64_t address() const;
  /// Returns the bytes of the next packet, which ends at a multiple of `most`, or with the segment
  /// or the work.
  [[nodiscard]] std::int64_t next_bytes(std::int64_t most) const;
  [[nodiscard]] bool at_segment_start() const { return fresh_segment_; }
  /// Whether gap and interval allow the next packet; if not, schedules a wake event.
  bool paced();
  Access access(std::int64_t bytes);
  /// Notes an issued packet. `through`: time at which it has left the user bus; a gap begins there.
  void issued(std::int64_t bytes, Time through = 0);
  void wake_at(Time time);
  void complete_at(Time time);

  Crossing* crossing_;
  StreamPlan plan_;

  enum Kind : std::uint8_t { wake, arrive, ready, deliver, release, kinds };
  /// A packet on its way. Its fields do not depend on the stream's progress.
  struct Packed {
    Kind kind = wake;
    std::int64_t bytes = 0;
    bool hit = true;
    bool translated = true;
    bool last = false;
    std::int64_t offset = 0;  ///< offset of the address from a read completion boundary

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
  bool woken_ = false;  ///< a wake event is pending

 protected:
  /// To be called first in a wake event.
  void awake() { woken_ = false; }
};

/// Source or destination of a stream's bytes in the card.
struct Port {
  Server* server = nullptr;
  Pace byte;
  Time latency = 0;
  bool writes = false;
  Time turnaround = 0;  ///< pause when claims of the two directions take turns
  Time gap = 0;         ///< pause after each claim

  /// Claims the server for these bytes as soon as it is free; returns the end.
  [[nodiscard]] Time claim(Time now, std::int64_t bytes) const;
};

/// Reads host memory: requests limited by tags and credits, completions split, data into a port.
class Reader final : public Stream {
 public:
  using Stream::Stream;

  /// `follower`, if any, gets an offer of the arriving bytes. With `follows` the reader requests
  /// only offered bytes. Arriving bytes also pass `path`, if that has a server.
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

/// Writes host memory: posted, under the host's credits, as fast as port and user bus allow.
class Writer final : public Stream {
 public:
  using Stream::Stream;

  /// `response`: time from a burst's last data to its response; at most `bursts` bursts have none
  /// yet. Without bursts the work ends when the last packet is in the host. With `follows` the
  /// writer writes only offered bytes. With `answers_each` the owner gets an event for each
  /// response.
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

/// Moves bursts between banks of card memory through a kernel's datapath.
class BankStream final : public Stream {
 public:
  using Stream::Stream;

  /// Reads a burst of every bank of `reads`, then writes a burst to every bank of `writes`; either
  /// may be empty.
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
