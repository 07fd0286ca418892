#include "offload.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace isthmus::cl {
namespace {

constexpr const char* source = R"(
kernel void vadd(global const int* in1, global const int* in2, global int* out, uint size) {
  const size_t i = get_global_id(0);
  if (i < size) out[i] = in1[i] + in2[i];
}
)";
/// The number of work items is a multiple of this, so that a runtime can form large groups.
constexpr std::size_t group = 256;

constexpr const char* user_pointer = "user_pointer";
constexpr const char* copy = "copy";

constexpr const char* svm = "svm";

/// Context, queue and kernels, which a process creates once.
class Prepared {
 public:
  Prepared(Phases& phases, const std::function<Target()>& choose, bool with_pointers) {
    phases("initialise", [&] {
      target_ = choose();
      Int code = success;
      context_.reset(api().clCreateContext(nullptr, 1, &target_.device, nullptr, nullptr, &code));
      check(code, "clCreateContext");
      queue_.reset(api().clCreateCommandQueue(context_.get(), target_.device, 0, &code));
      check(code, "clCreateCommandQueue");
    });
    phases("program_device", [&] {
      program_ = built_program(context_.get(), target_.device, source, target_.binary);
      Int code = success;
      kernel_.reset(api().clCreateKernel(program_.get(), vadd_kernel, &code));
      check(code, "clCreateKernel");
      if (with_pointers) {
        on_pointers_.reset(api().clCreateKernel(program_.get(), vadd_kernel, &code));
        check(code, "clCreateKernel");
      }
    });
  }

  [[nodiscard]] const Target& target() const { return target_; }
  [[nodiscard]] Context context() const { return context_.get(); }
  [[nodiscard]] Queue queue() const { return queue_.get(); }
  [[nodiscard]] Kernel kernel() const { return kernel_.get(); }
  /// Returns the kernel for arguments that are pointers: NVIDIA's driver refuses pointers in a
  /// kernel object that has had buffers.
  [[nodiscard]] Kernel on_pointers() const { return on_pointers_.get(); }

 private:
  Target target_;
  Owned<Context> context_;
  Owned<Queue> queue_;
  Owned<Program> program_;
  Owned<Kernel> kernel_;
  Owned<Kernel> on_pointers_;
};

/// A way to hand two vectors to the device and to get the third back.
class Way {
 public:
  explicit Way(const Prepared& program) : program_(&program) {}
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
  virtual ~Way() = default;

  [[nodiscard]] virtual Kernel kernel() const { return program_->kernel(); }
  /// Executes `allocate` and `populate`, and `map` if the vectors are mapped.
  virtual void begin(Phases& phases, std::uint64_t seed) = 0;
  virtual void set_arguments() = 0;
  /// Enqueues the transfers of both operands.
  virtual void send() = 0;
  virtual void read_back() = 0;
  /// Returns all three vectors in host memory; not timed.
  virtual Vectors result() = 0;

 protected:
  [[nodiscard]] const Prepared& program() const { return *program_; }
  [[nodiscard]] Owned<Mem> buffer(Bitfield flags, std::size_t bytes, void* host) const {
    Int code = success;
    Owned<Mem> made(api().clCreateBuffer(program_->context(), flags, bytes, host, &code));
    check(code, "clCreateBuffer");
    return made;
  }
  void set(Uint index, Mem buffer) const {
    check(api().clSetKernelArg(kernel(), index, sizeof(buffer), &buffer), "clSetKernelArg");
  }

 private:
  const Prepared* program_;
};

