// Requirements on every backend: each device opens; each operation that it declares runs at every
// kind of size, memory and depth, moves the bytes that it reports, and is verified. Unknown names
// are refused.
//
//   isthmus_conformance LIBRARY [KEY=VALUE ...]
//
// Each operation is also tried with a part that moves nothing: its run is left out. Some parts,
// such as a map, cannot be left out, because the next part needs them. These are tried only with
// the stand-in of a runtime (`opencl_stand_in/`), which then moves nothing.
//
// Ends with 0 (all tests passed), 1 (a test failed) or 77 (no device).
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "isthmus/backend.hpp"
#include "isthmus/communicator.hpp"
#include "isthmus/engine.hpp"
#include "isthmus/joint.hpp"

namespace {

using namespace isthmus;

constexpr int skipped = 77;
constexpr const char* nonsense = "no such thing";
/// Covers many pages and descriptors. Under sanitizers simulation is slow, and each further page
/// runs the same code, so the size is smaller.
#ifdef SANITIZED
constexpr std::size_t largest = (std::size_t{128} << 10U) + 5;
#else
constexpr std::size_t largest = (std::size_t{1} << 20U) + 5;
#endif

class Report {
 public:
  void check(bool holds, const std::string& where, const std::string& what) {
    ++checks_;
    if (!holds) {
      ++failures_;
      std::cout << "FAILED  " << where << ": " << what << '\n';
    }
  }

  template <class Action>
  void refuses(const std::string& where, const Action& action) {
    std::string otherwise = "was accepted";
    try {
      action();
    } catch (const UsageError&) {
      otherwise.clear();
    } catch (const std::exception& error) {
      otherwise = std::string("is no UsageError: ") + error.what();
    }
    check(otherwise.empty(), where, otherwise);
  }

  [[nodiscard]] int checks() const { return checks_; }
  [[nodiscard]] int failures() const { return failures_; }

