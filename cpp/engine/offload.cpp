#include "isthmus/offload.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <new>
#include <utility>

#include "block.hpp"
#include "probe.hpp"

namespace isthmus {
namespace {

constexpr std::array adds = {"software_vadd", "software_vadd_simd"};

std::size_t offset_in(const OperationSpec& spec) {
  const std::string text = spec.word("relative_offset", "0");
  std::size_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || value >= page_bytes) {
    throw UsageError("relative_offset is a number of bytes below a page, not '" + text + "'");
  }
  return value;
}

void judge(OffloadRecord& record, bool right, const std::string& what) {
  if (right) {
    record.verified = record.verified == Verified::no ? Verified::no : Verified::yes;
    return;
  }
  record.verified = Verified::no;
  if (record.fault.empty()) {
    record.fault = "wrong sums of " + what;
  }
}

/// Throws MemoryLimitError if Linux is set to give no huge pages, even to a program that asks.
void check_huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string text;
  std::getline(file, text);
  if (text.find("[never]") != std::string::npos) {
    throw MemoryLimitError(
        "huge pages are off: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)");
  }
}

/// Returns the message for too little memory; it names the limit of `ulimit -v` if one is set.
std::string too_little_memory() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    return "not enough host memory, of which a process may have " +
           std::to_string(limit.rlim_cur >> 20U) +
           " MiB here: ulimit -v unlimited, or ask for fewer --elements";
  }
  return "not enough host memory: free some, or ask for fewer --elements";
}

/// Marks the record as wrong if a page of the vectors is not on the NUMA node that `kind` names.
void judge_places(OffloadRecord& record, const std::string& kind, const Vectors& vectors) {
  const std::optional<int> wanted = HostBuffer::node(kind);
  if (!wanted) {
    return;
  }
  for (const Element* vector : {vectors.a, vectors.b, vectors.c}) {
    const auto* const data = reinterpret_cast<const std::byte*>(vector);
    for (const int node : nodes_of({data, vectors.elements * sizeof(Element)})) {
      if (node >= 0 && node != *wanted && record.fault.empty()) {
        record.verified = Verified::no;
        record.fault = "pages of " + kind + " lie on node " + std::to_string(node);
      }
    }
  }
}

/// Times both additions on the host. If the memory is of HostBuffer, each result gets untouched
/// memory, as in a program without a device.
void add_on_host(const Offload& offload, Vectors vectors, std::uint64_t seed, Phases& phases,
                 OffloadRecord& record) {
  const auto add = [&](const char* name, void (*work)(const Vectors&)) {
    std::optional<HostVectors> fresh;
    if (HostBuffer::knows(offload.memory())) {
      fresh.emplace(offload.memory(), vectors.elements, offload.relative_offset());
      vectors.c = fresh->get().c;
    } else {
      spoil(vectors, seed);
    }
    phases(name, [&] { work(vectors); });
    judge(record, adds_up(vectors, seed), name);
    spoil(vectors, seed);  // the next addition may get this memory: no sums may be left in it
  };
  add(adds[0], software_vadd);
  add(adds[1], software_vadd_simd);
}

/// Runs an offload's repetitions in one process and collects their times and faults.
class Measurement {
 public:
  explicit Measurement(Offload& offload) : offload_(&offload) {}

  void once_cold() { record_.first = once("the first offload", true); }

  void again(unsigned count, const std::optional<OperationSpec>& reference) {
    adds_ = !reference;  // additions on the host would lie between offloads that are compared
    if (reference && count > 0) {
      reference_offload(*reference);  // warms up the reference; its times are discarded
    }
    for (unsigned i = 0; i < count; ++i) {
      const bool before = i % 2 == 0;  // the reference runs before and after in turn
      if (reference && before) {
        record_.reference.push_back(reference_offload(*reference));
      }
      record_.again.push_back(once("a further offload"));
      if (reference && !before) {
        record_.reference.push_back(reference_offload(*reference));
      }
    }
  }

  OffloadRecord take() {
    if (!verifiable_) {
      record_.verified = Verified::na;
      record_.fault.clear();
    }
    return std::move(record_);
  }

 private:
  std::vector<PhaseSample> once(const char* what, bool first = false) {
    const std::uint64_t seed = seed_of(fresh_stamp());
    Phases phases(offload_->card_clock());
    if (first) {
      offload_->prepare(phases);
    }
    offload_->run(phases, seed);
    phases.close();
    if (const std::optional<Vectors> vectors = offload_->result()) {
      if (offload_->computes()) {
        const bool right = adds_up(*vectors, seed);
        verifiable_ = verifiable_ && (right || offload_->verifiable());
        judge(record_, right, what);
        judge_places(record_, offload_->memory(), *vectors);
      }
      if (adds_ && offload_->card_clock() == nullptr && !offload_->simulate_adds(phases)) {
        add_on_host(*offload_, *vectors, seed, phases, record_);
      }
    }
    offload_->release();
    return phases.samples();
  }

  std::vector<PhaseSample> reference_offload(const OperationSpec& reference) {
    const OperationSpec own = offload_->spec();
    offload_->set_spec(reference);
    std::vector<PhaseSample> samples = once("the reference's offload");
    offload_->set_spec(own);
    return samples;
  }

  Offload* offload_;
  OffloadRecord record_;
  bool adds_ = true;
  bool verifiable_ = true;
};

}  // namespace

Backend::~Backend() = default;

std::unique_ptr<Offload> Backend::offload(const std::string& /*id*/, const Options& /*options*/,
                                          const OperationSpec& /*spec*/) {
  throw UsageError("this device does no offload");
}