/// Vectors in mapped buffers: on the user's memory (CL_MEM_USE_HOST_PTR) or on the runtime's.
class Mapped final : public Way {
 public:
  Mapped(const Prepared& program, const Offload& offload)
      : Way(program), offload_(&offload), own_(offload.memory() != "alloc_host") {}
  ~Mapped() override {
    for (Vector& vector : vectors_) {
      unmap(vector);
    }
    api().clFinish(program().queue());
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  void begin(Phases& phases, std::uint64_t seed) override {
    const Offload& offload = *offload_;
    if (own_) {
      phases("allocate", [&] {
        host_.emplace(offload.memory(), offload.elements(), offload.relative_offset());
      });
      phases("populate", [&] { populate(host_->get(), seed); });
      const Vectors at = host_.value().get();
      phases("map", [&] { make({at.a, at.b, at.c}, mem_use_host_ptr); });
      return;
    }
    phases("allocate", [&] { make({}, mem_alloc_host_ptr); });
    phases("map", [&] {
      map(vectors_[0], map_write);
      map(vectors_[1], map_write);
    });
    phases("populate", [&] { populate(seen(), seed); });
  }
  void set_arguments() override {
    for (Uint i = 0; i < vectors_.size(); ++i) {
      set(i, vectors_.at(i).buffer.get());
    }
  }
  void send() override {
    unmap(vectors_[0]);
    unmap(vectors_[1]);
    const std::array<Mem, 2> operands = {vectors_[0].buffer.get(), vectors_[1].buffer.get()};
    check(api().clEnqueueMigrateMemObjects(program().queue(), operands.size(), operands.data(), 0,
                                           0, nullptr, nullptr),
          "clEnqueueMigrateMemObjects");
  }
  void read_back() override { map(vectors_[2], map_read | map_write); }
  Vectors result() override {
    map(vectors_[0], map_read);
    map(vectors_[1], map_read);
    return seen();
  }

 private:
  struct Vector {
    Owned<Mem> buffer;
    void* mapped = nullptr;
  };

  void make(const std::array<void*, 3>& host, Bitfield flags) {
    constexpr std::array<Bitfield, 3> uses = {mem_read_only, mem_read_only, mem_write_only};
    for (std::size_t i = 0; i < vectors_.size(); ++i) {
      vectors_.at(i).buffer = buffer(flags | uses.at(i), offload_->bytes(), host.at(i));
    }
  }
  void map(Vector& vector, Bitfield how) const {
    Int code = success;
    vector.mapped = api().clEnqueueMapBuffer(program().queue(), vector.buffer.get(), yes, how, 0,
                                             offload_->bytes(), 0, nullptr, nullptr, &code);
    check(code, "clEnqueueMapBuffer");
  }
  void unmap(Vector& vector) const {
    if (vector.mapped != nullptr) {
      api().clEnqueueUnmapMemObject(program().queue(), vector.buffer.get(),
                                    std::exchange(vector.mapped, nullptr), 0, nullptr, nullptr);
    }
  }
  [[nodiscard]] Vectors seen() const {
    return {.a = static_cast<Element*>(vectors_[0].mapped),
            .b = static_cast<Element*>(vectors_[1].mapped),
            .c = static_cast<Element*>(vectors_[2].mapped),
            .elements = offload_->elements()};
  }

  const Offload* offload_;
  bool own_;
  std::optional<HostVectors> host_;
  std::array<Vector, 3> vectors_;
};

/// Vectors in the user's memory, which commands copy to buffers of the device and back.
class Copied final : public Way {
 public:
  Copied(const Prepared& program, const Offload& offload)
      : Way(program), offload_(&offload), end_(program.queue()) {}

