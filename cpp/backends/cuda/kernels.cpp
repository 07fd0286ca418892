// Operations by kernels: launches, and kernels that access device memory or mapped host memory.
#include <algorithm>
#include <array>
#include <bit>

#include "isthmus/sweep.hpp"
#include "operations.hpp"

namespace isthmus::cuda {
namespace {

/// A buffer that kernels access, in device memory or in host memory of kind `mapped`.
class KernelMemory {
 public:
  KernelMemory(const Session& session, const std::string& kind, std::size_t bytes) {
    if (kind == "device") {
      device_ = std::make_unique<DeviceMemory>(session, bytes);
      address_ = device_->address();
    } else if (kind == "mapped") {
      host_ = std::make_unique<HostEnd>(kind, bytes);
      address_ = host_->device_address();
    } else {
      throw UsageError("kernels reach memory of kind 'device' or 'mapped', not '" + kind + "'");
    }
  }

  [[nodiscard]] Memory& memory() const {
    return device_ ? static_cast<Memory&>(*device_) : host_->memory();
  }
  [[nodiscard]] Address address() const { return address_; }

 private:
  std::unique_ptr<DeviceMemory> device_;
  std::unique_ptr<HostEnd> host_;
  Address address_ = 0;
};

template <std::size_t count>
std::array<void*, count> pointers_to(std::array<std::uint64_t, count>& values) {
  std::array<void*, count> pointers{};
  std::ranges::transform(values, pointers.begin(), [](std::uint64_t& value) { return &value; });
  return pointers;
}

/// A kernel whose runs the host's clock times, and two events on the device's clock.
template <std::size_t arguments>
class KernelOperation : public Operation {
 public:
  KernelOperation(Session& session, const char* kernel, unsigned blocks)
      : kernel_(session.kernel(kernel)), blocks_(blocks), stream_(session.stream()) {}

  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      check(api().cuEventRecord(begin_.get(), stream_), "cuEventRecord");
      launch(kernel_, blocks_, stream_, pointers_.data());
      check(api().cuEventRecord(end_.get(), stream_), "cuEventRecord");
      synchronise(stream_);
    }
    repetitions_ = repetitions;
  }
  [[nodiscard]] std::optional<double> device_seconds(std::size_t /*part*/) override {
    float milliseconds = 0;
    if (repetitions_ != 1 ||
        api().cuEventElapsedTime(&milliseconds, begin_.get(), end_.get()) != success) {
      return std::nullopt;
    }
    return static_cast<double>(milliseconds) * 1e-3;
  }

 protected:
  void set_argument(std::size_t index, std::uint64_t value) { values_[index] = value; }
  [[nodiscard]] unsigned blocks() const { return blocks_; }

 private:
  Function kernel_;
  unsigned blocks_;
  Stream stream_;
  Owned<Event> begin_ = Session::make_event(event_default);
  Owned<Event> end_ = Session::make_event(event_default);
  std::array<std::uint64_t, arguments> values_{};
  std::array<void*, arguments> pointers_ = pointers_to(values_);
  std::uint64_t repetitions_ = 0;
};

/// Launches an empty kernel of one block.
class Launch final : public Operation {
 public:
  explicit Launch(Session& session)
      : kernel_(session.kernel("isthmus_empty")), stream_(session.stream()) {}

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override { return 0; }
  [[nodiscard]] bool moves_data() const override { return false; }
  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      launch(kernel_, 1, stream_, nullptr);
      synchronise(stream_);
    }
  }

 private:
  Function kernel_;
  Stream stream_;
};

/// Launches a graph whose only node is the empty kernel.
class GraphLaunch final : public Operation {
 public:
  explicit GraphLaunch(Session& session) : stream_(session.stream()) {
    const Function kernel = session.kernel("isthmus_empty");
    check(api().cuStreamBeginCapture(stream_, capture_thread_local), "cuStreamBeginCapture");
    launch(kernel, 1, stream_, nullptr);
    Graph graph = nullptr;
    check(api().cuStreamEndCapture(stream_, &graph), "cuStreamEndCapture");
    const Owned<Graph> captured(graph);
    GraphExec made = nullptr;
    check(api().cuGraphInstantiate(&made, captured.get(), 0), "cuGraphInstantiate");
    graph_.reset(made);
  }

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override { return 0; }
  [[nodiscard]] bool moves_data() const override { return false; }
  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      check(api().cuGraphLaunch(graph_.get(), stream_), "cuGraphLaunch");
      synchronise(stream_);
    }
  }

 private:
  Stream stream_;
  Owned<GraphExec> graph_;
};