Phases::Phases(CardClock card)
    : clock_(&HostClock::instance()),
      card_(card),
      at_first_(usage()),
      first_(clock_->start()),
      last_(first_) {}

Probe Phases::usage() {
  rusage now{};
  getrusage(RUSAGE_SELF, &now);
  return {.voluntary_switches = now.ru_nvcsw,
          .involuntary_switches = now.ru_nivcsw,
          .minor_faults = now.ru_minflt,
          .major_faults = now.ru_majflt};
}

void Phases::add_usage(PhaseSample& phase, const Probe& before) {
  const Probe during = usage() - before;
  phase.probe.voluntary_switches += during.voluntary_switches;
  phase.probe.involuntary_switches += during.involuntary_switches;
  phase.probe.minor_faults += during.minor_faults;
  phase.probe.major_faults += during.major_faults;
}

PhaseSample& Phases::find(const char* name) {
  const auto known = std::ranges::find(samples_, name, &PhaseSample::name);
  return known == samples_.end() ? samples_.emplace_back(PhaseSample{.name = name}) : *known;
}

/// Moves the simulated time of one phase into another: in which of the two the runtime's threads
/// wait for the card differs from run to run.
void Phases::gather(const char* from, const char* into) {
  const auto source = std::ranges::find(samples_, from, &PhaseSample::name);
  if (source != samples_.end() && source->simulated_fs != 0) {
    find(into).simulated_fs += std::exchange(source->simulated_fs, 0);
  }
}

void Phases::close() {
  if (card_ != nullptr) {
    gather("migrate_to_device_wait", "migrate_to_device");
    gather("kernel_enqueue", "kernel_run");
  }
  PhaseSample total{.name = "total", .ticks = last_ - first_};
  PhaseSample remainder{.name = "remainder", .ticks = total.ticks};
  for (const PhaseSample& phase : samples_) {
    remainder.ticks -= phase.ticks;
    total.simulated_fs += phase.simulated_fs;
  }
  if (total.simulated_fs > 0 && card_ == nullptr) {
    total.ticks = remainder.ticks = 0;
  } else {
    add_usage(total, at_first_);
  }
  samples_.push_back(remainder);
  samples_.push_back(total);
}

Offload::Offload(const OperationSpec& spec) : spec_(spec), relative_offset_(offset_in(spec)) {
  if (elements() == 0) {
    throw UsageError("a vector needs an element");
  }
}

void Offload::set_spec(const OperationSpec& spec) {
  if (spec.bytes != spec_.bytes) {
    throw UsageError("the size of an offload cannot change");
  }
  relative_offset_ = offset_in(spec);
  spec_ = spec;
}

OffloadRecord measure_offload(Offload& offload, unsigned again,
                              const std::optional<OperationSpec>& reference) {
  const Probe before = read_probe();
  const Ticks begin = HostClock::raw_nanoseconds();
  static_cast<void>(HostClock::instance());  // calibrate before anything is timed
  Measurement measurement(offload);
  try {
    if (offload.memory() == "hugepage") {
      check_huge_pages();
    }
    measurement.once_cold();
    measurement.again(again, reference);
  } catch (const MemoryLimitError& error) {
    throw UnavailableError(error.what());
  } catch (const std::bad_alloc&) {
    throw UnavailableError(too_little_memory());
  }
  OffloadRecord record = measurement.take();
  record.steal_s = (read_probe() - before).steal_s;
  record.wall_s = static_cast<double>(HostClock::raw_nanoseconds() - begin) * 1e-9;
  return record;
}

void drop_adds(OperationInfo& offload) {
  std::erase_if(offload.parts, [](const PartInfo& part) {
    return std::ranges::find(adds, part.name) != adds.end();
  });
}

OperationInfo offload_of(const std::vector<std::string>& phases, bool on_host) {
  std::vector<std::string> names = phases;
  names.insert(names.end(), {"remainder", "total"});
  if (on_host) {
    names.insert(names.end(), adds.begin(), adds.end());
  }
  std::vector<PartInfo> parts;
  for (const std::string& name : names) {
    const bool up = name.starts_with("migrate_to_device");
    const bool down = name == "read_back";
    PartInfo& part = parts.emplace_back(name, "", name == "kernel_run" ? "kernel" : "cpu");
    if (up || down) {
      part.direction = up ? "h2d" : "d2h";
      part.initiator = "dma";
    }
  }
  return {.name = "offload", .parts = std::move(parts), .device_buffers = 3};
}

OperationInfo user_offload(const std::vector<std::string>& phases, bool on_host) {
  OperationInfo info = offload_of(phases, on_host);
  info.memory_kinds = user_memory_kinds();
  info.axes.push_back({.name = "relative_offset", .usual = "0"});
  return info;
}

std::vector<std::string> device_phases(bool map) {
  std::vector<std::string> phases = {"initialise", "program_device", "allocate", "populate"};
  if (map) {
    phases.emplace_back("map");
  }
  phases.insert(phases.end(), {"migrate_to_device", "migrate_to_device_wait", "set_arguments",
                               "kernel_enqueue", "kernel_run", "read_back"});
  return phases;
}

std::vector<std::string> user_memory_kinds() {
  std::vector<std::string> kinds =
      HostBuffer::kinds();  // contains `aligned`, to which axis `relative_offset` applies
  const std::vector<std::string> others = HostBuffer::allocators();
  kinds.insert(kinds.end(), others.begin(), others.end());
  return kinds;
}

}  // namespace isthmus
