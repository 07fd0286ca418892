// Operations by copy engines: transfers between host and GPU, streams of chunks, and copies between
// GPUs.
#include <array>
#include <deque>

#include "operations.hpp"

namespace isthmus::cuda {
namespace {

enum class Direction : std::uint8_t { h2d, d2h };

/// The two ends of a transfer, and its direction.
struct Lane {
  Lane(const Session& session, const OperationSpec& spec, Direction direction)
      : direction(direction),
        host(std::make_unique<HostEnd>(spec.memory, spec.bytes)),
        device(std::make_unique<DeviceMemory>(session, spec.bytes)) {}

  /// Copies as a program does that makes a single transfer: by one blocking call.
  void copy() const {
    if (direction == Direction::d2h) {
      host->take(*device);
    } else {
      host->give(*device);
    }
  }
  void submit(Stream stream) const {
    if (direction == Direction::h2d) {
      check(api().cuMemcpyHtoDAsync(device->address(), host->data(), device->bytes(), stream),
            "cuMemcpyHtoDAsync");
    } else {
      check(api().cuMemcpyDtoHAsync(host->data(), device->address(), device->bytes(), stream),
            "cuMemcpyDtoHAsync");
    }
  }
  [[nodiscard]] Movement movement() const {
    return direction == Direction::h2d ? Movement(host->memory(), *device, device->bytes())
                                       : Movement(*device, host->memory(), device->bytes());
  }

  Direction direction;
  std::unique_ptr<HostEnd> host;
  std::unique_ptr<DeviceMemory> device;
};

/// One blocking transfer, or `depth` transfers that are queued and complete together. `rw` has two
/// parts, one per direction.
class Transfer final : public Operation {
 public:
  Transfer(const Session& session, const OperationSpec& spec, const std::vector<Direction>& parts)
      : stream_(session.stream()), bytes_(spec.bytes), end_(stream_) {
    lanes_.resize(parts.size());
    movements_.resize(parts.size());
    for (std::size_t part = 0; part < parts.size(); ++part) {
      for (unsigned i = 0; i < spec.depth(); ++i) {
        movements_[part].push_back(
            lanes_[part].emplace_back(session, spec, parts[part]).movement());
      }
    }
  }

  [[nodiscard]] std::size_t parts() const override { return lanes_.size(); }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t part) const override {
    return bytes_ * lanes_[part].size();
  }
  void run(std::size_t part, std::uint64_t repetitions) override {
    const std::vector<Lane>& lanes = lanes_[part];
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      if (lanes.size() == 1) {
        lanes.front().copy();
        continue;
      }
      for (const Lane& lane : lanes) {
        lane.submit(stream_);
      }
      synchronise(stream_);
    }
  }

 protected:
  std::vector<Movement>& movements(std::size_t part) override { return movements_[part]; }

 private:
  Stream stream_;
  std::uint64_t bytes_;
  std::vector<std::vector<Lane>> lanes_;
  std::vector<std::vector<Movement>> movements_;
  StreamEnd end_;
};

/// Transfers in both directions at once, on a stream for each.
class Bidirectional final : public Operation {
 public:
  Bidirectional(const Session& session, const OperationSpec& spec)
      : up_stream_(session.stream()),
        down_stream_(Session::make_stream()),
        up_(session, spec, Direction::h2d),
        down_(session, spec, Direction::d2h),
        movements_{up_.movement(), down_.movement()},
        up_end_(up_stream_),
        down_end_(down_stream_.get()) {}

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return 2 * up_.device->bytes();
  }
  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      up_.submit(up_stream_);
      down_.submit(down_stream_.get());
      synchronise(up_stream_);
      synchronise(down_stream_.get());
    }
  }

 protected:
  std::vector<Movement>& movements(std::size_t /*part*/) override { return movements_; }

 private:
  Stream up_stream_;
  Owned<Stream> down_stream_;
  Lane up_;
  Lane down_;
  std::vector<Movement> movements_;
  StreamEnd up_end_;
  StreamEnd down_end_;
};

