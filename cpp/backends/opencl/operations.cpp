#include "operations.hpp"

#include <algorithm>
#include <array>
#include <deque>

#include "binary_kernels.hpp"
#include "kernel_operations.hpp"
#include "kernels.hpp"

namespace isthmus::cl {
namespace {

enum class Direction : std::uint8_t { h2d, d2h };

void enqueue(Queue queue, Direction direction, Mem device, std::byte* host, std::size_t bytes) {
  if (direction == Direction::h2d) {
    check(api().clEnqueueWriteBuffer(queue, device, no, 0, bytes, host, 0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
  } else {
    check(api().clEnqueueReadBuffer(queue, device, no, 0, bytes, host, 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  }
}

void flush(Queue queue) { check(api().clFlush(queue), "clFlush"); }

/// The two ends of a transfer, and its direction.
struct Lane {
  Lane(const Session& session, const OperationSpec& spec, Direction direction)
      : direction(direction),
        host(std::make_unique<HostEnd>(session, spec.memory, spec.bytes)),
        device(std::make_unique<DeviceMemory>(session, spec.bytes)) {}

  void submit(Queue queue) const {
    enqueue(queue, direction, device->handle(), host->data(), device->bytes());
  }
  [[nodiscard]] Movement movement() const {
    return direction == Direction::h2d ? Movement(host->memory(), *device, device->bytes())
                                       : Movement(*device, host->memory(), device->bytes());
  }

  Direction direction;
  std::unique_ptr<HostEnd> host;
  std::unique_ptr<DeviceMemory> device;
};

/// `depth` transfers in one direction that are queued and complete together. `rw` has two parts,
/// one per direction.
class Transfer final : public Operation {
 public:
  Transfer(const Session& session, const OperationSpec& spec, std::vector<Direction> parts)
      : queue_(session.queue()), bytes_(spec.bytes), depth_(spec.depth()), end_(queue_) {
    lanes_.resize(parts.size());
    movements_.resize(parts.size());
    for (std::size_t part = 0; part < parts.size(); ++part) {
      for (unsigned i = 0; i < depth_; ++i) {
        movements_[part].push_back(
            lanes_[part].emplace_back(session, spec, parts[part]).movement());
      }
    }
  }

  [[nodiscard]] std::size_t parts() const override { return lanes_.size(); }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return bytes_ * depth_;
  }
  void run(std::size_t part, std::uint64_t repetitions) override {
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      for (const Lane& lane : lanes_[part]) {
        lane.submit(queue_);
      }
      finish(queue_);
    }
  }

 protected:
  std::vector<Movement>& movements(std::size_t part) override { return movements_[part]; }

 private:
  Queue queue_;
  std::uint64_t bytes_;
  unsigned depth_;
  std::vector<std::vector<Lane>> lanes_;
  std::vector<std::vector<Movement>> movements_;
  QueueEnd end_;
};

/// Transfers in both directions at once, on a queue for each.
class Bidirectional final : public Operation {
 public:
  Bidirectional(const Session& session, const OperationSpec& spec)
      : up_queue_(session.queue()),
        down_queue_(session.make_queue()),
        up_(session, spec, Direction::h2d),
        down_(session, spec, Direction::d2h),
        movements_{up_.movement(), down_.movement()},
        up_end_(up_queue_),
        down_end_(down_queue_.get()) {}

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return 2 * up_.device->bytes();
  }
  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      up_.submit(up_queue_);
      flush(up_queue_);
      down_.submit(down_queue_.get());
      flush(down_queue_.get());
      finish(up_queue_);
      finish(down_queue_.get());
    }
  }

 protected:
  std::vector<Movement>& movements(std::size_t /*part*/) override { return movements_; }

 private:
  Queue up_queue_;
  Owned<Queue> down_queue_;
  Lane up_;
  Lane down_;
  std::vector<Movement> movements_;
  QueueEnd up_end_;
  QueueEnd down_end_;
};

/// Maps a buffer for reading and writing, and unmaps it: two parts, each timed alone.
class MapUnmap final : public Operation {
 public:
  MapUnmap(const Session& session, const OperationSpec& spec)
      : queue_(session.queue()),
        device_(session, spec.bytes, mem_read_write | mem_alloc_host_ptr),
        view_(nullptr, spec.bytes) {
    down_.emplace_back(device_, view_, spec.bytes);
    up_.emplace_back(view_, device_, spec.bytes);
  }
  ~MapUnmap() override {
    if (view_.data() != nullptr) {
      api().clEnqueueUnmapMemObject(queue_, device_.handle(), view_.data(), 0, nullptr, nullptr);
    }
    api().clFinish(queue_);
  }

