#include "isthmus/card/dma.hpp"

#include <algorithm>
#include <array>

namespace isthmus::card {
namespace {

constexpr std::int64_t doorbell_bytes = 4;
constexpr std::int64_t status_bytes = 8;
constexpr unsigned stage_shift = 32;

/// Stages of a job, as payloads of events; the stream sends `moved` when it ends.
enum Stage : std::uint8_t { moved, doorbell, fetched, seen, finished };

}  // namespace

/// One channel, and the driver's thread that submits its jobs and waits for their ends.
class DmaEngine::Channel final : public Actor {
 public:
  Channel(Machine& machine, Direction direction, std::int64_t index)
      : machine_(&machine),
        direction_(direction),
        reader_(direction == Direction::h2d ? std::make_unique<Reader>(machine_->crossing)
                                            : nullptr),
        writer_(direction == Direction::d2h ? std::make_unique<Writer>(machine_->crossing)
                                            : nullptr) {
    constexpr std::int64_t first_id = 1000;
    id = first_id + index;
  }

  void submit(const DmaJob& job) {
    jobs_.push_back(job);
    if (jobs_.size() == 1) {
      begin_next();
    }
  }

  void handle(std::uint64_t payload) override {
    const DmaParameters& dma = machine_->board.dma.value();
    const HostParameters& host = machine_->board.host;
    const Time now = machine_->crossing.simulator.now();
    switch (payload >> stage_shift) {
      case doorbell:
        later(machine_->crossing.link.send(now, Way::down, Packet::write, doorbell_bytes) +
                  from_nanoseconds(dma.start_ns),
              fetched);
        break;
      case fetched:
        move();
        break;
      case seen:
        later(now + from_nanoseconds(dma.finish_ns), finished);
        break;
      case finished: {
        const DmaJob job = jobs_.front();
        jobs_.pop_front();
        if (job.owner != nullptr) {
          job.owner->handle(job.tag);
        }
        begin_next();
        break;
      }
      default:
        later(status_arrival() +
                  from_nanoseconds(dma.interrupt ? host.interrupt_ns : host.polling_ns),
              seen);
    }
  }

  void reset() { jobs_.clear(); }

 private:
  void later(Time time, Stage stage) {
    machine_->crossing.simulator.schedule(time, *this, std::uint64_t{stage} << stage_shift);
  }

  /// Returns when the status arrives at the host; after data to the host it follows them at once.
  [[nodiscard]] Time status_arrival() const {
    Link& link = machine_->crossing.link;
    const Time now = machine_->crossing.simulator.now();
    return direction_ == Direction::d2h ? now + link.wire_time(Packet::write, status_bytes)
                                        : link.send(now, Way::up, Packet::write, status_bytes);
  }

  void begin_next() {
    if (!jobs_.empty()) {
      later(machine_->crossing.simulator.now() +
                from_nanoseconds(machine_->board.dma.value().submit_ns),
            doorbell);
    }
  }

  void move() {
    const DmaJob& job = jobs_.front();
    const DmaParameters& dma = machine_->board.dma.value();
    StreamPlan plan;
    plan.bytes = job.bytes;
    plan.address = job.page_offset;
    plan.segment_bytes = dma.descriptor_bytes;
    plan.residence = job.residence;
    const Port bank = machine_->bank_port(job.bank);
    if (reader_) {
      Port path;
      if (dma.h2d_bandwidth_Bps > 0) {
        path = {.server = &machine_->inbound, .byte = Pace::of_rate(dma.h2d_bandwidth_Bps)};
      }
      plan.gap = from_nanoseconds(dma.h2d_descriptor_ns);
      reader_->limits(dma.tags / dma.engines, 0, bank, nullptr, false, path);
      reader_->begin(plan, *this);
    } else {
      plan.gap = from_nanoseconds(dma.d2h_descriptor_ns);
      writer_->limits(bank, 0, 0, false);
      writer_->begin(plan, *this);
    }
  }

  Machine* machine_;
  Direction direction_;
  std::unique_ptr<Reader> reader_;
  std::unique_ptr<Writer> writer_;
  std::deque<DmaJob> jobs_;  ///< the first job has begun
};

DmaEngine::DmaEngine(Machine& machine) : machine_(&machine) {
  const std::int64_t engines = machine.board.dma.value().engines;
  for (const Direction direction : {Direction::h2d, Direction::d2h}) {
    for (std::int64_t i = 0; i < engines; ++i) {
      channels_.push_back(std::make_unique<Channel>(machine, direction,
                                                    static_cast<std::int64_t>(channels_.size())));
    }
  }
}

DmaEngine::~DmaEngine() = default;

void DmaEngine::clear() {
  for (const auto& channel : channels_) {
    channel->reset();
  }
  next_ = {};
}

void DmaEngine::submit(const DmaJob& job) {
  const auto direction = static_cast<std::size_t>(job.direction);
  const auto engines = static_cast<std::size_t>(machine_->board.dma.value().engines);
  channels_[direction * engines + next_.at(direction)++ % engines]->submit(job);
}

Time DmaEngine::run(std::span<const DmaJob> jobs) {
  clear();
  machine_->forget();
  const Time begin = machine_->now();
  for (const DmaJob& job : jobs) {
    submit(job);
  }
  machine_->run();
  return machine_->now() - begin;
}

}  // namespace isthmus::card
