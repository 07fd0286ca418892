#include "operations.hpp"

#include <algorithm>

#include "buffers.hpp"
#include "kernels.hpp"

namespace isthmus::xrt_native {
namespace {

constexpr xclBOSyncDirection to_device = XCL_BO_SYNC_BO_TO_DEVICE;
constexpr xclBOSyncDirection from_device = XCL_BO_SYNC_BO_FROM_DEVICE;

/// Transfers of `depth` buffers in one direction: all at once if the device can start them so, else
/// one after the other. `rw` has two parts, one per direction.
class Transfer final : public Operation {
 public:
  Transfer(const Session& session, const OperationSpec& spec,
           const std::vector<xclBOSyncDirection>& parts)
      : bytes_(spec.bytes),
        depth_(spec.depth()),
        moves_(session.keeps_data() && spec.memory != reachable_memory),
        together_(session.starts_transfers() && spec.depth() > 1) {
    for (const xclBOSyncDirection direction : parts) {
      Part& part = parts_.emplace_back();
      part.direction = direction;
      for (unsigned i = 0; i < spec.depth(); ++i) {
        Lane& lane = *part.lanes.emplace_back(std::make_unique<Lane>(session, spec, direction));
        part.buffers.push_back(lane.buffer());
        part.movements.push_back(lane.movement());
      }
    }
  }

  [[nodiscard]] std::size_t parts() const override { return parts_.size(); }
  [[nodiscard]] bool moves_data() const override { return moves_; }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return moves_ ? bytes_ * depth_ : 0;
  }

  void run(std::size_t index, std::uint64_t repetitions) override {
    Part& part = parts_[index];
    if (part.lanes.front()->staged() != nullptr) {
      run_staged(part, repetitions);
    } else if (together_) {
      for (std::uint64_t i = 0; i < repetitions; ++i) {
        transfer_together(std::span(part.buffers), part.direction);
      }
    } else {
      for (std::uint64_t i = 0; i < repetitions; ++i) {
        for (xrt::bo& buffer : part.buffers) {
          buffer.sync(part.direction, bytes_, 0);
        }
      }
    }
  }

 protected:
  std::vector<Movement>& movements(std::size_t part) override { return parts_[part].movements; }

 private:
  struct Part {
    xclBOSyncDirection direction{};
    std::vector<std::unique_ptr<Lane>> lanes;
    std::vector<xrt::bo> buffers;  ///< the lanes' buffers in a row, which the timed loop passes on
    std::vector<Movement> movements;
  };

  static void run_staged(const Part& part, std::uint64_t repetitions) {
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      for (const std::unique_ptr<Lane>& lane : part.lanes) {
        if (part.direction == to_device) {
          lane->to_device();
        } else {
          lane->to_host();
        }
      }
    }
  }

  std::size_t bytes_;
  unsigned depth_;
  bool moves_;
  bool together_;
  std::vector<Part> parts_;
};

/// A lane's buffer object as staging: copies to and from the device.
class LaneStaging final : public Staging {
 public:
  LaneStaging(const Session& session, const OperationSpec& spec)
      : keeps_data_(session.keeps_data()),
        bytes_(spec.bytes),
        lane_(session, spec, XCL_BO_SYNC_BO_TO_DEVICE) {}

  [[nodiscard]] std::span<std::byte> host() override { return {lane_.host(), bytes_}; }
  [[nodiscard]] Memory& device() override { return lane_.device(); }
  void to_host() override { lane_.to_host(); }
  void to_device() override { lane_.to_device(); }
  [[nodiscard]] bool keeps_data() const override { return keeps_data_; }

 private:
  bool keeps_data_;
  std::size_t bytes_;
  Lane lane_;
};

/// Starts the kernel that does nothing and waits for its end.
class Launch final : public Operation {
 public:
  explicit Launch(const Session& session) : run_(session.make_run(empty_kernel)) {}

  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override { return 0; }
  [[nodiscard]] bool moves_data() const override { return false; }
  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      run_.start();
      if (run_.wait() != ERT_CMD_STATE_COMPLETED) {
        throw BackendError(std::string("kernel ") + empty_kernel + " did not complete");
      }
    }
  }

 private:
  xrt::run run_;
};

}  // namespace

std::vector<OperationInfo> operations(const Contents& contents) {
  std::vector<OperationInfo> table = {
      {.name = "write", .parts = {{"write", "h2d", "dma"}}, .axes = {queue_depth()}},
      {.name = "read", .parts = {{"read", "d2h", "dma"}}, .axes = {queue_depth()}},
      {.name = "rw",
       .parts = {{"read_rw", "d2h", "dma"}, {"write_rw", "h2d", "dma"}},
       .device_buffers = 2}};
  for (OperationInfo& operation : table) {
    operation.axes.push_back(memory_bank(static_cast<unsigned>(contents.banks.size())));
  }
  if (contents.has_empty_kernel) {
    table.push_back({.name = "launch", .parts = {{"launch", "", "kernel"}}, .sized = false});
  }
  return table;
}

std::unique_ptr<Staging> make_staging(const Session& session, const std::string& memory,
                                      std::size_t bytes) {
  return std::make_unique<LaneStaging>(
      session, OperationSpec{.name = "exchange", .bytes = bytes, .memory = memory});
}

OperationInfo exchange_through_host(const Contents& contents) {
  OperationInfo info = staged_exchange("dma");
  info.memory_kinds = memory_kinds(contents);
  // Host memory that the device accesses is not staged.
  std::erase(info.memory_kinds, reachable_memory);
  return info;
}

std::unique_ptr<Operation> make_operation(const Session& session, const OperationSpec& spec) {
  if (spec.name == "write") {
    return std::make_unique<Transfer>(session, spec, std::vector{to_device});
  }
  if (spec.name == "read") {
    return std::make_unique<Transfer>(session, spec, std::vector{from_device});
  }
  if (spec.name == "rw") {
    return std::make_unique<Transfer>(session, spec, std::vector{from_device, to_device});
  }
  if (spec.name == "launch") {
    return std::make_unique<Launch>(session);
  }
  if (std::unique_ptr<Operation> sweep = make_sweep(session, spec)) {
    return sweep;
  }
  throw UsageError("XRT has no operation '" + spec.name + "'");
}

}  // namespace isthmus::xrt_native