 private:
  int checks_ = 0;
  int failures_ = 0;
};

std::string text(const OperationSpec& spec) {
  std::ostringstream out;
  out << spec.name << ' ' << spec.bytes << " B " << spec.memory;
  for (const auto& [name, value] : spec.axes) {
    out << ' ' << name << ' ' << value;
  }
  return out.str();
}

std::vector<std::string> memory_kinds(const DeviceInfo& device, const OperationInfo& operation) {
  if (!operation.memory_kinds.empty()) {
    return operation.memory_kinds;
  }
  std::vector<std::string> kinds = device.memory_kinds;
  // A device with host buffers must take them at any offset.
  if (std::ranges::any_of(kinds, &HostBuffer::knows)) {
    kinds.insert(kinds.end(), {"offset1", "offset64"});
  }
  return kinds;
}

/// Every value of every axis, one axis at a time. Of an axis that counts: 3 and its usual value,
/// which may be large.
std::vector<std::map<std::string, std::string>> combinations(const OperationInfo& operation) {
  std::map<std::string, std::string> plain;
  for (const AxisInfo& axis : operation.axes) {
    plain[axis.name] = axis.values.empty() ? "3" : axis.usual;
  }
  std::vector<std::map<std::string, std::string>> all = {plain};
  for (const AxisInfo& axis : operation.axes) {
    for (const std::string& value :
         axis.values.empty() ? std::vector<std::string>{axis.usual} : axis.values) {
      if (value != plain[axis.name]) {
        all.push_back(plain);
        all.back()[axis.name] = value;
      }
    }
  }
  return all;
}

/// The points of an operation: every size, kind of memory and value that it can take.
std::vector<OperationSpec> points(const DeviceInfo& device, const OperationInfo& operation) {
  if (!operation.sized) {
    return {{operation.name, 0, "", {}}};
  }
  std::vector<OperationSpec> all;
  std::set<std::size_t> sizes = {1, 3, 8, 4095, 4096, 4097, 70'001, largest};
  sizes.insert(operation.unit_bytes);
  std::erase_if(sizes, [&](std::size_t bytes) { return bytes % operation.unit_bytes != 0; });
  for (const std::size_t bytes : sizes) {
    for (const std::string& memory : memory_kinds(device, operation)) {
      for (const auto& axes : combinations(operation)) {
        if (bytes <= std::min(device.max_buffer_bytes, operation.most_bytes)) {
          all.push_back({operation.name, bytes, memory, axes});
        }
      }
    }
  }
  return all;
}

/// How often a repetition may move the buffer: products of the counts of its axes, such as a
/// queue's depth, a kernel's iterations or the number of ranks.
std::set<std::uint64_t> times_moved(const OperationSpec& spec) {
  std::set<std::uint64_t> times = {1};
  for (const auto& [name, value] : spec.axes) {
    if (value.find_first_not_of("0123456789") == std::string::npos && value != "0") {
      const std::set<std::uint64_t> before = times;
      for (const std::uint64_t other : before) {
        times.insert(other * spec.count(name));
      }
    }
  }
  return times;
}

/// Whether one repetition of a part can move `moved` bytes: the whole buffer, as often as its axes
/// count; twice if both directions move. A part without a direction moves nothing (a latency) or
/// counts twice (a copy). Each rank sends to two neighbours.
bool plausible(std::uint64_t moved, const OperationSpec& spec, const PartInfo& part) {
  const bool nowhere = part.direction.empty();
  const std::set<std::uint64_t> times = times_moved(spec);
  return (nowhere && moved == 0) || std::ranges::any_of(times, [&](std::uint64_t count) {
           const std::uint64_t once = spec.bytes * count;
           return moved == once * (part.direction == "both" ? 2 : 1) ||
                  (nowhere && moved == 2 * once);
         });
}

SeriesOptions quick() {
  SeriesOptions options;
  options.precision = 0.5;
  options.least_block_s = 1e-3;
  options.most_samples = 50;
  options.loop_s = 1e-6;
  return options;
}

/// Runs a joint operation with one rank, which is its own neighbour.
void check_joint_point(Report& report, Device& device, const OperationSpec& spec,
                       const std::string& where) {
  const auto communicator = single_process_communicator();
  const bool moves = device.join(spec, *communicator)->moves_data();
  const Block block = JointSeries(device, spec, quick(), *communicator).measure(0.01);
  report.check(block.verified == (moves ? Verified::yes : Verified::na), where,
               block.fault.empty() ? "not verified" : block.fault);
  report.check(block.parts.size() == 2, where, "has other parts than the slowest and each rank");
  for (const PartSamples& part : block.parts) {
    report.check(part.ticks.empty() == (device.info().clock == ClockDomain::simulated), where,
                 "has samples of another clock, or none");
    report.check((part.moved_bytes > 0) == moves && part.moved_bytes % spec.bytes == 0, where,
                 "says it moved " + std::to_string(part.moved_bytes) + " B");
  }
}

/// A fault of a part: which of its runs are left out: all, or all but the first.
struct Fault {
  std::size_t part = 0;
  bool from_first = true;
  void (*idles)(const char* command) = nullptr;  ///< makes the runtime move nothing
  std::string command = {};                      ///< command of the runtime that moves nothing
};

/// An operation with a fault.
class Idle final : public Operation {
 public:
  Idle(std::unique_ptr<Operation> all, Fault fault)
      : all_(std::move(all)), fault_(std::move(fault)) {}

  void run(std::size_t part, std::uint64_t repetitions) override {
    const bool chosen = part == fault_.part;
    const bool faulty = chosen && strikes_;
    strikes_ = strikes_ || chosen;
    if (!faulty) {
      all_->run(part, repetitions);
    } else if (fault_.idles != nullptr) {
      fault_.idles(fault_.command.c_str());
      all_->run(part, repetitions);
      fault_.idles("");
    }
  }
  [[nodiscard]] std::size_t parts() const override { return all_->parts(); }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t part) const override {
    return all_->moved_bytes(part);
  }
  [[nodiscard]] std::int64_t simulated_femtoseconds(std::size_t part) const override {
    return all_->simulated_femtoseconds(part);
  }
  [[nodiscard]] std::uint64_t least_batch() const override { return all_->least_batch(); }
  [[nodiscard]] bool parts_arm_together() const override { return all_->parts_arm_together(); }
  void arm_fully(std::size_t part, std::uint64_t seed) override { all_->arm_fully(part, seed); }
  [[nodiscard]] bool arrived_fully(std::size_t part, std::uint64_t seed) override {
    return all_->arrived_fully(part, seed);
  }
  void arm(std::size_t part, std::uint64_t stamp) override { all_->arm(part, stamp); }
  [[nodiscard]] bool arrived(std::size_t part, std::uint64_t stamp) override {
    return all_->arrived(part, stamp);
  }

 private:
  std::unique_ptr<Operation> all_;
  Fault fault_;
  bool strikes_ = fault_.from_first;
};

/// A joint operation with a fault.
class IdleJoint final : public JointOperation {
 public:
  IdleJoint(std::unique_ptr<JointOperation> all, bool from_first)
      : all_(std::move(all)), strikes_(from_first) {}

