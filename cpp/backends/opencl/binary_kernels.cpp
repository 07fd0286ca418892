#include "binary_kernels.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "isthmus/emulated_card.hpp"
#include "isthmus/sweep.hpp"

namespace isthmus::cl {
namespace {

void set_buffer(Kernel kernel, Uint index, Mem buffer) {
  check(api().clSetKernelArg(kernel, index, sizeof(Mem), &buffer), "clSetKernelArg");
}

using emulated_card::kept_buffers;

/// Where a buffer lies: the index of a memory of the card, or host memory.
using Place = std::optional<Uint>;
constexpr Place on_host_memory = std::nullopt;

Owned<Mem> make_in(const Session& session, Place place, std::size_t bytes) {
  if (place) {
    return session.make_buffer_in(*place, bytes);
  }
  auto kept = kept_buffers<Owned<Mem>>().take(bytes);
  return kept ? std::move(*kept) : session.make_host_only(bytes);
}

/// Returns whether a kernel accepts a buffer in this memory as this argument. Each trial creates a
/// kernel object, because after a refused buffer an object may accept none.
bool takes(Session& session, const std::string& name, Uint argument, Place place) {
  try {
    const Owned<Kernel> kernel = session.make_kernel(name.c_str());
    Owned<Mem> buffer = make_in(session, place, page_bytes);
    set_buffer(kernel.get(), argument, buffer.get());
    if (!place) {
      kept_buffers<Owned<Mem>>().keep(page_bytes, std::move(buffer));
    }
    return true;
  } catch (const BackendError&) {
    return false;
  }
}

/// Returns a memory for each buffer of a kernel, found by trial; empty if no memory suits a buffer.
std::vector<Place> places_of(Session& session, const std::string& name, bool on_host) {
  constexpr Uint most_memories = 64;
  std::vector<Place> places;
  for (Uint argument = 0; argument < SweepOperation::buffers(name); ++argument) {
    if (on_host) {
      if (!takes(session, name, argument, on_host_memory)) {
        return {};
      }
      places.push_back(on_host_memory);
      continue;
    }
    Uint memory = 0;
    while (memory < most_memories && !takes(session, name, argument, memory)) {
      ++memory;
    }
    if (memory == most_memories) {
      return {};
    }
    places.emplace_back(memory);
  }
  return places;
}

class Sweep final : public SweepOperation {
 public:
  Sweep(Session& session, const OperationSpec& spec)
      : SweepOperation(spec),
        on_host_(spec.word("target", "host") == "host"),
        queue_(session.make_queue()),
        kernel_(session.make_kernel(spec.name.c_str())) {
    const std::vector<Place> places = places_of(session, name(), on_host_);
    if (places.empty()) {
      throw BackendError("kernel " + name() + " does not reach that memory");
    }
    std::vector<Memory*> memories;
    Uint argument = 0;
    for (const Place& place : places) {
      DeviceMemory& memory = *worked_.emplace_back(
          std::make_unique<DeviceMemory>(session, spec.bytes, make_in(session, place, spec.bytes)));
      memories.push_back(&memory);
      set_buffer(kernel_.get(), argument++, memory.handle());
    }
    for (const std::uint64_t number : {std::uint64_t{spec.bytes}, sweeps()}) {
      check(api().clSetKernelArg(kernel_.get(), argument++, sizeof(number), &number),
            "clSetKernelArg");
    }
    works_on(std::move(memories));
  }
  ~Sweep() override {
    for (const std::unique_ptr<DeviceMemory>& memory : worked_) {
      if (on_host_) {
        const std::size_t bytes = memory->bytes();
        kept_buffers<Owned<Mem>>().keep(bytes, memory->take());
      }
    }
  }
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    constexpr std::size_t one = 1;
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      check(api().clEnqueueNDRangeKernel(queue_.get(), kernel_.get(), 1, nullptr, &one, &one, 0,
                                         nullptr, nullptr),
            "clEnqueueNDRangeKernel");
      finish(queue_.get());
    }
  }

 private:
  bool on_host_;
  Owned<Queue> queue_;
  Owned<Kernel> kernel_;
  std::vector<std::unique_ptr<DeviceMemory>> worked_;
};

}  // namespace

std::vector<OperationInfo> sweep_operations(Session& session, const std::string& implementation) {
  std::vector<OperationInfo> table;
  for (const bool on_host : {true, false}) {
    const auto here = [&](const OperationInfo& operation) {
      return session.has_kernel(operation.name.c_str()) &&
             !places_of(session, operation.name, on_host).empty();
    };
    std::ranges::copy_if(bandwidth_kernels(on_host ? "host" : "device",
                                           {on_host ? "host_only" : "device"}, implementation),
                         std::back_inserter(table), here);
  }
  return table;
}

std::vector<std::pair<std::string, std::string>> unreached(
    const std::vector<OperationInfo>& known) {
  std::vector<std::pair<std::string, std::string>> lacks;
  for (const std::string target : {"host", "device"}) {
    const bool has = std::ranges::any_of(known, [&target](const OperationInfo& operation) {
      const auto axis = std::ranges::find(operation.axes, "target", &AxisInfo::name);
      return axis != operation.axes.end() && axis->usual == target;
    });
    if (!has) {
      lacks.emplace_back(
          "target=" + target,
          "none of the binary's kernels read_bandwidth, write_bandwidth and bandwidth takes such a "
          "buffer: build kernels/vitis for it" +
              std::string(target == "host"
                              ? ", and give the card host memory: xbutil configure --host-mem"
                              : ""));
    }
  }
  return lacks;
}

std::unique_ptr<Operation> make_sweep(Session& session, const OperationSpec& spec) {
  return is_bandwidth_kernel(spec.name) && session.has_binary()
             ? std::make_unique<Sweep>(session, spec)
             : nullptr;
}

}  // namespace isthmus::cl
