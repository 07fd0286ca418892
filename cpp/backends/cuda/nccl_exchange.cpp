#include "nccl_exchange.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "isthmus/collective_errors.hpp"
#include "isthmus/staged.hpp"
#include "isthmus/topology.hpp"
#include "nccl.hpp"

namespace isthmus::cuda {
namespace {

using Time = std::chrono::steady_clock;

/// Limits of a batch of exchanges. At most two batches are queued: after a neighbour's death a full
/// queue would block the next launch forever.
constexpr std::uint64_t most_batch_steps = 128;
constexpr std::uint64_t batch_bytes = std::uint64_t{16} << 20U;
/// How long a batch may take: longer than any batch over a slow network.
constexpr std::chrono::seconds patience{30};
/// Number of polls of a batch between two checks of the time and of NCCL's errors.
constexpr unsigned looks = 4096;

/// This rank's communicator of NCCL.
///
/// It is never destroyed: ncclCommDestroy may wait for other ranks, and the process ends soon. A
/// communicator that fails is aborted, which waits for no rank.
class Group {
 public:
  Group(const nccl::UniqueId& id, unsigned rank, unsigned ranks) {
    nccl::check(
        nccl::api().ncclCommInitRank(&comm_, static_cast<int>(ranks), id, static_cast<int>(rank)),
        "ncclCommInitRank");
  }
  ~Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  [[nodiscard]] nccl::Comm comm() const { return comm_; }
  [[nodiscard]] bool works() const { return comm_ != nullptr; }
  /// Ends this rank's queued work. Other ranks see an error, or their `patience` ends.
  void abort() {
    if (nccl::Comm comm = std::exchange(comm_, nullptr); comm != nullptr) {
      nccl::api().ncclCommAbort(comm);
    }
  }
  /// Throws errors that NCCL's threads found, at a neighbour or in the network.
  void check_background() const {
    nccl::Status status = nccl::ok;
    nccl::check(nccl::api().ncclCommGetAsyncError(comm_, &status), "ncclCommGetAsyncError");
    if (status != nccl::in_progress) {
      nccl::check(status, "NCCL, in the background");
    }
  }

 private:
  nccl::Comm comm_ = nullptr;
};

/// Throws on all ranks if two of them use the same GPU, because NCCL's message is hard to
/// understand. Collective.
void check_distinct(DeviceId device, Communicator& communicator) {
  Uuid mine{};
  throw_on_all(communicator, trouble_of(communicator, [&] {
                 check(api().cuDeviceGetUuid(&mine, device), "cuDeviceGetUuid");
               }));
  const std::vector<Uuid> all = communicator.gathered(mine);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    for (std::size_t other = 0; other < rank; ++other) {
      if (all[rank].bytes == all[other].bytes) {
        throw UsageError("NCCL accepts each GPU once: ranks " + std::to_string(other) + " and " +
                         std::to_string(rank) +
                         " have the same; start no more ranks than there are GPUs, or name one "
                         "for each with --device");
      }
    }
  }
}

/// Returns this rank's communicator, which is kept because its creation takes a second. If any rank
/// has none that works, all ranks create a new one. Collective.
std::shared_ptr<Group> group_of(Session& session, Communicator& communicator) {
  const unsigned rank = communicator.rank();
  const unsigned ranks = communicator.size();
  std::shared_ptr<void>& place =
      session.kept("nccl " + std::to_string(rank) + " of " + std::to_string(ranks));
  std::shared_ptr<Group> kept = std::static_pointer_cast<Group>(place);
  const std::vector<unsigned> works =
      communicator.gathered(static_cast<unsigned>(kept && kept->works()));
  if (std::ranges::find(works, 0U) == works.end()) {
    return kept;
  }
  check_distinct(session.device(), communicator);
  if (kept) {
    kept->abort();
  }
  nccl::UniqueId id{};
  // Errors are thrown on all ranks before any rank waits for another inside NCCL.
  throw_on_all(communicator, trouble_of(communicator, [&] {
                 session.make_current();
                 if (const nccl::Api& library = nccl::api(); rank == 0) {
                   nccl::check(library.ncclGetUniqueId(&id), "ncclGetUniqueId");
                 }
               }));
  id = communicator.agreed(id);
  throw_on_all(communicator, trouble_of(communicator, [&] {
                 kept = std::make_shared<Group>(id, rank, ranks);
                 place = kept;
               }));
  return kept;
}

/// An exchange over NCCL: in each repetition a rank sends a message to each neighbour and receives
/// one from each.
class NcclExchange final : public JointOperation {
 public:
  NcclExchange(Session& session, const OperationSpec& spec, Communicator& communicator)
      : session_(&session),
        neighbours_(neighbours_of(spec.word("topology", topology_axis().usual), communicator.rank(),
                                  communicator.size())),
        bytes_(spec.bytes),
        batch_steps_(std::clamp<std::uint64_t>(batch_bytes / std::max<std::size_t>(bytes_, 1), 1,
                                               most_batch_steps)) {
    session.make_current();
    for (Owned<Event>& event : batch_ends_) {
      event = Session::make_event(event_disable_timing);
    }
    for (std::size_t set = 0; set < exchange_buffer_sets; ++set) {
      BufferSet& buffers = buffers_.emplace_back();
      for (unsigned lane = 0; lane < lanes; ++lane) {
        buffers.out.at(lane) = std::make_unique<DeviceMemory>(session, bytes_);
        buffers.in.at(lane) = std::make_unique<DeviceMemory>(session, bytes_);
        sends(*buffers.out.at(lane), bytes_, {communicator.rank(), lane, set}, communicator.size());
        receives(*buffers.in.at(lane), bytes_, {neighbours_.sender(lane), lane, set},
                 communicator.size());
      }
    }
  }

