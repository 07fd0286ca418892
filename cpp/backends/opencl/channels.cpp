#include "channels.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "channel_source.hpp"
#include "isthmus/backend.hpp"
#include "isthmus/collective_errors.hpp"
#include "isthmus/staged.hpp"
#include "isthmus/topology.hpp"

namespace isthmus::cl {
namespace {

constexpr const char* channel = "intel";
/// The two kernels of a card: the first sends to the second kernel of the next card.
constexpr std::array<const char*, lanes> kernel_names = {"isthmus_send", "isthmus_receive"};
/// Topology of emulated cards: each card sends to itself, by channels between its own kernels.
constexpr const char* internal = "internal";
/// Words that an emulated channel holds. A board's binary determines it for the board's channels.
constexpr unsigned emulated_depth = 1024;

constexpr std::uint64_t never_ended = ~std::uint64_t{0};

template <class Value>
void set_value(Kernel kernel, Uint index, const Value& value) {
  check(api().clSetKernelArg(kernel, index, sizeof(value), &value), "clSetKernelArg");
}

/// Throws UsageError on all ranks if some have an emulated card and others a board. Collective.
void check_kinds(bool emulated, Communicator& communicator) {
  const std::vector<unsigned> kinds = communicator.gathered(emulated ? 1U : 0U);
  const auto other =
      std::ranges::find_if(kinds, [&kinds](unsigned kind) { return kind != kinds.front(); });
  if (other != kinds.end()) {
    throw UsageError("channel intel: one of rank 0 and rank " +
                     std::to_string(other - kinds.begin()) +
                     " has an emulated card, the other a board; use --channel staged");
  }
}

/// One kernel of a card, and the memory for the last message that it received.
class Half {
 public:
  Half(const Session& session, std::size_t bytes, Owned<Kernel> kernel)
      : bytes_(bytes),
        slot_bytes_((bytes + page_bytes - 1) / page_bytes * page_bytes),
        queue_(session.make_queue()),
        kernel_(std::move(kernel)),
        received_(session, slot_bytes_ * exchange_buffer_sets),
        wrong_(session, sizeof(std::uint64_t)),
        host_(bytes) {
    Uint index = 0;
    set_value(kernel_.get(), index++, received_.handle());
    set_value(kernel_.get(), index++, wrong_.handle());
    set_value(kernel_.get(), index++, static_cast<Uint>(bytes_));
    set_value(kernel_.get(), index++, static_cast<Uint>(slot_bytes_));
    set_value(kernel_.get(), index++, static_cast<Uint>(exchange_buffer_sets));
  }

  /// Sets the seeds of the first message to send and to expect, and what each step adds to both.
  void set_seeds(std::uint64_t sent, std::uint64_t expected, std::uint64_t per_step) {
    expected_ = expected;
    per_step_ = per_step;
    set_value(kernel_.get(), 6, sent);
    set_value(kernel_.get(), 7, expected);
    set_value(kernel_.get(), 8, per_step);
    wrong_.put(0, std::as_bytes(std::span(&never_ended, 1)));
  }
  void begin(std::uint64_t steps) {
    set_value(kernel_.get(), 5, static_cast<Uint>(steps));
    constexpr std::size_t one = 1;
    check(api().clEnqueueNDRangeKernel(queue_.get(), kernel_.get(), 1, nullptr, &one, &one, 0,
                                       nullptr, nullptr),
          "clEnqueueNDRangeKernel");
    check(api().clFlush(queue_.get()), "clFlush");
  }
  void end() { finish(queue_.get()); }

  /// Overwrites the place where a step's message will arrive with other contents.
  void spoil(std::uint64_t step) {
    fill_poison(host_, seed(step));
    received_.put(slot(step), host_);
  }
  /// Returns whether the message of a step has arrived.
  [[nodiscard]] bool holds(std::uint64_t step) {
    received_.get(slot(step), host_);
    return has_pattern(host_, seed(step));
  }
  /// Returns the number of wrong pairs of words that the kernel counted in all messages.
  [[nodiscard]] std::uint64_t wrong() {
    std::uint64_t count = 0;
    wrong_.get(0, std::as_writable_bytes(std::span(&count, 1)));
    return count;
  }

 private:
  [[nodiscard]] std::uint64_t seed(std::uint64_t step) const {
    return expected_ + step * per_step_;
  }
  [[nodiscard]] std::size_t slot(std::uint64_t step) const {
    return step % exchange_buffer_sets * slot_bytes_;
  }

  std::size_t bytes_;
  std::size_t slot_bytes_;
  Owned<Queue> queue_;
  Owned<Kernel> kernel_;
  DeviceMemory received_;
  DeviceMemory wrong_;
  std::vector<std::byte> host_;
  std::uint64_t expected_ = 0;
  std::uint64_t per_step_ = 0;
};

/// An exchange whose kernels generate all messages and compare them; the host checks only the last.
class ChannelExchange final : public JointOperation {
 public:
  ChannelExchange(Session& session, ChannelPrograms* programs, const OperationSpec& spec,
                  const Communicator& communicator)
      : session_(&session),
        programs_(programs),
        bytes_(spec.bytes),
        depth_(spec.count("depth", emulated_depth)),
        rank_(communicator.rank()),
        ranks_(communicator.size()),
        neighbours_(programs_ != nullptr ? Neighbours{.next = rank_, .previous = rank_}
                                         : neighbours_of("ring", rank_, ranks_)) {}