  [[nodiscard]] std::size_t parts() const override { return 2; }
  [[nodiscard]] bool parts_arm_together() const override { return false; }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return device_.bytes();
  }
  void run(std::size_t part, std::uint64_t /*repetitions*/) override {
    if (part == 0) {
      Int code = success;
      void* mapped = api().clEnqueueMapBuffer(queue_, device_.handle(), yes, map_read | map_write,
                                              0, device_.bytes(), 0, nullptr, nullptr, &code);
      check(code, "clEnqueueMapBuffer");
      view_.move_to(static_cast<std::byte*>(mapped));
    } else {
      check(api().clEnqueueUnmapMemObject(queue_, device_.handle(), view_.data(), 0, nullptr,
                                          nullptr),
            "clEnqueueUnmapMemObject");
      view_.move_to(nullptr);
      finish(queue_);
    }
  }

  // Neither end can be filled with other contents: before the map there is no host memory, during
  // the map the device must not be accessed. Both hold earlier data, which differ in every byte.
  void arm_fully(std::size_t part, std::uint64_t seed) override {
    put_pattern(part == 0 ? static_cast<Memory&>(device_) : view_, view_.bytes(), seed);
  }

 protected:
  std::vector<Movement>& movements(std::size_t part) override { return part == 0 ? down_ : up_; }

 private:
  Queue queue_;
  DeviceMemory device_;
  HostView view_;
  std::vector<Movement> down_;
  std::vector<Movement> up_;
};

/// A stream of chunks through `depth` buffers: to the device, copied by a kernel, back, each stage
/// on its own queue. One repetition is one chunk; a batch includes the times to fill and drain the
/// buffers.
class Stream final : public Operation {
 public:
  Stream(Session& session, const OperationSpec& spec)
      : bytes_(spec.bytes), items_(work_items(session, spec.bytes)), zero_(session) {
    for (Owned<Queue>& queue : queues_) {
      queue = session.make_queue();
      ends_.emplace_back(queue.get());
    }
    for (unsigned i = 0; i < spec.depth(); ++i) {
      Slot& slot = slots_.emplace_back(session, spec);
      movements_.emplace_back(slot.in.host->memory(), slot.out.host->memory(), bytes_,
                              std::vector<Memory*>{slot.in.device.get(), slot.out.device.get()});
      const Mem from = slot.in.device->handle();
      const Mem to = slot.out.device->handle();
      const auto bytes = static_cast<Ulong>(bytes_);
      check(api().clSetKernelArg(slot.kernel.get(), 0, sizeof(from), &from), "clSetKernelArg");
      check(api().clSetKernelArg(slot.kernel.get(), 1, sizeof(to), &to), "clSetKernelArg");
      check(api().clSetKernelArg(slot.kernel.get(), 2, sizeof(bytes), &bytes), "clSetKernelArg");
      const Ulong once = 1;
      check(api().clSetKernelArg(slot.kernel.get(), 3, sizeof(once), &once), "clSetKernelArg");
      zero_.set_argument(slot.kernel.get(), 4);
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
    for (const Owned<Queue>& queue : queues_) {
      finish(queue.get());
    }
    for (Slot& slot : slots_) {
      slot.done.reset();
    }
  }

 protected:
  std::vector<Movement>& movements(std::size_t /*part*/) override { return movements_; }

 private:
  struct Slot {
    Slot(Session& session, const OperationSpec& spec)
        : in(session, spec, Direction::h2d),
          out(session, spec, Direction::d2h),
          kernel(session.make_kernel(copy_kernel)) {}
    Lane in;
    Lane out;
    Owned<Kernel> kernel;
    Owned<Event> done;  ///< set when the last chunk in this slot has left
  };

  void submit(Slot& slot) {
    const Event before = slot.done.get();
    Event written = nullptr;
    Event computed = nullptr;
    Event done = nullptr;
    check(api().clEnqueueWriteBuffer(queues_[0].get(), slot.in.device->handle(), no, 0, bytes_,
                                     slot.in.host->data(), before != nullptr ? 1 : 0,
                                     before != nullptr ? &before : nullptr, &written),
          "clEnqueueWriteBuffer");
    const Owned<Event> own_written(written);
    flush(queues_[0].get());
    check(api().clEnqueueNDRangeKernel(queues_[1].get(), slot.kernel.get(), 1, nullptr, &items_,
                                       nullptr, 1, &written, &computed),
          "clEnqueueNDRangeKernel");
    const Owned<Event> own_computed(computed);
    flush(queues_[1].get());
    check(api().clEnqueueReadBuffer(queues_[2].get(), slot.out.device->handle(), no, 0, bytes_,
                                    slot.out.host->data(), 1, &computed, &done),
          "clEnqueueReadBuffer");
    flush(queues_[2].get());
    slot.done.reset(done);
  }

  std::size_t bytes_;
  std::size_t items_;
  OpaqueZero zero_;
  std::array<Owned<Queue>, 3> queues_;
  std::vector<Slot> slots_;
  std::vector<Movement> movements_;
  std::deque<QueueEnd> ends_;
};

/// A buffer on the device and a staging buffer, with copies that begin at once and complete
/// together.
class BufferStaging final : public Staging {
 public:
  BufferStaging(const Session& session, const std::string& memory, std::size_t bytes)
      : session_(&session),
        host_(session, memory, bytes),
        device_(session, bytes),
        end_(session.queue()) {}