/// A stream of chunks through `depth` buffers: to the GPU, copied by a kernel, back, each stage on
/// its own stream. One repetition is one chunk; a batch includes the times to fill and drain the
/// buffers.
class Pipeline final : public Operation {
 public:
  Pipeline(Session& session, const OperationSpec& spec)
      : bytes_(spec.bytes),
        kernel_(session.kernel("isthmus_copy")),
        blocks_(blocks_for(session.device(), spec.bytes)) {
    for (Owned<Stream>& stream : streams_) {
      stream = Session::make_stream();
      ends_.emplace_back(stream.get());
    }
    for (unsigned i = 0; i < spec.depth(); ++i) {
      const Slot& slot = slots_.emplace_back(session, spec);
      movements_.emplace_back(slot.in.host->memory(), slot.out.host->memory(), bytes_,
                              std::vector<Memory*>{slot.in.device.get(), slot.out.device.get()});
    }
  }

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return 2 * bytes_;
  }
  /// Returns twice the number of buffers: with fewer chunks, filling and draining would dominate.
  [[nodiscard]] std::uint64_t least_batch() const override { return 2 * slots_.size(); }

  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      submit(slots_[i % slots_.size()]);
    }
    for (const Owned<Stream>& stream : streams_) {
      synchronise(stream.get());
    }
  }

 protected:
  std::vector<Movement>& movements(std::size_t /*part*/) override { return movements_; }

 private:
  struct Slot {
    Slot(const Session& session, const OperationSpec& spec)
        : in(session, spec, Direction::h2d), out(session, spec, Direction::d2h) {
      for (Owned<Event>* event : {&written, &computed, &done}) {
        *event = Session::make_event(event_disable_timing);
      }
    }
    Lane in;
    Lane out;
    Owned<Event> written;
    Owned<Event> computed;
    Owned<Event> done;  ///< set when the last chunk in this slot has left
  };

  static void record(const Owned<Event>& event, const Owned<Stream>& stream) {
    check(api().cuEventRecord(event.get(), stream.get()), "cuEventRecord");
  }
  static void wait(const Owned<Stream>& stream, const Owned<Event>& event) {
    check(api().cuStreamWaitEvent(stream.get(), event.get(), 0), "cuStreamWaitEvent");
  }

  void submit(const Slot& slot) {
    const auto& [up, compute, down] = streams_;
    wait(up, slot.done);
    slot.in.submit(up.get());
    record(slot.written, up);
    wait(compute, slot.written);
    Address from = slot.in.device->address();
    Address to = slot.out.device->address();
    std::uint64_t sweeps = 1;
    std::array<void*, 4> arguments = {&from, &to, &bytes_, &sweeps};
    launch(kernel_, blocks_, compute.get(), arguments.data());
    record(slot.computed, compute);
    wait(down, slot.computed);
    slot.out.submit(down.get());
    record(slot.done, down);
  }

  std::uint64_t bytes_;
  Function kernel_;
  unsigned blocks_;
  std::array<Owned<Stream>, 3> streams_;
  std::vector<Slot> slots_;
  std::vector<Movement> movements_;
  std::deque<StreamEnd> ends_;
};

/// `depth` copies from one GPU's memory to another's, on a stream of the GPU that was opened.
class PeerCopy final : public Operation {
 public:
  PeerCopy(const Session& from, const Session& to, Stream stream, const OperationSpec& spec)
      : from_context_(from.context()),
        to_context_(to.context()),
        stream_(stream),
        bytes_(spec.bytes),
        end_(stream_) {
    for (unsigned i = 0; i < spec.depth(); ++i) {
      const Pair& pair = pairs_.emplace_back(std::make_unique<DeviceMemory>(from, spec.bytes),
                                             std::make_unique<DeviceMemory>(to, spec.bytes));
      movements_.emplace_back(*pair.from, *pair.to, spec.bytes);
    }
  }

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return bytes_ * pairs_.size();
  }
  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      for (const Pair& pair : pairs_) {
        check(api().cuMemcpyPeerAsync(pair.to->address(), to_context_, pair.from->address(),
                                      from_context_, bytes_, stream_),
              "cuMemcpyPeerAsync");
      }
      synchronise(stream_);
    }
  }

 protected:
  std::vector<Movement>& movements(std::size_t /*part*/) override { return movements_; }

 private:
  struct Pair {
    std::unique_ptr<DeviceMemory> from;
    std::unique_ptr<DeviceMemory> to;
  };
  Context from_context_;
  Context to_context_;
  Stream stream_;
  std::uint64_t bytes_;
  std::vector<Pair> pairs_;
  std::vector<Movement> movements_;
  StreamEnd end_;
};

const Session& required(const Session* peer) {
  if (peer == nullptr) {
    throw UsageError("copies between two GPUs need a second one");
  }
  return *peer;
}

}  // namespace

std::unique_ptr<Operation> make_write(const Opened& opened, const OperationSpec& spec) {
  return std::make_unique<Transfer>(opened.session, spec, std::vector{Direction::h2d});
}

std::unique_ptr<Operation> make_read(const Opened& opened, const OperationSpec& spec) {
  return std::make_unique<Transfer>(opened.session, spec, std::vector{Direction::d2h});
}

std::unique_ptr<Operation> make_read_and_write(const Opened& opened, const OperationSpec& spec) {
  return std::make_unique<Transfer>(opened.session, spec,
                                    std::vector{Direction::d2h, Direction::h2d});
}

std::unique_ptr<Operation> make_bidirectional(const Opened& opened, const OperationSpec& spec) {
  return std::make_unique<Bidirectional>(opened.session, spec);
}

std::unique_ptr<Operation> make_stream(const Opened& opened, const OperationSpec& spec) {
  return std::make_unique<Pipeline>(opened.session, spec);
}

std::unique_ptr<Operation> make_peer_write(const Opened& opened, const OperationSpec& spec) {
  return std::make_unique<PeerCopy>(opened.session, required(opened.peer), opened.session.stream(),
                                    spec);
}

std::unique_ptr<Operation> make_peer_read(const Opened& opened, const OperationSpec& spec) {
  return std::make_unique<PeerCopy>(required(opened.peer), opened.session, opened.session.stream(),
                                    spec);
}

}  // namespace isthmus::cuda
