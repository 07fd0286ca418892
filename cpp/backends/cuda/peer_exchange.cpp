#include "peer_exchange.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>

#include "isthmus/collective_errors.hpp"
#include "isthmus/communicator.hpp"
#include "isthmus/staged.hpp"
#include "isthmus/topology.hpp"
#include "peer_ways.hpp"
#include "peers.hpp"

namespace isthmus::cuda {
namespace {

/// Slots in which the messages of a timed loop arrive in turn.
constexpr std::uint32_t timed_slots = 2;
static_assert(exchange_buffer_sets >= timed_slots &&
              (exchange_buffer_sets & (exchange_buffer_sets - 1)) == 0);

/// CUDA exports memory in pieces of this size: buffers that share a piece are all exported.
constexpr std::size_t shown_bytes = std::size_t{2} << 20U;

constexpr std::size_t rounded(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

/// One slot for a message: a part of a buffer on the device.
class Slot final : public Memory {
 public:
  Slot(DeviceMemory& whole, std::size_t begin, std::size_t bytes)
      : whole_(&whole), begin_(begin), bytes_(bytes) {}
  [[nodiscard]] std::size_t bytes() const noexcept override { return bytes_; }
  void put(std::size_t offset, std::span<const std::byte> from) override {
    whole_->put(begin_ + offset, from);
  }
  void get(std::size_t offset, std::span<std::byte> to) override {
    whole_->get(begin_ + offset, to);
  }
  void put_words(std::size_t offset, std::span<const std::uint64_t> words) override {
    whole_->put_words(begin_ + offset, words);
  }
  void get_words(std::size_t offset, std::span<std::uint64_t> words) override {
    whole_->get_words(begin_ + offset, words);
  }

 private:
  DeviceMemory* whole_;
  std::size_t begin_;
  std::size_t bytes_;
};

/// An exchange in which each sender writes to the receiver's memory. The buffer for incoming data
/// has the same layout on all ranks: the slots of lane 0, the slots of lane 1, then each lane's
/// signals.
class PeerExchange final : public JointOperation {
 public:
  PeerExchange(Session& session, const OperationSpec& spec, const Communicator& communicator)
      : session_(&session),
        bytes_(spec.bytes),
        slot_bytes_(rounded(spec.bytes, page_bytes)),
        neighbours_(neighbours_of(spec.word("topology", topology_axis().usual), communicator.rank(),
                                  communicator.size())),
        ranks_(communicator.size()),
        out_(session, slots_at(lanes)),
        in_(session, rounded(signals_at(lanes), shown_bytes)) {
    session.make_current();
    const std::vector<std::byte> silence(signals_at(lanes) - signals_at(0));
    in_.put(signals_at(0), silence);
    for (std::size_t turn = 0; turn < exchange_buffer_sets; ++turn) {
      for (unsigned lane = 0; lane < lanes; ++lane) {
        const std::size_t at = slots_at(lane) + turn * slot_bytes_;
        sends(slots_.emplace_back(out_, at, bytes_), bytes_, {communicator.rank(), lane, turn},
              ranks_);
        receives(slots_.emplace_back(in_, at, bytes_), bytes_,
                 {neighbours_.sender(lane), lane, turn}, ranks_);
      }
    }
  }

  void connect(Communicator& communicator) override {
    const std::array partners = {neighbours_.receiver(0), neighbours_.receiver(1)};
    peers_.emplace(*session_, in_, partners, communicator);
    const PeerPlan plan = plan_messages(bytes_, peers_->blocks(), peers_->streams_wait());
    Conversations conversations{
        .edges = {}, .partners = partners, .bytes = bytes_, .slot_bytes = slot_bytes_};
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const Address there = peers_->of(partners.at(lane));
      const unsigned other = 1 - lane;  // lane of the partner's messages to this rank
      conversations.edges.at(lane) = {.out = out_.address() + slots_at(lane),
                                      .in = in_.address() + slots_at(other),
                                      .there = there + slots_at(lane),
                                      .signals_there = there + signals_at(lane),
                                      .signals_here = in_.address() + signals_at(other)};
    }
    throw_on_all(communicator, trouble_of(communicator, [&] {
                   copies_ = plan.way == PeerPlan::Way::copies;
                   way_ = copies_ ? make_copy_way(conversations)
                                  : make_kernel_way(*session_, conversations, plan);
                 }));
  }

  /// Closes the partners' memory, then waits for all ranks: each may then free its exported memory.
  void disconnect(Communicator& communicator) override {
    way_.reset();
    peers_.reset();
    communicator.barrier();
  }

  [[nodiscard]] std::uint64_t moved_bytes() const override { return lanes * bytes_; }
  [[nodiscard]] std::uint64_t armed_repetitions() const override { return exchange_buffer_sets; }
  [[nodiscard]] std::vector<std::string> remarks() const override {
    return copies_ ? std::vector<std::string>{"copy_engines"} : std::vector<std::string>{};
  }

  void run(std::uint64_t repetitions) override {
    session_->make_current();
    constexpr auto sets = static_cast<std::uint32_t>(exchange_buffer_sets);
    const Steps steps = {.count = repetitions,
                         .first_tag = tag_,
                         .out_slots = fully_armed() ? sets : 1,
                         .in_slots = fully_armed() ? sets : timed_slots};
    tag_ += static_cast<std::uint32_t>(repetitions);
    steps_ = repetitions;
    way_->run(steps);
  }

  /// Returns whether the last messages of both slots have arrived.
  [[nodiscard]] bool arrived(std::uint64_t stamp) override {
    return JointOperation::arrived(stamp) && (steps_ < timed_slots || second_arrived(stamp));
  }

 private:
  [[nodiscard]] std::size_t slots_at(unsigned lane) const {
    return lane * exchange_buffer_sets * slot_bytes_;
  }
  [[nodiscard]] std::size_t signals_at(unsigned lane) const {
    return slots_at(lanes) + lane * signal_area_bytes;
  }

  bool second_arrived(std::uint64_t stamp) {
    for (unsigned lane = 0; lane < lanes; ++lane) {
      Slot second(in_, slots_at(lane) + slot_bytes_, bytes_);
      const MessageName first = {neighbours_.sender(lane), lane, 0};
      if (!holds_stamp(second, bytes_, stamp + first.label(ranks_))) {
        return false;
      }
    }
    return true;
  }

  Session* session_;
  std::size_t bytes_;
  std::size_t slot_bytes_;
  Neighbours neighbours_;
  unsigned ranks_;
  DeviceMemory out_;
  DeviceMemory in_;
  std::deque<Slot> slots_;
  std::optional<Peers> peers_;
  std::unique_ptr<PeerWay> way_;
  bool copies_ = false;
  std::uint32_t tag_ = 1;  // starts at 1, because memory for signals contains 0
  std::uint64_t steps_ = 0;
};

}  // namespace

std::vector<OperationInfo> peer_operations(DeviceId device) {
  if (attribute(device, can_map_host_memory) == 0) {
    return {};  // kernels report a silent partner in mapped host memory
  }
  return {{.name = "exchange",
           .parts = {{"exchange", "", "kernel"}},
           .axes = {channel_axis(peer_channel), topology_axis()},
           .memory_kinds = {"device"},
           .device_buffers = exchange_buffer_sets * 2 * lanes,
           .joint = true}};
}

std::unique_ptr<JointOperation> make_peer_exchange(Session& session, const OperationSpec& spec,
                                                   Communicator& communicator) {
  return std::make_unique<PeerExchange>(session, spec, communicator);
}

}  // namespace isthmus::cuda
