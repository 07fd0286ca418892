#include <algorithm>
#include <array>
#include <chrono>
#include <span>

#include "isthmus/backend.hpp"
#include "peer_ways.hpp"

namespace isthmus::cuda {
namespace {

using Clock = std::chrono::steady_clock;

/// Returns the steps between two checks of the GPU's progress. Twice as many are queued at most,
/// because a full stream blocks the host. Large messages get fewer, so that a batch takes less than
/// `patience_s`.
std::uint64_t batch_for(std::uint64_t bytes) {
  constexpr std::uint64_t batch_bytes = std::uint64_t{1} << 30U;
  constexpr std::uint64_t most_steps = 16;
  return std::clamp<std::uint64_t>(batch_bytes / bytes, 1, most_steps);
}

/// Messages by copy engines, on one stream for each lane. In each step a rank queues all sends
/// before its waits, so that streams which share a hardware queue still proceed.
class CopyWay final : public PeerWay {
 public:
  explicit CopyWay(const Conversations& conversations)
      : conversations_(conversations), batch_steps_(batch_for(conversations.bytes)) {
    for (Lane& lane : lanes_) {
      lane.stream = Session::make_stream();
      for (Owned<Event>& mark : lane.marks) {
        mark = Session::make_event(event_disable_timing);
      }
    }
  }

  void run(const Steps& steps) override {
    try {
      queue(steps);
    } catch (const DeviceLostError&) {
      throw;
    } catch (...) {
      let_go(steps.first_tag + static_cast<std::uint32_t>(steps.count) - 1);
      throw;
    }
  }

 private:
  struct Lane {
    Owned<Stream> stream;
    std::array<Owned<Event>, 2> marks;  ///< one event at the end of every second batch
  };

  void queue(const Steps& steps) {
    std::size_t mark = 0;
    for (std::uint64_t done = 0; done < steps.count; done += batch_steps_) {
      mark = done / batch_steps_ % 2;
      if (done >= 2 * batch_steps_) {
        await(mark);
      }
      const std::uint64_t end = std::min(done + batch_steps_, steps.count);
      for (std::uint64_t step = done; step < end; ++step) {
        submit(steps, step);
      }
      set(mark);
    }
    await(mark);
  }

  void submit(const Steps& steps, std::uint64_t step) {
    const std::uint64_t from = step % steps.out_slots * conversations_.slot_bytes;
    const std::uint64_t to = step % steps.in_slots * conversations_.slot_bytes;
    const std::uint32_t tag = steps.first_tag + static_cast<std::uint32_t>(step);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const Edge& edge = conversations_.edges.at(lane);
      check(api().cuMemcpyDtoDAsync(edge.there + to, edge.out + from, conversations_.bytes,
                                    stream(lane)),
            "cuMemcpyDtoDAsync");
      check(api().cuStreamWriteValue32(stream(lane), edge.signals_there, tag, write_value_in_order),
            "cuStreamWriteValue32");
    }
    for (unsigned lane = 0; lane < lanes; ++lane) {
      check(api().cuStreamWaitValue32(stream(lane), conversations_.edges.at(lane).signals_here, tag,
                                      wait_for_value_or_later),
            "cuStreamWaitValue32");
    }
  }

  [[nodiscard]] Stream stream(unsigned lane) const { return lanes_.at(lane).stream.get(); }

  void set(std::size_t mark) {
    for (const Lane& lane : lanes_) {
      check(api().cuEventRecord(lane.marks.at(mark).get(), lane.stream.get()), "cuEventRecord");
    }
  }

  [[nodiscard]] bool passed(unsigned lane, std::size_t mark) const {
    const Result code = api().cuEventQuery(lanes_.at(lane).marks.at(mark).get());
    if (code != not_ready) {
      check(code, "cuEventQuery");
    }
    return code == success;
  }

  void await(std::size_t mark) const {
    const Clock::time_point end = Clock::now() + std::chrono::seconds(patience_s);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      while (!passed(lane, mark)) {
        if (Clock::now() > end) {
          give_up(conversations_.partners.at(lane));
        }
      }
    }
  }

  /// Writes the values that the partners should have written. The streams then end before their
  /// memory is freed.
  void let_go(std::uint32_t last_tag) {
    set(0);
    const Clock::time_point end = Clock::now() + std::chrono::seconds(patience_s);
    while (!passed(0, 0) || !passed(1, 0)) {
      // Several times, because a late partner may overwrite the value with an older tag.
      for (const Edge& edge : conversations_.edges) {
        check(api().cuMemcpyHtoD(edge.signals_here, &last_tag, sizeof(last_tag)), "cuMemcpyHtoD");
      }
      if (Clock::now() > end) {
        throw DeviceLostError("copies between GPUs do not come to an end");
      }
    }
  }

  Conversations conversations_;
  std::uint64_t batch_steps_;
  std::array<Lane, lanes> lanes_;
};

}  // namespace

std::unique_ptr<PeerWay> make_copy_way(const Conversations& conversations) {
  return std::make_unique<CopyWay>(conversations);
}

}  // namespace isthmus::cuda
