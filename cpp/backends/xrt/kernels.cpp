#include "kernels.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "buffers.hpp"

namespace isthmus::xrt_native {
namespace {

/// As the published example makes them.
constexpr unsigned usual_sweeps = 1024;

const SweepKernel* find(const Contents& contents, const std::string& name) {
  const auto found = std::ranges::find(contents.sweep_kernels, name, &SweepKernel::name);
  return found == contents.sweep_kernels.end() ? nullptr : &*found;
}

const std::optional<Bank>& memory_of(const SweepKernel& kernel, bool on_host) {
  return on_host ? kernel.host : kernel.card;
}

/// A buffer that a kernel works on, and what is in it.
class Worked {
 public:
  Worked(const Session& session, const Bank& bank, bool on_host, std::size_t bytes)
      : buffer_(session.make_buffer(bytes, bank,
                                    on_host ? xrt::bo::flags::host_only : xrt::bo::flags::normal)) {
    if (on_host) {
      memory_ = std::make_unique<HostView>(buffer_.map<std::byte*>(), bytes);
    } else {
      memory_ = std::make_unique<DeviceSide>(buffer_, bytes);
    }
  }
  [[nodiscard]] const xrt::bo& buffer() const { return buffer_; }
  [[nodiscard]] Memory& memory() const { return *memory_; }

 private:
  xrt::bo buffer_;
  std::unique_ptr<Memory> memory_;
};

/// One launch that sweeps over its buffers. What arrives depends on the kernel: a copy is checked
/// in full; of a kernel that writes a pattern of its own it is seen that every word changed; one
/// that only reads returns nothing by the published arguments, so there is nothing to be seen.
class Sweep final : public Operation {
 public:
  Sweep(const Session& session, const OperationSpec& spec, const SweepKernel& kernel)
      : name_(spec.name), bytes_(spec.bytes), run_(session.make_run(spec.name.c_str())) {
    const bool on_host = spec.word("target", "host") == "host";
    const std::optional<Bank>& bank = memory_of(kernel, on_host);
    if (!bank) {
      throw BackendError("kernel " + name_ + " does not reach that memory");
    }
    const bool both = name_ == "bandwidth";
    const std::uint64_t sweeps = spec.count("iterations", usual_sweeps);
    moved_ = bytes_ * sweeps * (both ? 2 : 1);
    int argument = 0;
    for (int i = 0; i < (both ? 2 : 1); ++i) {
      buffers_.emplace_back(session, *bank, on_host, bytes_);
      run_.set_arg(argument++, buffers_.back().buffer());
    }
    run_.set_arg(argument++, static_cast<std::int64_t>(bytes_));
    run_.set_arg(argument, static_cast<std::int64_t>(sweeps));
    if (both) {
      copied_.emplace_back(buffers_[0].memory(), buffers_[1].memory(), bytes_);
    }
  }

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override { return moved_; }
  [[nodiscard]] bool moves_data() const override { return name_ != "read_bandwidth"; }
  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      run_.start();
      if (run_.wait() != ERT_CMD_STATE_COMPLETED) {
        throw BackendError("kernel " + name_ + " did not complete");
      }
    }
  }

  void arm_fully(std::size_t part, std::uint64_t seed) override {
    if (!copied_.empty()) {
      Operation::arm_fully(part, seed);
    } else {
      put_pattern(buffers_[0].memory(), bytes_, seed);
    }
  }
  bool arrived_fully(std::size_t part, std::uint64_t seed) override {
    return copied_.empty() ? every_word_changed(seed) : Operation::arrived_fully(part, seed);
  }
  void arm(std::size_t part, std::uint64_t stamp) override {
    if (!copied_.empty()) {
      Operation::arm(part, stamp);
    } else {
      buffers_[0].memory().put_words(0, std::vector<std::uint64_t>(stamps(), stamp));
    }
  }
  bool arrived(std::size_t part, std::uint64_t stamp) override {
    if (!copied_.empty()) {
      return Operation::arrived(part, stamp);
    }
    std::vector<std::uint64_t> words(stamps());
    buffers_[0].memory().get_words(0, words);
    return std::ranges::find(words, stamp) == words.end();
  }

 protected:
  std::vector<Movement>& movements(std::size_t /*part*/) override { return copied_; }

 private:
  /// Pages that begin with a whole word.
  [[nodiscard]] std::size_t stamps() const {
    return (bytes_ + page_bytes - sizeof(std::uint64_t)) / page_bytes;
  }
  [[nodiscard]] bool every_word_changed(std::uint64_t seed) {
    constexpr std::size_t word_bytes = sizeof(std::uint64_t);
    std::vector<std::byte> found(bytes_);
    std::vector<std::byte> before(bytes_);
    buffers_[0].memory().get(0, found);
    fill_pattern(before, seed);
    for (std::size_t at = 0; at + word_bytes <= bytes_; at += word_bytes) {
      const auto begin = static_cast<std::ptrdiff_t>(at);
      if (std::equal(found.begin() + begin, found.begin() + begin + word_bytes,
                     before.begin() + begin)) {
        return false;
      }
    }
    return true;
  }

  std::string name_;
  std::size_t bytes_;
  std::uint64_t moved_ = 0;
  std::vector<Worked> buffers_;
  std::vector<Movement> copied_;
  xrt::run run_;
};

}  // namespace

std::vector<OperationInfo> sweep_operations(const Contents& contents, bool emulated) {
  std::vector<OperationInfo> table;
  for (const bool on_host : {true, false}) {
    std::ranges::copy_if(
        bandwidth_kernels(on_host ? "host" : "device", {on_host ? "host_only" : "device"},
                          emulated ? "model" : "board", usual_sweeps),
        std::back_inserter(table), [&](const OperationInfo& operation) {
          const SweepKernel* kernel = find(contents, operation.name);
          return kernel != nullptr && memory_of(*kernel, on_host).has_value();
        });
  }
  return table;
}

std::vector<std::pair<std::string, std::string>> unreached(const Contents& contents) {
  const std::string build = "build kernels/vitis and name the file with --xclbin";
  std::vector<std::pair<std::string, std::string>> lacks;
  for (const bool on_host : {true, false}) {
    const bool reached = std::ranges::any_of(
        contents.sweep_kernels,
        [on_host](const SweepKernel& kernel) { return memory_of(kernel, on_host).has_value(); });
    if (reached) {
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
  const SweepKernel* kernel = find(session.contents(), spec.name);
  return kernel == nullptr ? nullptr : std::make_unique<Sweep>(session, spec, *kernel);
}

}  // namespace isthmus::xrt_native
