#include <array>
#include <string>

#include "isthmus/backend.hpp"
#include "operations.hpp"
#include "peer_ways.hpp"
#include "ptx.hpp"

namespace isthmus::cuda {
namespace {

/// Arguments of the kernel, with the layout of `Loop` in kernels/cuda/exchange.cu.
struct Loop {
  std::uint64_t bytes;
  std::uint64_t slot_bytes;
  std::uint64_t part_bytes;
  std::uint64_t steps;
  std::uint64_t patience_ns;
  Address faults;
  std::uint32_t lane_blocks;
  std::uint32_t first_tag;
  std::uint32_t out_slots;
  std::uint32_t in_slots;
};
static_assert(sizeof(Loop) == 64 && sizeof(Edge) == 40);

using Faults = std::array<std::uint32_t, lanes>;

class KernelWay final : public PeerWay {
 public:
  KernelWay(Session& session, const Conversations& conversations, const PeerPlan& plan)
      : stream_(session.stream()),
        kernel_(session.kernel(
            plan.way == PeerPlan::Way::words ? "isthmus_exchange_words" : "isthmus_exchange_parts",
            exchange_ptx)),
        conversations_(conversations),
        plan_(plan),
        faults_("mapped", sizeof(Faults)),
        faults_address_(faults_.device_address()) {
    const Faults none{};
    faults_.memory().put(0, std::as_bytes(std::span(none)));
  }

  void run(const Steps& steps) override {
    constexpr std::uint64_t nanoseconds = 1'000'000'000;
    Loop loop = {.bytes = conversations_.bytes,
                 .slot_bytes = conversations_.slot_bytes,
                 .part_bytes = plan_.part_bytes,
                 .steps = steps.count,
                 .patience_ns = patience_s * nanoseconds,
                 .faults = faults_address_,
                 .lane_blocks = plan_.lane_blocks,
                 .first_tag = steps.first_tag,
                 .out_slots = steps.out_slots,
                 .in_slots = steps.in_slots};
    std::array<void*, 3> arguments = {conversations_.edges.data(), &conversations_.edges[1], &loop};
    launch(kernel_, lanes * plan_.lane_blocks, stream_, arguments.data(), plan_.threads);
    synchronise(stream_);
    Faults faults{};
    faults_.memory().get(0, std::as_writable_bytes(std::span(faults)));
    for (unsigned lane = 0; lane < lanes; ++lane) {
      if (faults.at(lane) != 0) {
        give_up(conversations_.partners.at(lane));
      }
    }
  }

 private:
  Stream stream_;
  Function kernel_;
  Conversations conversations_;
  PeerPlan plan_;
  HostEnd faults_;
  Address faults_address_;
};

}  // namespace

std::unique_ptr<PeerWay> make_kernel_way(Session& session, const Conversations& conversations,
                                         const PeerPlan& plan) {
  return std::make_unique<KernelWay>(session, conversations, plan);
}

void give_up(unsigned partner) {
  throw BackendError("rank " + std::to_string(partner) + "'s GPU did not answer within " +
                     std::to_string(patience_s) + " s");
}

}  // namespace isthmus::cuda