  [[nodiscard]] std::span<std::byte> host() override { return {host_.data(), device_.bytes()}; }
  [[nodiscard]] Memory& device() override { return device_; }
  [[nodiscard]] bool keeps_data() const override { return session_->keeps_data(); }
  void to_host() override {
    check(api().clEnqueueReadBuffer(session_->queue(), device_.handle(), no, 0, device_.bytes(),
                                    host_.data(), 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  }
  void to_device() override {
    check(api().clEnqueueWriteBuffer(session_->queue(), device_.handle(), no, 0, device_.bytes(),
                                     host_.data(), 0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
  }
  void complete() override { finish(session_->queue()); }

 private:
  const Session* session_;
  HostEnd host_;
  DeviceMemory device_;
  QueueEnd end_;
};

/// Wraps an operation on a device that keeps no data: its calls are timed and nothing is verified.
class CallsOnly final : public Operation {
 public:
  explicit CallsOnly(std::unique_ptr<Operation> calls) : calls_(std::move(calls)) {}

  [[nodiscard]] std::size_t parts() const override { return calls_->parts(); }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override { return 0; }
  [[nodiscard]] std::uint64_t least_batch() const override { return calls_->least_batch(); }
  [[nodiscard]] bool parts_arm_together() const override { return calls_->parts_arm_together(); }
  [[nodiscard]] bool moves_data() const override { return false; }
  void run(std::size_t part, std::uint64_t repetitions) override { calls_->run(part, repetitions); }

 private:
  std::unique_ptr<Operation> calls_;
};

std::unique_ptr<Operation> make_any(Session& session, const OperationSpec& spec) {
  const auto transfer = [&](std::vector<Direction> parts) {
    return std::make_unique<Transfer>(session, spec, std::move(parts));
  };
  if (spec.name == "write") {
    return transfer({Direction::h2d});
  }
  if (spec.name == "read") {
    return transfer({Direction::d2h});
  }
  if (spec.name == "rw") {
    return transfer({Direction::d2h, Direction::h2d});
  }
  if (spec.name == "bidirectional") {
    return std::make_unique<Bidirectional>(session, spec);
  }
  if (spec.name == "map") {
    return std::make_unique<MapUnmap>(session, spec);
  }
  if (spec.name == "stream") {
    return std::make_unique<Stream>(session, spec);
  }
  if (std::unique_ptr<Operation> operation = make_sweep(session, spec)) {
    return operation;
  }
  if (std::unique_ptr<Operation> operation = make_kernel_operation(session, spec)) {
    return operation;
  }
  throw UsageError("OpenCL has no operation '" + spec.name + "'");
}

}  // namespace

std::unique_ptr<Operation> make_operation(Session& session, const OperationSpec& spec) {
  std::unique_ptr<Operation> operation = make_any(session, spec);
  if (!session.keeps_data()) {
    return std::make_unique<CallsOnly>(std::move(operation));
  }
  return operation;
}

std::unique_ptr<Staging> make_staging(const Session& session, const std::string& memory,
                                      std::size_t bytes) {
  return std::make_unique<BufferStaging>(session, memory, bytes);
}

std::vector<OperationInfo> operations(const std::function<bool(const char*)>& has_kernel,
                                      const std::string& initiator) {
  std::vector<OperationInfo> table = {
      {.name = "write", .parts = {{"write", "h2d", initiator}}, .axes = {queue_depth()}},
      {.name = "read", .parts = {{"read", "d2h", initiator}}, .axes = {queue_depth()}},
      {.name = "rw",
       .parts = {{"read_rw", "d2h", initiator}, {"write_rw", "h2d", initiator}},
       .device_buffers = 2},
      {.name = "bidirectional",
       .parts = {{"bidirectional", "both", initiator}},
       .device_buffers = 2},
      {.name = "map",
       .parts = {{"map", "d2h", initiator}, {"unmap", "h2d", initiator}},
       .memory_kinds = {"alloc_host"}}};
  if (has_kernel(empty_kernel)) {
    table.push_back({.name = "launch", .parts = {{"launch", "", "kernel"}}, .sized = false});
  }
  if (has_kernel(sum_kernel)) {
    table.push_back({.name = "kernel_read",
                     .parts = {{"kernel_read", "", "kernel"}},
                     .memory_kinds = {"device"}});
  }
  if (has_kernel(fill_kernel)) {
    table.push_back({.name = "kernel_write",
                     .parts = {{"kernel_write", "", "kernel"}},
                     .memory_kinds = {"device"}});
  }
  if (has_kernel(copy_kernel)) {
    table.push_back({.name = "stream",
                     .parts = {{"stream", "both", initiator}},
                     .axes = {queue_depth(2)},
                     .device_buffers = 2,
                     .most_bytes = std::uint64_t{64} << 20U});
  }
  return table;
}

}  // namespace isthmus::cl