/// Returns how often one launch sweeps over the buffer.
std::uint64_t sweeps_of(const OperationSpec& spec) { return spec.count("iterations"); }

/// A kernel that reads all of a buffer in each sweep and returns the sum of words, times a key.
class KernelRead final : public KernelOperation<5> {
 public:
  KernelRead(Session& session, const OperationSpec& spec)
      : KernelOperation(session, "isthmus_sum", blocks_for(session.device(), spec.bytes)),
        bytes_(spec.bytes),
        sweeps_(sweeps_of(spec)),
        data_(session, spec.memory, spec.bytes),
        partial_(session, blocks() * sizeof(std::uint64_t)) {
    set_argument(0, data_.address());
    set_argument(1, bytes_);
    set_argument(3, partial_.address());
    set_argument(4, sweeps_);
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
    set_argument(2, KernelSum::key(stamp));
  }
  bool arrived(std::size_t /*part*/, std::uint64_t stamp) override {
    return sum_.arrived(partial_, blocks(), stamp);
  }

 private:
  std::uint64_t bytes_;
  std::uint64_t sweeps_;
  KernelMemory data_;
  DeviceMemory partial_;
  KernelSum sum_;
};

/// A kernel that writes all of a buffer, with a new pattern in each launch.
class KernelWrite final : public KernelOperation<4> {
 public:
  KernelWrite(Session& session, const OperationSpec& spec)
      : KernelOperation(session, "isthmus_fill", blocks_for(session.device(), spec.bytes)),
        bytes_(spec.bytes),
        sweeps_(sweeps_of(spec)),
        data_(session, spec.memory, spec.bytes) {
    set_argument(0, data_.address());
    set_argument(1, bytes_);
    set_argument(3, sweeps_);
  }

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return bytes_ * sweeps_;
  }
  void arm_fully(std::size_t /*part*/, std::uint64_t seed) override {
    poison(data_.memory(), bytes_, seed);
    set_argument(2, seed);
  }
  bool arrived_fully(std::size_t /*part*/, std::uint64_t seed) override {
    return holds_pattern(data_.memory(), bytes_, seed);
  }
  void arm(std::size_t /*part*/, std::uint64_t stamp) override { set_argument(2, seed_of(stamp)); }
  bool arrived(std::size_t /*part*/, std::uint64_t stamp) override {
    return holds_pattern_by_page(data_.memory(), bytes_, seed_of(stamp));
  }

 private:
  std::uint64_t bytes_;
  std::uint64_t sweeps_;
  KernelMemory data_;
};

/// A kernel that copies one buffer to another in each sweep. `counted` is how often the buffer's
/// bytes count as moved in one sweep.
class KernelCopy final : public KernelOperation<4> {
 public:
  KernelCopy(Session& session, const OperationSpec& spec, const std::string& from,
             const std::string& to, std::uint64_t counted)
      : KernelOperation(session, "isthmus_copy", blocks_for(session.device(), spec.bytes)),
        moved_(counted * spec.bytes * sweeps_of(spec)),
        from_(session, from, spec.bytes),
        to_(session, to, spec.bytes) {
    movements_.emplace_back(from_.memory(), to_.memory(), spec.bytes);
    set_argument(0, from_.address());
    set_argument(1, to_.address());
    set_argument(2, spec.bytes);
    set_argument(3, sweeps_of(spec));
  }

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override { return moved_; }

 protected:
  std::vector<Movement>& movements(std::size_t /*part*/) override { return movements_; }

 private:
  std::uint64_t moved_;
  KernelMemory from_;
  KernelMemory to_;
  std::vector<Movement> movements_;
};