  void connect(Communicator& communicator) override { all_->connect(communicator); }
  void disconnect(Communicator& communicator) override { all_->disconnect(communicator); }
  void run(std::uint64_t repetitions) override {
    if (!std::exchange(strikes_, true)) {
      all_->run(repetitions);
    }
  }
  [[nodiscard]] std::uint64_t moved_bytes() const override { return all_->moved_bytes(); }
  [[nodiscard]] std::uint64_t armed_repetitions() const override {
    return all_->armed_repetitions();
  }
  void arm_fully(std::uint64_t seed) override { all_->arm_fully(seed); }
  [[nodiscard]] bool arrived_fully(std::uint64_t seed) override {
    return all_->arrived_fully(seed);
  }
  void arm(std::uint64_t stamp) override { all_->arm(stamp); }
  [[nodiscard]] bool arrived(std::uint64_t stamp) override { return all_->arrived(stamp); }

 private:
  std::unique_ptr<JointOperation> all_;
  bool strikes_;
};

/// A device whose operations have a fault.
class IdleDevice final : public Device {
 public:
  IdleDevice(Device& all, Fault fault) : all_(&all), fault_(std::move(fault)) {}

  [[nodiscard]] const DeviceInfo& info() const override { return all_->info(); }
  std::unique_ptr<Operation> make(const OperationSpec& spec) override {
    return std::make_unique<Idle>(all_->make(spec), fault_);
  }
  std::unique_ptr<JointOperation> join(const OperationSpec& spec,
                                       Communicator& communicator) override {
    return std::make_unique<IdleJoint>(all_->join(spec, communicator), fault_.from_first);
  }