  void connect(Communicator& communicator) override {
    check_kinds(programs_ != nullptr, communicator);
    throw_on_all(communicator, trouble_of(communicator, [&] {
                   for (const char* name : kernel_names) {
                     halves_.push_back(std::make_unique<Half>(*session_, bytes_, kernel(name)));
                   }
                 }));
  }

  [[nodiscard]] std::uint64_t moved_bytes() const override { return lanes * bytes_; }
  [[nodiscard]] std::uint64_t armed_repetitions() const override { return exchange_buffer_sets; }

  void run(std::uint64_t repetitions) override {
    steps_ = repetitions;
    for (const std::unique_ptr<Half>& half : halves_) {
      half->begin(repetitions);
    }
    for (const std::unique_ptr<Half>& half : halves_) {
      half->end();
    }
  }

  void arm_fully(std::uint64_t seed) override {
    set_seeds(seed);
    for (const std::unique_ptr<Half>& half : halves_) {
      for (std::uint64_t step = 0; step < exchange_buffer_sets; ++step) {
        half->spoil(step);
      }
    }
  }
  /// Gives the messages seeds that no earlier run had, so that old contents cannot pass.
  void arm(std::uint64_t stamp) override { set_seeds(seed_of(stamp)); }
  [[nodiscard]] bool arrived_fully(std::uint64_t /*seed*/) override {
    return arrived_last(exchange_buffer_sets);
  }
  [[nodiscard]] bool arrived(std::uint64_t /*stamp*/) override { return arrived_last(1); }
  [[nodiscard]] std::string fault() const override { return fault_; }

 private:
  void set_seeds(std::uint64_t first) {
    const auto seed = [&](unsigned sender, unsigned lane) {
      return first + seed_of(MessageName{sender, lane, 0}.label(ranks_));
    };
    for (unsigned lane = 0; lane < lanes; ++lane) {
      halves_.at(lane)->set_seeds(seed(rank_, lane), seed(neighbours_.receiver(lane), 1 - lane),
                                  seed_of(std::uint64_t{ranks_} * lanes));
    }
  }

  bool arrived_last(std::uint64_t messages) {
    fault_.clear();
    bool arrived = true;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      Half& half = *halves_.at(lane);
      const std::uint64_t wrong = half.wrong();
      if (wrong == never_ended) {
        fault_ += std::string(fault_.empty() ? "" : ", ") + kernel_names.at(lane) + " did not end";
      } else if (wrong != 0) {
        fault_ += (fault_.empty() ? "" : ", ") + std::to_string(wrong) +
                  " pairs of words from rank " + std::to_string(neighbours_.receiver(lane)) +
                  " were not those sent";
      }
      arrived = arrived && wrong == 0;
      for (std::uint64_t back = 1; back <= std::min(messages, steps_); ++back) {
        arrived = arrived && half.holds(steps_ - back);
      }
    }
    return arrived;
  }

  Owned<Kernel> kernel(const char* name) {
    if (programs_ == nullptr) {
      return session_->make_kernel(name);
    }
    Owned<Program>& program = (*programs_)[depth_];
    if (program == nullptr) {
      const std::string source = "#define CHANNEL_DEPTH " + std::to_string(depth_) +
                                 "\n#define WITHOUT_PORTS\n" + channel_source;
      program = built_program(session_->context(), session_->device(), source.c_str(), "");
    }
    Int code = success;
    Owned<Kernel> kernel(api().clCreateKernel(program.get(), name, &code));
    check(code, "clCreateKernel");
    return kernel;
  }

  Session* session_;
  ChannelPrograms* programs_;
  std::size_t bytes_;
  std::uint64_t depth_;
  unsigned rank_;
  unsigned ranks_;
  Neighbours neighbours_;
  std::vector<std::unique_ptr<Half>> halves_;
  std::uint64_t steps_ = 0;
  std::string fault_;
};

}  // namespace

bool emulates_channels(DeviceId device) {
  return value_info<Uint>(device, device_compiler_available) != 0 &&
         text_info(device, device_extensions).find("cl_intel_channels") != std::string::npos;
}

bool has_channels(const Session& session) {
  return session.has_binary() && std::ranges::all_of(kernel_names, [&](const char* name) {
           return session.has_kernel(name);
         });
}

OperationInfo channel_exchange(bool emulated) {
  OperationInfo info{.name = "exchange",
                     .parts = {{"exchange", "", "kernel"}},
                     .axes = {channel_axis(channel)},
                     .memory_kinds = {"device"},
                     .device_buffers = lanes * exchange_buffer_sets,
                     .most_bytes = std::uint64_t{64} << 20U,
                     .joint = true};
  if (emulated) {
    info.axes.push_back({.name = "topology", .usual = internal, .values = {internal}});
    info.axes.push_back({.name = "depth", .usual = std::to_string(emulated_depth)});
  } else {
    info.axes.push_back({.name = "topology", .usual = "ring", .values = {"ring"}});
  }
  return info;
}

bool is_channel_exchange(const OperationInfo& operation) {
  const AxisInfo* const axis = operation.axis("channel");
  return axis != nullptr && axis->usual == channel;
}

std::unique_ptr<JointOperation> make_channel_exchange(Session& session, ChannelPrograms* programs,
                                                      const OperationSpec& spec,
                                                      Communicator& communicator) {
  return std::make_unique<ChannelExchange>(session, programs, spec, communicator);
}

}  // namespace isthmus::cl
