// A backend of another package: one device, whose operation `hop` copies from buffer to buffer.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "isthmus/backend.hpp"

namespace {

using namespace isthmus;

/// Copies the first buffer's bytes into the second, the second's into the third, and so on.
class Hop final : public Operation {
 public:
  explicit Hop(const OperationSpec& spec) : bytes_(spec.bytes) {
    for (std::uint64_t i = 0; i <= spec.count("hops"); ++i) {
      buffers_.push_back(std::make_unique<HostBuffer>(spec.memory, bytes_));
    }
    movements_.emplace_back(*buffers_.front(), *buffers_.back(), bytes_);
  }

  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    for (std::uint64_t done = 0; done < repetitions; ++done) {
      for (std::size_t i = 1; i < buffers_.size(); ++i) {
        std::memcpy(buffers_[i]->data(), buffers_[i - 1]->data(), bytes_);
      }
    }
  }
  std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return bytes_ * (buffers_.size() - 1);
  }

 protected:
  std::vector<Movement>& movements(std::size_t /*part*/) override { return movements_; }

 private:
  std::size_t bytes_;
  std::vector<std::unique_ptr<HostBuffer>> buffers_;
  std::vector<Movement> movements_;
};

class Toy final : public Device {
 public:
  explicit Toy(DeviceInfo info) : info_(std::move(info)) {}
  const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Operation> make(const OperationSpec& spec) override {
    find_operation(info_.operations, spec, info_.name);
    return std::make_unique<Hop>(spec);
  }

 private:
  DeviceInfo info_;
};

class ToyBackend final : public Backend {
 public:
  std::vector<DeviceInfo> devices() override {
    return {{.id = "toy",
             .name = "a toy",
             .platform = "tests",
             .api = "toy",
             .max_buffer_bytes = std::uint64_t{1} << 30,
             .memory_bytes = std::uint64_t{1} << 32,
             .memory_kinds = HostBuffer::kinds(),
             .operations = {{.name = "hop",
                             .parts = {{"hop", "h2d", "cpu"}},
                             .axes = {{.name = "hops", .buffers = true, .most = 8}}}},
             .properties = {}}};
  }
  std::unique_ptr<Device> open(const std::string& id, const Options& options) override {
    check_options(options, {});
    const std::vector<DeviceInfo> known = devices();
    if (!id.empty() && id != known.front().id) {
      throw UsageError("no toy '" + id + "'");
    }
    return std::make_unique<Toy>(known.front());
  }
};

}  // namespace

ISTHMUS_BACKEND(ToyBackend)