 private:
  Device* all_;
  Fault fault_;
};

/// The function that makes the stand-in's commands move nothing; null for a real runtime.
auto idling() -> void (*)(const char*) {
  const char* const loader = std::getenv("ISTHMUS_OPENCL_LOADER");
  void* const library = loader == nullptr ? nullptr : dlopen(loader, RTLD_NOW | RTLD_NOLOAD);
  return library == nullptr
             ? nullptr
             : reinterpret_cast<void (*)(const char*)>(dlsym(library, "isthmus_stand_in_idles"));
}

Block measured(Device& device, const OperationInfo& operation, const OperationSpec& spec) {
  if (!operation.joint) {
    return Series(device, spec, quick()).measure(0.01);
  }
  const auto communicator = single_process_communicator();
  return JointSeries(device, spec, quick(), *communicator).measure(0.01);
}

/// How an operation's parts are armed; empty if it moves no data.
struct Parts {
  std::size_t count = 0;
  bool together = true;
};

Parts parts_of(Device& device, const OperationInfo& operation, const OperationSpec& spec) {
  if (operation.joint) {
    const auto communicator = single_process_communicator();
    const bool moves = device.join(spec, *communicator)->moves_data();
    return {.count = moves ? std::size_t{1} : std::size_t{0}};
  }
  const auto made = device.make(spec);
  const std::size_t parts = made->moves_data() ? made->parts() : 0;
  return {.count = parts, .together = made->parts_arm_together()};
}

/// Runs a point with one part that moves nothing. The full check must find a fault from the start,
/// the stamps a later fault.
void check_fault(Report& report, Device& device, const OperationInfo& operation,
                 const OperationSpec& spec, const Fault& fault) {
  IdleDevice idle(device, fault);
  const Block block = measured(idle, operation, spec);
  std::string check = fault.from_first ? "first" : "timed";
  if (device.info().clock == ClockDomain::simulated) {
    check = "simulated";
  }
  report.check(block.verified == Verified::no && block.fault.find(check) != std::string::npos,
               device.info().name + ": " + text(spec),
               operation.parts[fault.part].name + " that moves nothing passes the " + check +
                   " check, which says '" + block.fault + "'");
}

/// Runs a point with each fault in each of its parts.
void check_idle_point(Report& report, Device& device, const OperationInfo& operation,
                      const OperationSpec& spec) {
  const Parts parts = parts_of(device, operation, spec);
  if (!parts.together && idling() == nullptr) {
    return;
  }
  for (std::size_t part = 0; part < parts.count; ++part) {
    Fault fault{.part = part};
    if (!parts.together) {
      fault.idles = idling();
      fault.command = operation.parts[part].name;
    }
    check_fault(report, device, operation, spec, fault);
    if (device.info().clock == ClockDomain::host) {  // a simulated point has only one run
      fault.from_first = false;
      check_fault(report, device, operation, spec, fault);
    }
  }
}

void check_idle(Report& report, Device& device, const OperationInfo& operation) {
  if (!operation.sized) {
    return;
  }
  const std::string memory = memory_kinds(device.info(), operation).front();
  for (const std::size_t bytes : {1, 2, 3, 5, 7, 8}) {
    if (bytes % operation.unit_bytes != 0 || bytes > operation.most_bytes) {
      continue;
    }
    const auto all = combinations(operation);
    for (const auto& axes : bytes == 1 ? all : std::vector{all.front()}) {
      const OperationSpec spec{operation.name, bytes, memory, axes};
      try {
        check_idle_point(report, device, operation, spec);
      } catch (const std::exception& error) {
        report.check(false, device.info().name + ": " + text(spec) + ", which moves nothing",
                     error.what());
      }
    }
  }
}

void check_point(Report& report, Device& device, const OperationInfo& operation,
                 const OperationSpec& spec) {
  const std::string where = device.info().name + ": " + text(spec);
  if (operation.joint) {
    check_joint_point(report, device, spec, where);
    return;
  }
  bool moves = false;
  {
    const auto made = device.make(spec);
    moves = made->moves_data();
    report.check(made->parts() == operation.parts.size(), where, "other parts than declared");
    report.check(made->least_batch() >= 1, where, "a batch of nothing");
  }
  const Block block = Series(device, spec, quick()).measure(0.01);
  report.check(block.verified == (moves ? Verified::yes : Verified::na), where,
               block.fault.empty() ? "not verified" : block.fault);
  if (block.parts.size() != operation.parts.size()) {
    return;  // reported above
  }
  for (std::size_t i = 0; i < block.parts.size(); ++i) {
    const PartSamples& part = block.parts[i];
    const PartInfo& info = operation.parts[i];
    if (device.info().clock == ClockDomain::simulated) {
      report.check(part.simulated_fs.size() == device.info().simulated_samples, where,
                   info.name + " has other than its fixed count of samples");
      report.check(std::ranges::all_of(part.simulated_fs, [](auto fs) { return fs > 0; }), where,
                   info.name + " takes no simulated time");
    } else {
      report.check(!part.ticks.empty(), where, info.name + " has no samples");
      report.check(part.cold.has_value(), where, info.name + " has no cold sample");
    }
    report.check(plausible(part.moved_bytes, spec, info), where,
                 info.name + " says it moved " + std::to_string(part.moved_bytes) + " B");
    const auto& seconds = part.device_seconds;
    report.check(seconds.empty() || seconds.size() == part.ticks.size(), where,
                 info.name + " has device times for some samples only");
    report.check(std::ranges::all_of(seconds, [](double s) { return s >= 0.0; }), where,
                 info.name + " has negative device times");
  }
}

void check_declaration(Report& report, const DeviceInfo& device) {
  static const std::set<std::string> directions = {"h2d", "d2h", "both", ""};
  static const std::set<std::string> initiators = {"cpu", "dma", "kernel"};
  report.check(!device.name.empty() && !device.platform.empty() && !device.api.empty(), device.id,
               "has no name, platform or api");
  report.check(!device.operations.empty(), device.name, "can do nothing");
  for (const OperationInfo& operation : device.operations) {
    const std::string where = device.name + ": " + operation.name;
    std::set<std::string> axes;
    report.check(!operation.parts.empty(), where, "has no parts");
    report.check(!operation.sized || !memory_kinds(device, operation).empty(), where,
                 "takes no kind of memory");
    for (const AxisInfo& axis : operation.axes) {
      report.check(
          axis.values.empty() || std::ranges::find(axis.values, axis.usual) != axis.values.end(),
          where, "has a usual " + axis.name + " that it does not take");
      report.check(axes.insert(axis.name).second, where, "has axis " + axis.name + " twice");
    }
    for (const PartInfo& part : operation.parts) {
      report.check(!part.name.empty() && directions.count(part.direction) == 1 &&
                       initiators.count(part.initiator) == 1,
                   where, "has a part that is not described in the words of the interface");
    }
  }
}

void check_device(Report& report, Backend& backend, const DeviceInfo& listed,
                  const Options& options) {
  check_declaration(report, listed);
  const auto device = backend.open(listed.id, options);
  const DeviceInfo& opened = device->info();  // the bitstream may be known only after opening
  report.check(opened.id == listed.id && opened.name == listed.name, listed.name,
               "opens as another device");
  for (const OperationInfo& operation : opened.operations) {
    for (const OperationSpec& spec : points(opened, operation)) {
      try {
        check_point(report, *device, operation, spec);
      } catch (const std::exception& error) {
        report.check(false, listed.name + ": " + text(spec), error.what());
      }
    }
    check_idle(report, *device, operation);
  }
  const std::string memory = listed.memory_kinds.empty() ? "" : listed.memory_kinds.front();
  report.refuses(listed.name + ": an unknown operation",
                 [&] { return device->make({.name = nonsense, .bytes = 64, .memory = memory}); });
  const auto communicator = single_process_communicator();
  for (const OperationInfo& operation : opened.operations) {
    const std::string kind = operation.memory_kinds.empty() ? memory : operation.memory_kinds[0];
    const auto made = [&](const std::string& axis, const std::string& value) {
      const OperationSpec spec{operation.name, 64, kind, {{axis, value}}};
      if (operation.joint) {
        device->join(spec, *communicator);
      } else {
        device->make(spec);
      }
    };
    report.refuses(listed.name + ": an unknown axis", [&] { made(nonsense, "1"); });
    for (const AxisInfo& axis : operation.axes) {
      report.refuses(listed.name + ": an impossible " + axis.name, [&] { made(axis.name, "-1"); });
    }
    if (operation.joint) {
      report.refuses(listed.name + ": " + operation.name + " without other ranks",
                     [&] { return device->make({operation.name, 64, kind}); });
    }
  }
  report.refuses(listed.name + ": an unknown option",
                 [&] { return backend.open(listed.id, {{nonsense, "1"}}); });
}

int run(const std::string& library, const Options& options) {
  const auto backend = load_backend(library);
  std::vector<DeviceInfo> devices;
  try {
    devices = backend->devices();
  } catch (const BackendError& error) {
    std::cout << "skipped: " << error.what() << '\n';
    return skipped;
  }
  if (devices.empty()) {
    std::cout << "skipped: no device\n";
    return skipped;
  }
  Report report;
  std::set<std::string> ids;
  for (const DeviceInfo& device : devices) {
    report.check(ids.insert(device.id).second, device.name, "shares its id with another");
    check_device(report, *backend, device, options);
  }
  report.refuses("an unknown device", [&] { return backend->open(nonsense, {}); });
  std::cout << devices.size() << " devices, " << report.checks() << " checks, " << report.failures()
            << " failed\n";
  return report.failures() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2) {
      throw UsageError("name a backend's shared object");
    }
    Options options;
    for (int i = 2; i < argc; ++i) {
      const std::string option = argv[i];
      const std::size_t equals = std::min(option.find('='), option.size() - 1);
      options[option.substr(0, equals)] = option.substr(equals + 1);
    }
    return run(argv[1], options);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
