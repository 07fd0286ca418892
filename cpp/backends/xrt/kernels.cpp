#include "kernels.hpp"

#include <algorithm>
#include <deque>
#include <iterator>

#include "buffers.hpp"
#include "isthmus/emulated_card.hpp"
#include "isthmus/sweep.hpp"

namespace isthmus::xrt_native {
namespace {

const BufferKernel* find(const Contents& contents, const std::string& name) {
  const auto found = std::ranges::find(contents.sweep_kernels, name, &BufferKernel::name);
  return found == contents.sweep_kernels.end() ? nullptr : &*found;
}

const std::vector<Bank>& memories_of(const BufferKernel& kernel, bool on_host) {
  return on_host ? kernel.host : kernel.card;
}

using emulated_card::kept_buffers;

xrt::bo host_buffer(const Session& session, const Bank& bank, std::size_t bytes) {
  const auto kept = kept_buffers<xrt::bo>().take(bytes);
  return kept ? *kept : session.make_buffer(bytes, bank, xrt::bo::flags::host_only);
}

/// A buffer that a kernel works on, and access to its contents for the verification.
class Worked {
 public:
  Worked(const Session& session, const Bank& bank, bool on_host, std::size_t bytes)
      : buffer_(on_host ? host_buffer(session, bank, bytes) : session.make_buffer(bytes, bank)),
        on_host_(on_host) {
    if (on_host) {
      memory_ = std::make_unique<HostView>(buffer_.map<std::byte*>(), bytes);
    } else {
      memory_ = std::make_unique<DeviceSide>(buffer_, bytes);
    }
  }
  ~Worked() {
    if (on_host_) {
      kept_buffers<xrt::bo>().keep(memory_->bytes(), buffer_);
    }
  }
  Worked(const Worked&) = delete;
  Worked& operator=(const Worked&) = delete;
  [[nodiscard]] const xrt::bo& buffer() const { return buffer_; }
  [[nodiscard]] Memory& memory() const { return *memory_; }

 private:
  xrt::bo buffer_;
  bool on_host_;
  std::unique_ptr<Memory> memory_;
};

class Sweep final : public SweepOperation {
 public:
  Sweep(const Session& session, const OperationSpec& spec, const BufferKernel& kernel)
      : SweepOperation(spec), run_(session.make_run(spec.name.c_str())) {
    const bool on_host = spec.word("target", "host") == "host";
    const std::vector<Bank>& banks = memories_of(kernel, on_host);
    if (banks.size() != buffers(name())) {
      throw BackendError("kernel " + name() + " does not reach that memory");
    }
    std::vector<Memory*> memories;
    int argument = 0;
    for (unsigned i = 0; i < buffers(name()); ++i) {
      Worked& worked = worked_.emplace_back(session, banks[i], on_host, spec.bytes);
      memories.push_back(&worked.memory());
      run_.set_arg(argument++, worked.buffer());
    }
    run_.set_arg(argument++, static_cast<std::int64_t>(spec.bytes));
    run_.set_arg(argument, static_cast<std::int64_t>(sweeps()));
    works_on(std::move(memories));
  }

  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      run_.start();
      if (run_.wait() != ERT_CMD_STATE_COMPLETED) {
        throw BackendError("kernel " + name() + " did not complete");
      }
    }
  }

 private:
  std::deque<Worked> worked_;  // elements of a deque keep their addresses
  xrt::run run_;
};

}  // namespace

std::vector<OperationInfo> sweep_operations(const Contents& contents, bool emulated) {
  std::vector<OperationInfo> table;
  for (const bool on_host : {true, false}) {
    std::ranges::copy_if(
        bandwidth_kernels(on_host ? "host" : "device", {on_host ? "host_only" : "device"},
                          emulated ? "model" : "board"),
        std::back_inserter(table), [&](const OperationInfo& operation) {
          const BufferKernel* kernel = find(contents, operation.name);
          return kernel != nullptr && !memories_of(*kernel, on_host).empty();
        });
  }
  return table;
}

std::vector<std::pair<std::string, std::string>> unreached(const Contents& contents) {
  const std::string build = "build kernels/vitis and name the file with --xclbin";
  std::vector<std::pair<std::string, std::string>> lacks;
  for (const bool on_host : {true, false}) {
    const bool accessed = std::ranges::any_of(
        contents.sweep_kernels,
        [on_host](const BufferKernel& kernel) { return !memories_of(kernel, on_host).empty(); });
    if (accessed) {
      continue;
    }
    std::string why =
        "its bitstream has no kernel read_bandwidth, write_bandwidth or bandwidth: " + build;
    if (!contents.sweep_kernels.empty()) {
      why = on_host
                ? "its kernels are not linked to host memory: link them with sp=...:HOST[0], and "
                  "give the card some: xbutil configure --host-mem --size 1G enable"
                : "its kernels are not linked to card memory: link them with sp=...:DDR[0]";
    }
    lacks.emplace_back(on_host ? "target=host" : "target=device", why);
  }
  return lacks;
}

std::unique_ptr<Operation> make_sweep(const Session& session, const OperationSpec& spec) {
  const BufferKernel* kernel = find(session.contents(), spec.name);
  return kernel == nullptr ? nullptr : std::make_unique<Sweep>(session, spec, *kernel);
}

}  // namespace isthmus::xrt_native