  void begin(Phases& phases, std::uint64_t seed) override {
    phases("allocate", [&] {
      host_.emplace(offload_->memory(), offload_->elements(), offload_->relative_offset());
      for (Owned<Mem>& vector : buffers_) {
        vector = buffer(mem_read_write, offload_->bytes(), nullptr);
      }
    });
    phases("populate", [&] { populate(host_->get(), seed); });
  }
  void set_arguments() override {
    for (Uint i = 0; i < buffers_.size(); ++i) {
      set(i, buffers_.at(i).get());
    }
  }
  void send() override {
    const Vectors from = host_.value().get();
    write(buffers_[0].get(), from.a);
    write(buffers_[1].get(), from.b);
  }
  void read_back() override {
    check(api().clEnqueueReadBuffer(program().queue(), buffers_[2].get(), yes, 0, offload_->bytes(),
                                    host_.value().get().c, 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  }
  Vectors result() override { return host_.value().get(); }

 private:
  void write(Mem to, const Element* from) const {
    check(api().clEnqueueWriteBuffer(program().queue(), to, no, 0, offload_->bytes(), from, 0,
                                     nullptr, nullptr),
          "clEnqueueWriteBuffer");
  }

  const Offload* offload_;
  std::optional<HostVectors> host_;
  std::array<Owned<Mem>, 3> buffers_;
  QueueEnd end_;
};

/// Vectors in coarse-grained shared virtual memory, with pointers that host and device both use.
class Shared final : public Way {
 public:
  Shared(const Prepared& program, const Offload& offload) : Way(program), offload_(&offload) {}
  ~Shared() override {
    api().clFinish(program().queue());
    for (void* vector : vectors_) {
      api().clSVMFree(program().context(), vector);
    }
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  [[nodiscard]] Kernel kernel() const override { return program().on_pointers(); }
  void begin(Phases& phases, std::uint64_t seed) override {
    phases("allocate", [&] {
      for (void*& vector : vectors_) {
        vector = api().clSVMAlloc(program().context(), mem_read_write, offload_->bytes(), 0);
        if (vector == nullptr) {
          throw BackendError("clSVMAlloc: no memory");
        }
      }
    });
    phases("map", [&] {
      map(0, map_write);
      map(1, map_write);
    });
    phases("populate", [&] { populate(seen(), seed); });
  }
  void set_arguments() override {
    for (Uint i = 0; i < vectors_.size(); ++i) {
      check(api().clSetKernelArgSVMPointer(kernel(), i, vectors_.at(i)),
            "clSetKernelArgSVMPointer");
    }
  }
  void send() override {
    for (void* vector : {vectors_[0], vectors_[1]}) {
      check(api().clEnqueueSVMUnmap(program().queue(), vector, 0, nullptr, nullptr),
            "clEnqueueSVMUnmap");
    }
  }
  void read_back() override { map(2, map_read | map_write); }
  Vectors result() override {
    map(0, map_read);
    map(1, map_read);
    return seen();
  }

 private:
  void map(std::size_t index, Bitfield how) const {
    check(api().clEnqueueSVMMap(program().queue(), yes, how, vectors_.at(index), offload_->bytes(),
                                0, nullptr, nullptr),
          "clEnqueueSVMMap");
  }
  [[nodiscard]] Vectors seen() const {
    return {.a = static_cast<Element*>(vectors_[0]),
            .b = static_cast<Element*>(vectors_[1]),
            .c = static_cast<Element*>(vectors_[2]),
            .elements = offload_->elements()};
  }

  const Offload* offload_;
  std::array<void*, 3> vectors_{};
};

class OpenclOffload final : public Offload {
 public:
  OpenclOffload(const OperationSpec& spec, std::function<Target()> choose)
      : Offload(spec), choose_(std::move(choose)) {}

  void prepare(Phases& phases) override { program_.emplace(phases, choose_, memory() == svm); }

  void run(Phases& phases, std::uint64_t seed) override {
    way_ = make_way();
    way_->begin(phases, seed);
    // Arguments are set before the sends, because an FPGA's runtime places a buffer where its
    // kernel is.
    phases("set_arguments", [&] {
      way_->set_arguments();
      const auto size = static_cast<Uint>(elements());
      check(api().clSetKernelArg(way_->kernel(), 3, sizeof(size), &size), "clSetKernelArg");
    });
    const Queue queue = program_.value().queue();
    phases("migrate_to_device", [&] {
      way_->send();
      check(api().clFlush(queue), "clFlush");
    });
    phases("migrate_to_device_wait", [&] { finish(queue); });
    phases("kernel_enqueue", [&] {
      const bool task = !program_->target().binary.empty();
      const std::size_t one = 1;
      const std::size_t items = task ? one : (elements() + group - 1) / group * group;
      check(api().clEnqueueNDRangeKernel(queue, way_->kernel(), 1, nullptr, &items,
                                         task ? &one : nullptr, 0, nullptr, nullptr),
            "clEnqueueNDRangeKernel");
      check(api().clFlush(queue), "clFlush");
    });
    phases("kernel_run", [&] { finish(queue); });
    phases("read_back", [&] {
      way_->read_back();
      finish(queue);
    });
  }
  std::optional<Vectors> result() override { return way_->result(); }
  [[nodiscard]] bool verifiable() const override {
    const Target& target = program_.value().target();
    return target.binary.empty() || Session(target.device, target.binary).keeps_data();
  }
  void release() override { way_.reset(); }

 private:
  [[nodiscard]] std::unique_ptr<Way> make_way() const {
    if (memory() == svm) {
      return std::make_unique<Shared>(program_.value(), *this);
    }
    if (spec().word("handover", user_pointer) == copy) {
      return std::make_unique<Copied>(program_.value(), *this);
    }
    return std::make_unique<Mapped>(program_.value(), *this);
  }

  std::function<Target()> choose_;
  std::optional<Prepared> program_;
  std::unique_ptr<Way> way_;
};

}  // namespace

bool shares_pointers(DeviceId device) {
  Bitfield capabilities = 0;
  // Devices before OpenCL 2.0 answer the query with an error.
  return api().clSVMAlloc != nullptr && api().clSVMFree != nullptr &&
         api().clEnqueueSVMMap != nullptr && api().clEnqueueSVMUnmap != nullptr &&
         api().clSetKernelArgSVMPointer != nullptr &&
         api().clGetDeviceInfo(device, device_svm_capabilities, sizeof(capabilities), &capabilities,
                               nullptr) == success &&
         (capabilities & svm_coarse_grain_buffer) != 0;
}

std::vector<OperationInfo> offloads(bool shares_pointers) {
  OperationInfo handed = user_offload(device_phases(true));
  handed.axes.push_back({.name = "handover", .usual = user_pointer, .values = {user_pointer}});
  OperationInfo copied = user_offload(device_phases(false));
  copied.axes.push_back({.name = "handover", .usual = user_pointer, .values = {copy}});
  OperationInfo own = offload_of(device_phases(true));
  own.memory_kinds = {"alloc_host"};
  if (shares_pointers) {
    own.memory_kinds.emplace_back(svm);
  }
  return {handed, copied, own};
}

std::unique_ptr<Offload> make_offload(const OperationSpec& spec, std::function<Target()> choose) {
  return std::make_unique<OpenclOffload>(spec, std::move(choose));
}

}  // namespace isthmus::cl
