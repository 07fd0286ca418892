#include "offload.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <optional>

namespace isthmus::xrt_native {
namespace {

constexpr const char* user_pointer = "user_pointer";
constexpr const char* copy = "copy";
constexpr const char* own_memory = "alloc_host";
constexpr const char* reachable_memory = "host_only";

constexpr auto to_device = XCL_BO_SYNC_BO_TO_DEVICE;
constexpr auto from_device = XCL_BO_SYNC_BO_FROM_DEVICE;

/// A way to hand two vectors to the device and to get the third back.
class Way {
 public:
  Way(const Session& session, const Offload& offload) : session_(&session), offload_(&offload) {}
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
  virtual ~Way() = default;

  /// Executes `allocate` and `populate`, and `map` if the vectors are mapped.
  virtual void begin(Phases& phases, std::uint64_t seed) = 0;
  virtual void send() {
    buffers_[0].sync(to_device);
    buffers_[1].sync(to_device);
  }
  virtual void read_back() { buffers_[2].sync(from_device); }
  virtual Vectors result() = 0;

  [[nodiscard]] const std::array<xrt::bo, 3>& buffers() const { return buffers_; }

 protected:
  [[nodiscard]] const Offload& offload() const { return *offload_; }
  /// Creates the buffer for vector `index`, by `make`, in the memory that the kernel's argument
  /// needs.
  template <class Make>
  void make(bool on_host, const Make& make_one) {
    const BufferKernel& kernel = session_->contents().vadd.value();
    const std::vector<Bank>& banks = on_host ? kernel.host : kernel.card;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      buffers_.at(i) = make_one(*session_, i, banks.at(i));
    }
  }
  [[nodiscard]] xrt::bo& buffer(std::size_t index) { return buffers_.at(index); }

 private:
  const Session* session_;
  const Offload* offload_;
  std::array<xrt::bo, 3> buffers_;
};

std::array<void*, 3> each(const Vectors& vectors) { return {vectors.a, vectors.b, vectors.c}; }

/// Vectors in the program's memory, on which buffer objects are created.
class Handed final : public Way {
 public:
  using Way::Way;
  ~Handed() override {
    for (std::size_t i = 0; i < buffers().size(); ++i) {
      buffer(i) = {};  // a buffer object must not outlive the program's memory
    }
  }
  Handed(const Handed&) = delete;
  Handed& operator=(const Handed&) = delete;

  void begin(Phases& phases, std::uint64_t seed) override {
    phases("allocate", [&] {
      host_.emplace(offload().memory(), offload().elements(), offload().relative_offset());
    });
    phases("populate", [&] { populate(host_->get(), seed); });
    phases("map", [&] {
      make(false, [&](const Session& session, std::size_t i, const Bank& bank) {
        return on(session, each(host_->get()).at(i), bank);
      });
    });
  }
  Vectors result() override { return host_.value().get(); }

 private:
  [[nodiscard]] xrt::bo on(const Session& session, void* vector, const Bank& bank) const {
    try {
      return session.make_buffer(vector, offload().bytes(), bank);
    } catch (const std::exception& error) {
      if (reinterpret_cast<std::uintptr_t>(vector) % page_bytes == 0) {
        throw;
      }
      throw UnavailableError(std::string("XRT does not accept memory that begins within a page (") +
                             error.what() + "): such vectors go with --handover copy only");
    }
  }

  std::optional<HostVectors> host_;
};

/// Vectors in the buffer objects' own memory, where the program writes and reads them.
class Own final : public Way {
 public:
  using Way::Way;

  void begin(Phases& phases, std::uint64_t seed) override {
    const bool on_host = offload().memory() == reachable_memory;
    phases("allocate", [&] {
      make(on_host, [&](const Session& session, std::size_t /*i*/, const Bank& bank) {
        return session.make_buffer(offload().bytes(), bank,
                                   on_host ? xrt::bo::flags::host_only : xrt::bo::flags::normal);
      });
    });
    phases("map", [&] {
      vectors_ = {.a = static_cast<Element*>(buffer(0).map()),
                  .b = static_cast<Element*>(buffer(1).map()),
                  .c = static_cast<Element*>(buffer(2).map()),
                  .elements = offload().elements()};
    });
    phases("populate", [&] { populate(vectors_, seed); });
  }
  Vectors result() override { return vectors_; }

 private:
  Vectors vectors_;
};

/// Vectors in the program's memory, which copies them to the buffer objects' memory and back.
class Copied final : public Way {
 public:
  using Way::Way;

