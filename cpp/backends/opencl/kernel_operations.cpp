#include "kernel_operations.hpp"

#include <algorithm>

#include "isthmus/sweep.hpp"
#include "kernel_memory.hpp"
#include "kernels.hpp"

namespace isthmus::cl {
std::size_t work_items(const Session& session, std::size_t bytes) {
  const auto units = value_info<Uint>(session.device(), device_max_compute_units);
  if (session.is_cpu()) {
    constexpr std::size_t least_share =
        std::size_t{32} * 1024;  // bytes: below, waking a thread costs more
    return std::clamp<std::size_t>(bytes / least_share, 1, units);
  }
  const auto group = value_info<std::size_t>(session.device(), device_max_work_group_size);
  const std::size_t local = std::min<std::size_t>(group, 256);
  return local * std::clamp<std::size_t>(bytes / 8 / local, 1, std::size_t{units} * 16);
}

namespace {

/// A kernel whose runs the host's clock times, and its event on the device's clock.
class KernelOperation : public Operation {
 public:
  KernelOperation(Session& session, const char* kernel, std::size_t items)
      : queue_(session.make_queue(queue_profiling_enable)),
        kernel_(session.make_kernel(kernel)),
        items_(items) {}

  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    // A kernel that is made for one work item may require a group size of 1.
    const std::size_t* group = items_ == 1 ? &items_ : nullptr;
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      Event event = nullptr;
      check(api().clEnqueueNDRangeKernel(queue_.get(), kernel_.get(), 1, nullptr, &items_, group, 0,
                                         nullptr, &event),
            "clEnqueueNDRangeKernel");
      last_.reset(event);
      finish(queue_.get());
    }
    repetitions_ = repetitions;
  }
  [[nodiscard]] std::optional<double> device_seconds(std::size_t /*part*/) override {
    Ulong begin = 0;
    Ulong end = 0;
    if (repetitions_ != 1 || !last_ ||
        api().clGetEventProfilingInfo(last_.get(), profiling_command_start, sizeof(begin), &begin,
                                      nullptr) != success ||
        api().clGetEventProfilingInfo(last_.get(), profiling_command_end, sizeof(end), &end,
                                      nullptr) != success) {
      return std::nullopt;
    }
    return static_cast<double>(end - begin) * 1e-9;
  }

 protected:
  template <class Value>
  void set_argument(Uint index, const Value& value) const {
    check(api().clSetKernelArg(kernel_.get(), index, sizeof(value), &value), "clSetKernelArg");
  }
  [[nodiscard]] std::size_t items() const { return items_; }
  [[nodiscard]] Kernel kernel() const { return kernel_.get(); }

 private:
  Owned<Queue> queue_;
  Owned<Kernel> kernel_;
  std::size_t items_;
  Owned<Event> last_;
  std::uint64_t repetitions_ = 0;
};

class Launch final : public KernelOperation {
 public:
  explicit Launch(Session& session) : KernelOperation(session, empty_kernel, 1) {}
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override { return 0; }
  [[nodiscard]] bool moves_data() const override { return false; }
};

/// Returns how often one launch sweeps over the buffer.
Ulong sweeps_of(const OperationSpec& spec) { return spec.count("iterations"); }

/// A kernel that reads all of a buffer in each sweep and returns the sum of words, times a key.
class KernelRead final : public KernelOperation {
 public:
  KernelRead(Session& session, const OperationSpec& spec)
      : KernelOperation(session, sum_kernel, work_items(session, spec.bytes)),
        bytes_(spec.bytes),
        sweeps_(sweeps_of(spec)),
        data_(session, spec.memory, spec.bytes),
        partial_(session, items() * sizeof(std::uint64_t)),
        zero_(session) {
    data_.set_argument(kernel(), 0);
    set_argument(1, static_cast<Ulong>(bytes_));
    set_argument(3, partial_.handle());
    set_argument(4, sweeps_);
    zero_.set_argument(kernel(), 5);
  }

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return bytes_ * sweeps_;
  }
  void arm_fully(std::size_t part, std::uint64_t seed) override {
    put_pattern(data_.memory(), bytes_, KernelSum::contents(seed));
    sum_.expect(bytes_, KernelSum::contents(seed), sweeps_);
    arm(part, seed);
  }
  bool arrived_fully(std::size_t part, std::uint64_t seed) override { return arrived(part, seed); }
  void arm(std::size_t /*part*/, std::uint64_t stamp) override {
    set_argument(2, static_cast<Ulong>(KernelSum::key(stamp)));
  }
  bool arrived(std::size_t /*part*/, std::uint64_t stamp) override {
    return sum_.arrived(partial_, items(), stamp);
  }

 private:
  std::size_t bytes_;
  Ulong sweeps_;
  KernelMemory data_;
  DeviceMemory partial_;
  OpaqueZero zero_;
  KernelSum sum_;
};