  void connect(Communicator& communicator) override { group_ = group_of(*session_, communicator); }

  [[nodiscard]] std::uint64_t moved_bytes() const override { return lanes * bytes_; }
  [[nodiscard]] std::uint64_t armed_repetitions() const override { return buffers_.size(); }

  /// Runs the exchange. A rank that fails aborts its communicator, so that other ranks notice.
  void run(std::uint64_t repetitions) override {
    session_->make_current();
    if (!group_->works()) {
      throw BackendError("NCCL failed before");
    }
    try {
      exchange(repetitions);
    } catch (...) {
      group_->abort();
      throw;
    }
  }

 private:
  struct BufferSet {
    std::array<std::unique_ptr<DeviceMemory>, lanes> out;
    std::array<std::unique_ptr<DeviceMemory>, lanes> in;
  };

  void exchange(std::uint64_t repetitions) {
    std::uint64_t batches = 0;
    for (std::uint64_t done = 0; done < repetitions; ++batches) {
      const Event end = batch_ends_.at(batches % batch_ends_.size()).get();
      if (batches >= batch_ends_.size()) {
        wait_for(end);
      }
      const std::uint64_t until = std::min(repetitions, done + batch_steps_);
      for (; done < until; ++done) {
        queue_step(buffers_[fully_armed() ? done % buffers_.size() : 0]);
      }
      check(api().cuEventRecord(end, session_->stream()), "cuEventRecord");
    }
    if (batches > 0) {  // the last batch ends after all others
      wait_for(batch_ends_.at((batches - 1) % batch_ends_.size()).get());
    }
  }

  /// Queues one step. NCCL matches messages between two ranks by the order of calls. In a pair both
  /// lanes have the same partner: a send in a lane must match the partner's receive of that lane.
  void queue_step(const BufferSet& buffers) {
    const nccl::Api& library = nccl::api();
    nccl::check(library.ncclGroupStart(), "ncclGroupStart");
    const char* call = "ncclGroupEnd";
    nccl::Status status = nccl::ok;
    for (unsigned lane = 0; lane < lanes && status == nccl::ok; ++lane) {
      call = "ncclSend";
      status = library.ncclSend(pointer(*buffers.out.at(lane)), bytes_, nccl::type_byte,
                                static_cast<int>(neighbours_.receiver(lane)), group_->comm(),
                                session_->stream());
      if (status == nccl::ok) {
        call = "ncclRecv";
        status = library.ncclRecv(pointer(*buffers.in.at(lane)), bytes_, nccl::type_byte,
                                  static_cast<int>(neighbours_.sender(lane)), group_->comm(),
                                  session_->stream());
      }
    }
    const nccl::Status ended = library.ncclGroupEnd();  // also if no call of the group succeeded
    nccl::check(status, call);
    nccl::check(ended, "ncclGroupEnd");
  }

  void wait_for(Event batch) const {
    const Time::time_point begin = Time::now();
    for (unsigned look = 1;; ++look) {
      const Result result = api().cuEventQuery(batch);
      if (result != not_ready) {
        check(result, "cuEventQuery");
        return;
      }
      if (look % looks == 0) {
        group_->check_background();
        if (Time::now() - begin > patience) {
          throw BackendError("NCCL: no message for " + std::to_string(patience.count()) +
                             " s; a neighbour is gone, or failed");
        }
      }
    }
  }

  static void* pointer(const DeviceMemory& memory) {
    return reinterpret_cast<void*>(memory.address());  // NOLINT(performance-no-int-to-ptr): it is
  }

  Session* session_;
  Neighbours neighbours_;
  std::size_t bytes_;
  std::uint64_t batch_steps_;
  std::array<Owned<Event>, 2> batch_ends_;
  std::vector<BufferSet> buffers_;
  std::shared_ptr<Group> group_;
};

}  // namespace

std::vector<OperationInfo> nccl_operations(DeviceId /*device*/) {
  if (!nccl::missing().empty()) {
    return {};
  }
  return {{.name = "exchange",
           .parts = {{"exchange", "", "kernel"}},
           .axes = {channel_axis(nccl_channel), topology_axis()},
           .memory_kinds = {"device"},
           .device_buffers = exchange_buffer_sets * 2 * lanes,
           .most_bytes = most_message_bytes,
           .joint = true,
           .api = "nccl"}};
}

std::unique_ptr<JointOperation> make_nccl_exchange(Session& session, const OperationSpec& spec,
                                                   Communicator& communicator) {
  return std::make_unique<NcclExchange>(session, spec, communicator);
}

}  // namespace isthmus::cuda
