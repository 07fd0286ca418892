// The ways on which GPUs do all the steps of a loop without the host between them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "isthmus/topology.hpp"
#include "objects.hpp"
#include "peer_plan.hpp"

namespace isthmus::cuda {

/// One of a rank's two conversations, that in lane 0 or that in lane 1: what both partners send
/// each other. As in kernels/cuda/exchange.cu, which says what they rely on.
struct Edge {
  Address out = 0;            ///< this rank's messages, one slot after the other
  Address in = 0;             ///< where the partner's belong
  Address there = 0;          ///< where this rank's belong at the partner
  Address signals_there = 0;  ///< what tells the partner that they came
  Address signals_here = 0;   ///< what tells this rank
};

struct Conversations {
  std::array<Edge, lanes> edges;
  std::array<unsigned, lanes> partners{};  ///< their ranks
  std::uint64_t bytes = 0;                 ///< of a message
  std::uint64_t slot_bytes = 0;
};

/// Some steps of all conversations.
struct Steps {
  std::uint64_t count = 0;
  std::uint32_t first_tag = 0;  ///< tags count steps through all runs, and may wrap
  std::uint32_t out_slots = 1;  ///< that messages are taken from in turn; a power of two
  std::uint32_t in_slots = 2;   ///< that they go to in turn; a power of two
};

/// How long a partner may be silent before he is given up.
inline constexpr unsigned patience_s = 20;

class PeerWay {
 public:
  PeerWay() = default;
  PeerWay(const PeerWay&) = delete;
  PeerWay& operator=(const PeerWay&) = delete;
  virtual ~PeerWay() = default;

  /// Returns when the GPU has done all steps, or has given up: then it throws BackendError that
  /// names the partner.
  virtual void run(const Steps& steps) = 0;
};

/// One launch, whose threads store to the partners' memory and look at their own.
std::unique_ptr<PeerWay> make_kernel_way(Session& session, const Conversations& conversations,
                                         const PeerPlan& plan);
/// Copies on a stream for each lane, which write signals and wait for them.
std::unique_ptr<PeerWay> make_copy_way(const Conversations& conversations);

/// Throws BackendError: this one did not answer.
[[noreturn]] void give_up(unsigned partner);

}  // namespace isthmus::cuda
