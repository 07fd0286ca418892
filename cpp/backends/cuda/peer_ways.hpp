// The ways in which a GPU executes all steps of an exchange's loop without the host.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "isthmus/topology.hpp"
#include "objects.hpp"
#include "peer_plan.hpp"

namespace isthmus::cuda {

/// One lane of a rank (0 or 1): the messages that this rank and one partner send each other. The
/// layout is that of kernels/cuda/exchange.cu, which states its assumptions.
struct Edge {
  Address out = 0;            ///< this rank's messages: the first slot
  Address in = 0;             ///< where the partner's messages arrive
  Address there = 0;          ///< where this rank's messages arrive at the partner
  Address signals_there = 0;  ///< where this rank signals to the partner that a message arrived
  Address signals_here = 0;   ///< where the partner signals to this rank
};

struct Conversations {
  std::array<Edge, lanes> edges;
  std::array<unsigned, lanes> partners{};  ///< ranks of the partners
  std::uint64_t bytes = 0;                 ///< bytes of a message
  std::uint64_t slot_bytes = 0;
};

/// The steps of one run, in all lanes.
struct Steps {
  std::uint64_t count = 0;
  /// Tag of the first step; tags count steps through all runs and may wrap.
  std::uint32_t first_tag = 0;
  std::uint32_t out_slots = 1;  ///< slots that messages are sent from in turn; a power of two
  std::uint32_t in_slots = 2;   ///< slots that messages arrive in in turn; a power of two
};

/// Seconds after which a rank whose partner sends nothing gives up.
inline constexpr unsigned patience_s = 20;

class PeerWay {
 public:
  PeerWay() = default;
  PeerWay(const PeerWay&) = delete;
  PeerWay& operator=(const PeerWay&) = delete;
  virtual ~PeerWay() = default;

  /// Returns when the GPU has executed all steps. Throws BackendError that names the partner if the
  /// GPU gave up.
  virtual void run(const Steps& steps) = 0;
};

/// Creates the way by kernels: the threads of one launch store to the partners' memory and poll
/// their own.
std::unique_ptr<PeerWay> make_kernel_way(Session& session, const Conversations& conversations,
                                         const PeerPlan& plan);
/// Creates the way by copy engines: streams copy messages, write signals and wait for signals.
std::unique_ptr<PeerWay> make_copy_way(const Conversations& conversations);

/// Throws BackendError: this rank did not answer.
[[noreturn]] void give_up(unsigned partner);

}  // namespace isthmus::cuda
