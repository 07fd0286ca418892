#include "joint.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "nccl_exchange.hpp"
#include "peer_exchange.hpp"

namespace isthmus::cuda {
namespace {

/// A channel between GPUs: `operations` describes its operations on a GPU, none if the channel is
/// not available; `make` creates one.
struct Channel {
  const char* name;
  std::vector<OperationInfo> (*operations)(DeviceId device);
  std::unique_ptr<JointOperation> (*make)(Session& session, const OperationSpec& spec,
                                          Communicator& communicator);
};

constexpr std::array channels = {
    Channel{peer_channel, peer_operations, make_peer_exchange},
    Channel{nccl_channel, nccl_operations, make_nccl_exchange},
};

class CopyStaging final : public Staging {
 public:
  CopyStaging(const Session& session, const std::string& memory, std::size_t bytes)
      : host_(memory, bytes), device_(session, bytes) {}
  std::span<std::byte> host() override { return {host_.data(), device_.bytes()}; }
  Memory& device() override { return device_; }
  void to_host() override { host_.take(device_); }
  void to_device() override { host_.give(device_); }

 private:
  HostEnd host_;
  DeviceMemory device_;
};

}  // namespace

std::vector<OperationInfo> joint_operations(DeviceId device) {
  std::vector<OperationInfo> table = {staged_exchange("dma")};
  for (const Channel& channel : channels) {
    std::ranges::move(channel.operations(device), std::back_inserter(table));
  }
  return table;
}

std::unique_ptr<JointOperation> make_joint(Session& session, const OperationSpec& spec,
                                           Communicator& communicator) {
  const std::string wanted = spec.word("channel", "");
  const auto* const found = std::ranges::find_if(
      channels, [&wanted](const Channel& channel) { return wanted == channel.name; });
  return found == channels.end() ? nullptr : found->make(session, spec, communicator);
}

std::unique_ptr<Staging> make_staging(const Session& session, const std::string& memory,
                                      std::size_t bytes) {
  session.make_current();
  return std::make_unique<CopyStaging>(session, memory, bytes);
}

}  // namespace isthmus::cuda