  void begin(Phases& phases, std::uint64_t seed) override {
    phases("allocate", [&] {
      host_.emplace(offload().memory(), offload().elements(), offload().relative_offset());
      make(false, [&](const Session& session, std::size_t /*i*/, const Bank& bank) {
        return session.make_buffer(offload().bytes(), bank);
      });
    });
    phases("populate", [&] { populate(host_->get(), seed); });
  }
  void send() override {
    const Vectors from = host_.value().get();
    buffer(0).write(from.a);
    buffer(1).write(from.b);
    Way::send();
  }
  void read_back() override {
    Way::read_back();
    buffer(2).read(host_.value().get().c);
  }
  Vectors result() override { return host_.value().get(); }

 private:
  std::optional<HostVectors> host_;
};

class XrtOffload final : public Offload {
 public:
  XrtOffload(const OperationSpec& spec, BoardId board, Options options)
      : Offload(spec), board_(std::move(board)), options_(std::move(options)) {}

  void prepare(Phases& phases) override {
    through_xrt([&] { start(phases); });
  }
  void run(Phases& phases, std::uint64_t seed) override {
    through_xrt([&] { add(phases, seed); });
  }
  std::optional<Vectors> result() override { return way_->result(); }
  [[nodiscard]] bool verifiable() const override {
    return through_xrt([&] {
      Session again(board_);
      again.prepare(options_);
      return again.keeps_data();
    });
  }
  void release() override { way_.reset(); }

  static constexpr const char* no_vadd =
      "its bitstream has no kernel vadd linked to card memory: build kernels/vitis and name the "
      "file with --xclbin";

 private:
  void start(Phases& phases) {
    phases("initialise", [&] { session_.emplace(board_); });
    phases("program_device", [&] {
      session_->program(options_);
      if (!session_->contents().vadd) {
        throw BackendError(no_vadd);
      }
      kernel_ = session_->make_kernel(vadd_kernel);
    });
  }

  void add(Phases& phases, std::uint64_t seed) {
    way_ = make_way();
    way_->begin(phases, seed);
    phases("migrate_to_device", [&] { way_->send(); });
    xrt::run run;
    phases("set_arguments", [&] {
      run = xrt::run(kernel_);
      int argument = 0;
      for (const xrt::bo& buffer : way_->buffers()) {
        run.set_arg(argument++, buffer);
      }
      run.set_arg(argument, static_cast<std::uint32_t>(elements()));
    });
    phases("kernel_enqueue", [&] { run.start(); });
    phases("kernel_run", [&] {
      if (run.wait() != ERT_CMD_STATE_COMPLETED) {
        throw BackendError(std::string("kernel ") + vadd_kernel + " did not complete");
      }
    });
    phases("read_back", [&] { way_->read_back(); });
  }

  [[nodiscard]] std::unique_ptr<Way> make_way() const {
    const Session& session = session_.value();
    if (memory() == own_memory || memory() == reachable_memory) {
      return std::make_unique<Own>(session, *this);
    }
    if (spec().word("handover", user_pointer) == copy) {
      return std::make_unique<Copied>(session, *this);
    }
    return std::make_unique<Handed>(session, *this);
  }

  BoardId board_;
  Options options_;
  std::optional<Session> session_;
  xrt::kernel kernel_;
  std::unique_ptr<Way> way_;
};

/// Returns the phases of an offload. XRT's `sync` returns after the data have arrived. So no phase
/// waits for the transfer to the device.
std::vector<std::string> waiting_phases(bool map) {
  std::vector<std::string> phases = device_phases(map);
  std::erase(phases, "migrate_to_device_wait");
  return phases;
}

}  // namespace

std::vector<OperationInfo> offloads(const Contents& contents) {
  if (!contents.vadd) {
    return {};
  }
  OperationInfo handed = user_offload(waiting_phases(true));
  handed.axes.push_back({.name = "handover", .usual = user_pointer, .values = {user_pointer}});
  // For memory that begins within a page only copies work; for other memory programs use both ways.
  OperationInfo copied = user_offload(waiting_phases(false));
  copied.axes.push_back({.name = "handover", .usual = copy, .values = {copy}});
  OperationInfo own = offload_of(waiting_phases(true));
  own.memory_kinds = {own_memory};
  if (!contents.vadd->host.empty()) {
    own.memory_kinds.emplace_back(reachable_memory);
  }
  return {handed, copied, own};
}

std::vector<std::pair<std::string, std::string>> offload_lacks(const Contents& contents) {
  if (!contents.vadd) {
    return {{"offload", XrtOffload::no_vadd}};
  }
  std::vector<std::pair<std::string, std::string>> lacks = {
      {"memory=p2p",
       "not supported: needs buffers of the card that the host maps (P2P), which is untested"}};
  if (contents.vadd->host.empty()) {
    lacks.emplace_back("memory=host_only",
                       "its kernel vadd is not linked to host memory (sp=...:HOST[0])");
  }
  return lacks;
}

std::unique_ptr<Offload> make_offload(const OperationSpec& spec, const BoardId& board,
                                      const Options& options) {
  return std::make_unique<XrtOffload>(spec, board, options);
}

}  // namespace isthmus::xrt_native
