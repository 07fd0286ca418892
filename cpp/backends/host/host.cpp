// The backend `host`: the processor copies host memory, an upper limit for transfers that end
// there.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <thread>

#include "copy.hpp"
#include "isthmus/backend.hpp"
#include "messages.hpp"
#include "offload.hpp"

namespace isthmus {
namespace {

/// A second thread that copies on request, so that two copies run at once.
class Helper {
 public:
  Helper() : thread_([this] { serve(); }) {}
  ~Helper() {
    become(State::stopped);
    thread_.join();
  }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  void begin(Copy copy, void* to, const void* from, std::size_t bytes) {
    copy_ = copy;
    to_ = to;
    from_ = from;
    bytes_ = bytes;
    become(State::working);
  }
  void wait() {
    for (int spins = 0; spins < 1'000; ++spins) {
      if (state_.load(std::memory_order_acquire) != State::working) {
        return;
      }
    }
    sleep_while(State::working);
  }

 private:
  enum class State : std::uint8_t { idle, working, stopped };

  void become(State state) {
    {
      const std::scoped_lock lock(mutex_);
      state_.store(state, std::memory_order_release);
    }
    changed_.notify_one();
  }
  State sleep_while(State state) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return state_.load(std::memory_order_relaxed) != state; });
    return state_.load(std::memory_order_relaxed);
  }
  void serve() {
    while (sleep_while(State::idle) != State::stopped) {
      copy_(to_, from_, bytes_);
      become(State::idle);
    }
  }

  Copy copy_ = nullptr;
  void* to_ = nullptr;
  const void* from_ = nullptr;
  std::size_t bytes_ = 0;
  // Changes under the mutex; the spinning thread reads it without.
  std::atomic<State> state_{State::idle};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

/// Copies between buffers, one pair of buffers for each part; with a helper one part copies two
/// pairs at once.
class CopyOperation final : public Operation {
 public:
  CopyOperation(Copy copy, const OperationSpec& spec)
      : copy_(copy), bytes_(spec.bytes), together_(spec.name == "bidirectional") {
    const std::size_t pairs = together_ || spec.name == "rw" ? 2 : 1;
    for (std::size_t i = 0; i < pairs; ++i) {
      pairs_.emplace_back(spec.memory, bytes_);
    }
    movements_.resize(together_ ? 1 : pairs);
    for (std::size_t i = 0; i < pairs; ++i) {
      movements_[together_ ? 0 : i].emplace_back(*pairs_[i].from, *pairs_[i].to, bytes_);
    }
    if (together_) {
      helper_ = std::make_unique<Helper>();
    }
  }

  [[nodiscard]] std::size_t parts() const override { return movements_.size(); }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return together_ ? 2 * bytes_ : bytes_;
  }

  void run(std::size_t part, std::uint64_t repetitions) override {
    Pair& pair = pairs_[part];
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      if (together_) {
        helper_->begin(copy_, pairs_[1].to->data(), pairs_[1].from->data(), bytes_);
      }
      copy_(pair.to->data(), pair.from->data(), bytes_);
      asm volatile("" : : "r"(pair.to->data()) : "memory");
      if (together_) {
        helper_->wait();
      }
    }
  }

 protected:
  std::vector<Movement>& movements(std::size_t part) override { return movements_[part]; }

 private:
  struct Pair {
    Pair(const std::string& memory, std::size_t bytes)
        : from(std::make_unique<HostBuffer>(memory, bytes)),
          to(std::make_unique<HostBuffer>(memory, bytes)) {}
    std::unique_ptr<HostBuffer> from;
    std::unique_ptr<HostBuffer> to;
  };
  Copy copy_;
  std::size_t bytes_;
  bool together_;
  std::vector<Pair> pairs_;
  std::vector<std::vector<Movement>> movements_;
  std::unique_ptr<Helper> helper_;
};

class HostDevice final : public Device {
 public:
  HostDevice(DeviceInfo info, Copy copy) : info_(std::move(info)), copy_(copy) {}
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Operation> make(const OperationSpec& spec) override {
    static_cast<void>(find_operation(info_.operations, spec, "host"));
    return std::make_unique<CopyOperation>(copy_, spec);
  }
  std::unique_ptr<JointOperation> join(const OperationSpec& spec,
                                       Communicator& communicator) override {
    static_cast<void>(find_operation(info_.operations, spec, "host", true));
    return make_message_operation(spec, communicator);
  }

 private:
  DeviceInfo info_;
  Copy copy_;
};

class HostBackend final : public Backend {
 public:
  std::vector<DeviceInfo> devices() override {
    std::vector<DeviceInfo> found = {describe("plain", "memcpy of the C library")};
    if (has_nontemporal()) {
      found.push_back(describe("nontemporal", "copy with non-temporal stores"));
    }
    return found;
  }

  std::unique_ptr<Device> open(const std::string& id, const Options& options) override {
    check_options(options, {});
    for (DeviceInfo& info : devices()) {
      if (info.id == id) {
        return std::make_unique<HostDevice>(std::move(info),
                                            id == "plain" ? copy_plain : copy_nontemporal);
      }
    }
    throw UsageError("host has no device '" + id + "'");
  }

  std::unique_ptr<Offload> offload(const std::string& /*id*/, const Options& options,
                                   const OperationSpec& spec) override {
    check_options(options, {});
    return make_host_offload(spec);
  }

 private:
  static DeviceInfo describe(const std::string& id, const std::string& name) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t memory = page * static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
    DeviceInfo info{
        .id = id,
        .name = name,
        .platform = "host memory",
        .api = "host",
        .max_buffer_bytes = memory / 8,
        .memory_bytes = memory,
        .memory_kinds = HostBuffer::kinds(),
        .operations = {{.name = "write", .parts = {{"write", "h2d", "cpu"}}},
                       {.name = "read", .parts = {{"read", "d2h", "cpu"}}},
                       {.name = "rw",
                        .parts = {{"read_rw", "d2h", "cpu"}, {"write_rw", "h2d", "cpu"}},
                        .device_buffers = 2},
                       {.name = "bidirectional",
                        .parts = {{"bidirectional", "both", "cpu"}},
                        .device_buffers = 2}},
        .properties = {},
        .offloads = {host_offload()}};
    std::ranges::move(message_operations(), std::back_inserter(info.operations));
    return info;
  }
};

}  // namespace
}  // namespace isthmus

ISTHMUS_BACKEND(isthmus::HostBackend)