/// Loads along a ring through the whole buffer, where each load gives the next address. One load is
/// a repetition. A batch begins where the last one ended, so that no cache has the next lines. The
/// device times the loads without the launch.
class PointerChase final : public Operation {
 public:
  PointerChase(Session& session, const OperationSpec& spec)
      : stream_(session.stream()),
        chase_(session.kernel("isthmus_chase")),
        lines_(std::bit_floor(std::max<std::uint64_t>(spec.bytes / line_bytes, 1))),
        ring_(session, spec.memory, lines_ * line_bytes),
        walk_("mapped", sizeof(Walk)),
        walk_address_(walk_.device_address()),
        at_(ring_.address()) {
    std::array<std::uint64_t, 4> values = {ring_.address(), lines_, multiplier, increment};
    std::array<void*, 4> arguments = pointers_to(values);
    launch(session.kernel("isthmus_link"), blocks_for(session.device(), lines_ * line_bytes),
           stream_, arguments.data());
    synchronise(stream_);
  }

  /// Returns 0: the operation measures latency, so its bytes are not a bandwidth.
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override { return 0; }
  /// Returns loads for several milliseconds, beside which a launch of microseconds is negligible.
  [[nodiscard]] std::uint64_t least_batch() const override { return 4096; }

  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    from_ = at_;
    loads_ = repetitions;
    std::array<void*, 3> arguments = {&from_, &loads_, &walk_address_};
    launch(chase_, 1, stream_, arguments.data(), 1);
    synchronise(stream_);
    at_ = walk().at;
  }
  [[nodiscard]] std::optional<double> device_seconds(std::size_t /*part*/) override {
    return static_cast<double>(walk().nanoseconds) * 1e-9;
  }

  void arm_fully(std::size_t part, std::uint64_t seed) override { arm(part, seed); }
  bool arrived_fully(std::size_t part, std::uint64_t seed) override { return arrived(part, seed); }
  void arm(std::size_t /*part*/, std::uint64_t /*stamp*/) override { walk() = {}; }
  /// Returns whether the walk ended at the line that its number of steps leads to.
  bool arrived(std::size_t /*part*/, std::uint64_t /*stamp*/) override {
    std::uint64_t line = (from_ - ring_.address()) / line_bytes;
    for (std::uint64_t i = 0; i < loads_; ++i) {
      line = (multiplier * line + increment) & (lines_ - 1);
    }
    return walk().at == ring_.address() + line * line_bytes;
  }

 private:
  struct Walk {
    Address at;
    std::uint64_t nanoseconds;
  };
  static constexpr std::uint64_t line_bytes = 128;  // the same as in kernels/cuda/transfer.cu
  static constexpr std::uint64_t multiplier = 0x5DEECE66D;
  static constexpr std::uint64_t increment = 0xB504F333;

  [[nodiscard]] Walk& walk() const { return *reinterpret_cast<Walk*>(walk_.data()); }

  Stream stream_;
  Function chase_;
  std::uint64_t lines_;
  KernelMemory ring_;
  HostEnd walk_;
  Address walk_address_;
  Address at_;
  Address from_ = 0;
  std::uint64_t loads_ = 0;
};

}  // namespace

std::unique_ptr<Operation> make_launch(const Opened& opened, const OperationSpec& /*spec*/) {
  return std::make_unique<Launch>(opened.session);
}

std::unique_ptr<Operation> make_graph_launch(const Opened& opened, const OperationSpec& /*spec*/) {
  return std::make_unique<GraphLaunch>(opened.session);
}

std::unique_ptr<Operation> make_kernel_read(const Opened& opened, const OperationSpec& spec) {
  return std::make_unique<KernelRead>(opened.session, spec);
}

std::unique_ptr<Operation> make_kernel_write(const Opened& opened, const OperationSpec& spec) {
  return std::make_unique<KernelWrite>(opened.session, spec);
}

std::unique_ptr<Operation> make_kernel_bandwidth(const Opened& opened, const OperationSpec& spec) {
  return std::make_unique<KernelCopy>(opened.session, spec, spec.memory, spec.memory, 2);
}

std::unique_ptr<Operation> make_copy_sm_write(const Opened& opened, const OperationSpec& spec) {
  // The kernel does what a copy engine would do.
  return std::make_unique<KernelCopy>(opened.session, spec, spec.memory, "device", 1);
}

std::unique_ptr<Operation> make_copy_sm_read(const Opened& opened, const OperationSpec& spec) {
  return std::make_unique<KernelCopy>(opened.session, spec, "device", spec.memory, 1);
}

std::unique_ptr<Operation> make_pointer_chase(const Opened& opened, const OperationSpec& spec) {
  return std::make_unique<PointerChase>(opened.session, spec);
}

}  // namespace isthmus::cuda
