#include "isthmus/staged.hpp"

#include <array>
#include <exception>
#include <vector>

#include "isthmus/topology.hpp"

namespace isthmus {
namespace {

constexpr const char* through_host = "staged";

/// One rank's part of an exchange through host memory. In each repetition it sends a message to
/// each of two neighbours and receives one from each.
class StagedExchange final : public JointOperation {
 public:
  StagedExchange(Device& device, const OperationSpec& spec, Communicator& communicator)
      : communicator_(&communicator),
        neighbours_(neighbours_of(spec.word("topology", topology_axis().usual), communicator.rank(),
                                  communicator.size())),
        bytes_(spec.bytes) {
    for (std::size_t set = 0; set < exchange_buffer_sets; ++set) {
      BufferSet& buffers = buffers_.emplace_back();
      for (unsigned lane = 0; lane < lanes; ++lane) {
        buffers.out.at(lane) = device.stage(spec.memory, bytes_);
        buffers.in.at(lane) = device.stage(spec.memory, bytes_);
        const int tag = static_cast<int>(lane);
        buffers.sent.at(lane) = {buffers.out.at(lane)->host(), neighbours_.receiver(lane), tag};
        buffers.received.at(lane) = {buffers.in.at(lane)->host(), neighbours_.sender(lane), tag};
        sends(buffers.out.at(lane)->device(), bytes_, {communicator.rank(), lane, set},
              communicator.size());
        receives(buffers.in.at(lane)->device(), bytes_, {neighbours_.sender(lane), lane, set},
                 communicator.size());
      }
    }
  }

  [[nodiscard]] bool moves_data() const override { return buffers_[0].out[0]->keeps_data(); }
  [[nodiscard]] std::uint64_t moved_bytes() const override {
    return moves_data() ? lanes * bytes_ : 0;
  }
  [[nodiscard]] std::uint64_t armed_repetitions() const override { return buffers_.size(); }
  /// Arms the messages, and fills host memory on the way with other contents than the messages'.
  void arm_fully(std::uint64_t seed) override {
    JointOperation::arm_fully(seed);
    for (std::size_t set = 0; set < buffers_.size(); ++set) {
      for (unsigned lane = 0; lane < lanes; ++lane) {
        const auto spoil = [&](const std::unique_ptr<Staging>& stage, unsigned sender) {
          const MessageName name = {sender, lane, set};
          fill_poison(stage->host().first(bytes_),
                      seed + seed_of(name.label(communicator_->size())));
        };
        spoil(buffers_[set].out.at(lane), communicator_->rank());
        spoil(buffers_[set].in.at(lane), neighbours_.sender(lane));
      }
    }
  }

  void run(std::uint64_t repetitions) override {
    failure_ = nullptr;
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      step(buffers_[fully_armed() ? i % buffers_.size() : 0]);
    }
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  using Message = Communicator::Message;
  using Stages = std::array<std::unique_ptr<Staging>, lanes>;
  struct BufferSet {
    Stages out;
    Stages in;
    std::array<Message, lanes> sent;
    std::array<Message, lanes> received;
  };

  void step(BufferSet& buffers) {
    communicator_->begin_receives(buffers.received);
    copy(buffers.out, &Staging::to_host);
    communicator_->begin_sends(buffers.sent);
    communicator_->wait_all();
    copy(buffers.in, &Staging::to_device);
  }

  /// Copies through all stages at once. If the device fails, keeps the error until the end of
  /// `run`: this rank must still send, because other ranks wait for its messages.
  void copy(Stages& stages, void (Staging::*way)()) {
    if (failure_) {
      return;
    }
    const Communicator::Doing copies(*communicator_, Activity::working);
    try {
      for (const std::unique_ptr<Staging>& stage : stages) {
        (stage.get()->*way)();
      }
      for (const std::unique_ptr<Staging>& stage : stages) {
        stage->complete();
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  Communicator* communicator_;
  Neighbours neighbours_;
  std::size_t bytes_;
  std::vector<BufferSet> buffers_;
  std::exception_ptr failure_;
};

}  // namespace

AxisInfo channel_axis(const std::string& channel) {
  return {.name = "channel", .usual = channel, .values = {channel}};
}

OperationInfo staged_exchange(const std::string& initiator) {
  return {.name = "exchange",
          .parts = {{"exchange", "", initiator}},
          .axes = {channel_axis(through_host), topology_axis()},
          .device_buffers = exchange_buffer_sets * 2 * lanes,
          .most_bytes = most_message_bytes,
          .joint = true};
}

std::unique_ptr<JointOperation> make_staged_exchange(Device& device, const OperationSpec& spec,
                                                     Communicator& communicator) {
  return std::make_unique<StagedExchange>(device, spec, communicator);
}

std::unique_ptr<JointOperation> Device::join(const OperationSpec& spec,
                                             Communicator& communicator) {
  const OperationInfo& found = find_operation(info().operations, spec, info().name, true);
  const auto* const channel = found.axis("channel");
  if (channel == nullptr || channel->usual != through_host) {
    throw UsageError(info().name + " has no way to do '" + spec.name + "' with other ranks");
  }
  return make_staged_exchange(*this, spec, communicator);
}

std::unique_ptr<Staging> Device::stage(const std::string& /*memory*/, std::size_t /*bytes*/) {
  throw UsageError(info().name + " has no channel through the host");
}

}  // namespace isthmus
