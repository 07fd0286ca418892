// Ways in which GPUs execute all steps of a loop without the host.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "isthmus/topology.hpp"
#include "objects.hpp"
#include "peer_plan.hpp"

namespace isthmus::cuda {

/// One of a rank's two conversations (lane 0 or 1): the messages that both partners send to each
/// other. As in kernels/cuda/exchange.cu, which states its assumptions.
struct Edge {
  Address out = 0;            ///< this rank's messages, slot after slot
  Address in = 0;             ///< destination of the partner's messages
  Address there = 0;          ///< destination of this rank's messages at the partner
  Address signals_there = 0;  ///< signals to the partner that messages arrived
  Address signals_here = 0;   ///< signals to this rank
};

struct Conversations {
  std::array<Edge, lanes> edges;
  std::array<unsigned, lanes> partners{};  ///< their ranks
  std::uint64_t bytes = 0;                 ///< of a message
  std::uint64_t slot_bytes = 0;
};

/// A number of steps of all conversations.
struct Steps {
  std::uint64_t count = 0;
  std::uint32_t first_tag = 0;  ///< tags count steps through all runs, and may wrap
  std::uint32_t out_slots = 1;  ///< number of slots that messages are sent from; a power of two
  std::uint32_t in_slots = 2;   ///< number of slots that messages arrive in; a power of two
};

/// Seconds of a partner's silence after which the exchange fails.
inline constexpr unsigned patience_s = 20;

class PeerWay {
 public:
  PeerWay() = default;
  PeerWay(const PeerWay&) = delete;
  PeerWay& operator=(const PeerWay&) = delete;
  virtual ~PeerWay() = default;

  /// Returns when the GPU has executed all steps. Throws BackendError with the partner's name if
  /// the GPU gave up.
  virtual void run(const Steps& steps) = 0;
};

/// One launch, whose threads store to the partners' memory and poll their own.
std::unique_ptr<PeerWay> make_kernel_way(Session& session, const Conversations& conversations,
                                         const PeerPlan& plan);
/// Copies on a stream for each lane; the streams write signals and wait for them.
std::unique_ptr<PeerWay> make_copy_way(const Conversations& conversations);

/// Throws BackendError: this partner did not answer.
[[noreturn]] void give_up(unsigned partner);

}  // namespace isthmus::cuda
