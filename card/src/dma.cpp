#include "isthmus/card/dma.hpp"

#include <algorithm>
#include <array>

namespace isthmus::card {
namespace {

constexpr std::int64_t doorbell_bytes = 4;
constexpr std::int64_t status_bytes = 8;
constexpr unsigned stage_shift = 32;

/// Stages of a job; a stream's own event is the one that it is complete.
enum Stage : std::uint8_t { moved, doorbell, fetched, seen, finished };

}  // namespace

/// One channel: jobs in order, each when the one before has moved its data.
class DmaEngine::Channel final : public Actor {
 public:
  Channel(DmaEngine& engine, Direction direction, std::int64_t index)
      : engine_(&engine),
        machine_(engine.machine_),
        direction_(direction),
        reader_(direction == Direction::h2d ? std::make_unique<Reader>(machine_->crossing)
                                            : nullptr),
        writer_(direction == Direction::d2h ? std::make_unique<Writer>(machine_->crossing)
                                            : nullptr) {
    constexpr std::int64_t first_id = 1000;
    id = first_id + index;
  }

  void submit(Time time, const DmaJob& job) {
    submitted_.push_back(job);
    machine_->crossing.simulator.schedule(time, *this, std::uint64_t{doorbell} << stage_shift);
  }

  void handle(std::uint64_t payload) override {
    const DmaParameters& dma = machine_->board.dma.value();
    Simulator& simulator = machine_->crossing.simulator;
    switch (payload >> stage_shift) {
      case doorbell:
        simulator.schedule(machine_->crossing.link.send(simulator.now(), Way::down, Packet::write,
                                                        doorbell_bytes) +
                               from_nanoseconds(dma.start_ns),
                           *this, std::uint64_t{fetched} << stage_shift);
        break;
      case fetched:
        ++startable_;
        begin_next();
        break;
      case seen:
        engine_->driver_.claim(simulator.now(), from_nanoseconds(dma.finish_ns));
        simulator.schedule(engine_->driver_.free, *this, std::uint64_t{finished} << stage_shift);
        break;
      case finished: {
        const DmaJob job = begun_.front();
        begun_.pop_front();
        if (job.owner != nullptr) {
          job.owner->handle(job.tag);
        }
        break;
      }
      default:
        simulator.schedule(
            status_arrival() + from_nanoseconds(dma.interrupt ? machine_->board.host.interrupt_ns
                                                              : machine_->board.host.polling_ns),
            *this, std::uint64_t{seen} << stage_shift);
        busy_ = false;
        begin_next();
    }
  }

  void reset() {
    submitted_.clear();
    begun_.clear();
    startable_ = 0;
    busy_ = false;
  }

 private:
  /// The status follows the data: at once where they go the same way.
  [[nodiscard]] Time status_arrival() const {
    Link& link = machine_->crossing.link;
    const Time now = machine_->crossing.simulator.now();
    return direction_ == Direction::d2h ? now + link.wire_time(Packet::write, status_bytes)
                                        : link.send(now, Way::up, Packet::write, status_bytes);
  }

  void begin_next() {
    if (busy_ || startable_ == 0) {
      return;
    }
    busy_ = true;
    --startable_;
    const DmaJob job = submitted_.front();
    submitted_.pop_front();
    begun_.push_back(job);
    const DmaParameters& dma = machine_->board.dma.value();
    StreamPlan plan;
    plan.bytes = job.bytes;
    plan.address = job.page_offset;
    plan.segment_bytes = dma.descriptor_bytes;
    plan.residence = job.residence;
    const Port bank = machine_->bank_port(job.bank);
    if (reader_) {
      plan.gap = from_nanoseconds(dma.h2d_descriptor_ns);
      reader_->limits(dma.tags / dma.engines, 0, bank, nullptr);
      reader_->begin(plan, *this);
    } else {
      plan.gap = from_nanoseconds(dma.d2h_descriptor_ns);
      writer_->limits(bank, 0, 0, false);
      writer_->begin(plan, *this);
    }
  }

  DmaEngine* engine_;
  Machine* machine_;
  Direction direction_;
  std::unique_ptr<Reader> reader_;
  std::unique_ptr<Writer> writer_;
  std::deque<DmaJob> submitted_;
  std::deque<DmaJob> begun_;  ///< and not finished
  int startable_ = 0;
  bool busy_ = false;
};

DmaEngine::DmaEngine(Machine& machine) : machine_(&machine) {
  const std::int64_t engines = machine.board.dma.value().engines;
  for (const Direction direction : {Direction::h2d, Direction::d2h}) {
    for (std::int64_t i = 0; i < engines; ++i) {
      channels_.push_back(
          std::make_unique<Channel>(*this, direction, static_cast<std::int64_t>(channels_.size())));
    }
  }
}

DmaEngine::~DmaEngine() = default;

void DmaEngine::clear() {
  for (const auto& channel : channels_) {
    channel->reset();
  }
  next_ = {};
  driver_.free = machine_->crossing.simulator.now();
}

void DmaEngine::submit(const DmaJob& job) {
  const auto direction = static_cast<std::size_t>(job.direction);
  const auto engines = static_cast<std::size_t>(machine_->board.dma.value().engines);
  driver_.claim(machine_->crossing.simulator.now(),
                from_nanoseconds(machine_->board.dma.value().submit_ns));
  channels_[direction * engines + next_.at(direction)++ % engines]->submit(driver_.free, job);
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