/// A kernel that writes all of a buffer, with a new pattern in each launch.
class KernelWrite final : public KernelOperation {
 public:
  KernelWrite(Session& session, const OperationSpec& spec)
      : KernelOperation(session, fill_kernel, work_items(session, spec.bytes)),
        bytes_(spec.bytes),
        sweeps_(sweeps_of(spec)),
        data_(session, spec.memory, spec.bytes),
        zero_(session) {
    data_.set_argument(kernel(), 0);
    set_argument(1, static_cast<Ulong>(bytes_));
    set_argument(3, sweeps_);
    zero_.set_argument(kernel(), 4);
  }

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return bytes_ * sweeps_;
  }
  void arm_fully(std::size_t /*part*/, std::uint64_t seed) override {
    poison(data_.memory(), bytes_, seed);
    set_argument(2, static_cast<Ulong>(seed));
  }
  bool arrived_fully(std::size_t /*part*/, std::uint64_t seed) override {
    return holds_pattern(data_.memory(), bytes_, seed);
  }
  void arm(std::size_t /*part*/, std::uint64_t stamp) override {
    set_argument(2, static_cast<Ulong>(seed_of(stamp)));
  }
  bool arrived(std::size_t /*part*/, std::uint64_t stamp) override {
    return holds_pattern_by_page(data_.memory(), bytes_, seed_of(stamp));
  }

 private:
  std::size_t bytes_;
  Ulong sweeps_;
  KernelMemory data_;
  OpaqueZero zero_;
};

/// A kernel that copies one buffer to another.
class KernelCopy final : public KernelOperation {
 public:
  KernelCopy(Session& session, const OperationSpec& spec)
      : KernelOperation(session, copy_kernel, work_items(session, spec.bytes)),
        moved_(2 * spec.bytes * sweeps_of(spec)),
        from_(session, spec.memory, spec.bytes),
        to_(session, spec.memory, spec.bytes),
        zero_(session) {
    from_.set_argument(kernel(), 0);
    to_.set_argument(kernel(), 1);
    set_argument(2, static_cast<Ulong>(spec.bytes));
    set_argument(3, sweeps_of(spec));
    zero_.set_argument(kernel(), 4);
    movements_.emplace_back(from_.memory(), to_.memory(), spec.bytes);
  }

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override { return moved_; }

 protected:
  std::vector<Movement>& movements(std::size_t /*part*/) override { return movements_; }

 private:
  std::uint64_t moved_;
  KernelMemory from_;
  KernelMemory to_;
  OpaqueZero zero_;
  std::vector<Movement> movements_;
};

}  // namespace

std::unique_ptr<Operation> make_kernel_operation(Session& session, const OperationSpec& spec) {
  if (spec.name == "launch") {
    return std::make_unique<Launch>(session);
  }
  if (spec.name == "kernel_read" || spec.name == "read_bandwidth") {
    return std::make_unique<KernelRead>(session, spec);
  }
  if (spec.name == "kernel_write" || spec.name == "write_bandwidth") {
    return std::make_unique<KernelWrite>(session, spec);
  }
  if (spec.name == "bandwidth") {
    return std::make_unique<KernelCopy>(session, spec);
  }
  return nullptr;
}

}  // namespace isthmus::cl
