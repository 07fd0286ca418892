// The interface that each backend implements: its devices, their operations and their offloads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/buffer.hpp"
#include "isthmus/clock.hpp"

namespace isthmus {

inline constexpr int backend_abi = 5;

/// The user's address or request is invalid; the command then ends with exit code 2.
class UsageError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// The runtime or the device refuses a request or fails.
class BackendError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The device is unusable in this process from now on: its worker must end.
class DeviceLostError : public BackendError {
 public:
  using BackendError::BackendError;
};

using Options = std::map<std::string, std::string>;

/// A part of an operation that is timed alone; points of the run file have its name.
struct PartInfo {
  std::string name;
  std::string direction;  ///< "h2d", "d2h", "both", or "" without a crossing
  std::string initiator;  ///< "cpu", "dma" or "kernel"
};

/// A parameter of an operation besides size and kind of memory.
struct AxisInfo {
  std::string name;
  std::string usual = "1";
  std::vector<std::string> values = {};  ///< possible values; empty: any whole number from 1
  bool buffers = false;  ///< the number of buffers on the device is proportional to the value
  std::uint64_t most = ~std::uint64_t{0};  ///< largest value, if any number is possible
};

/// Axis `depth`: transfers queued together, or buffers of a stream.
AxisInfo queue_depth(unsigned usual = 1);
/// Axis `bank`: which of a card's memories holds the buffers, counted from 0.
AxisInfo memory_bank(unsigned banks);

/// An operation that a device offers, for every combination of the listed sizes, kinds of memory
/// and axis values. A device may list several of the same name with different axes.
struct OperationInfo {
  std::string name;
  std::vector<PartInfo> parts;
  bool sized = true;  ///< takes a size and a kind of memory
  std::vector<AxisInfo> axes = {};
  std::vector<std::string> memory_kinds = {};  ///< first is the default; empty: those of the device
  /// Number of buffers of the operation's size on the device, for axis values of 1: see
  /// `AxisInfo::buffers`.
  unsigned device_buffers = 1;
  std::uint64_t most_bytes = ~std::uint64_t{0};  ///< largest useful size
  std::uint64_t unit_bytes = 1;                  ///< every size is a multiple of this
  /// Whether several ranks execute the operation together: `Device::join` creates it, not
  /// `Device::make`.
  bool joint = false;
  std::string api = {};  ///< `api` in the run file; empty: that of the device

  /// The axis of this name, or null.
  [[nodiscard]] const AxisInfo* axis(const std::string& wanted) const;
};

struct DeviceInfo {
  std::string id;        ///< argument of `Backend::open`
  std::string name;      ///< the vendor's name
  std::string platform;  ///< runtime or driver through which the device is used
  std::string api;       ///< `api` in the run file
  std::uint64_t max_buffer_bytes = 0;
  std::uint64_t memory_bytes = 0;
  std::vector<std::string> memory_kinds;  ///< first is the default
  std::vector<OperationInfo> operations;
  /// Recorded in the run file's environment.
  std::vector<std::pair<std::string, std::string>> properties;
  /// Axis values that this device lacks, e.g. "target=host", each with the reason and a remedy.
  std::vector<std::pair<std::string, std::string>> lacks = {};
  ClockDomain clock = ClockDomain::host;
  /// Number of samples of a simulated point: one, because equal runs take equal time, more if the
  /// model draws random times.
  unsigned simulated_samples = 1;
  /// Whether a real runtime runs above a simulated device: the host's time is then measured as
  /// well.
  bool real_software = false;
  /// The offloads that `Backend::offload` creates; their parts are the phases.
  std::vector<OperationInfo> offloads = {};
};

struct OperationSpec {
  std::string name;
  std::size_t bytes = 0;
  std::string memory;
  std::map<std::string, std::string> axes = {};

  /// Returns the value of an axis of whole numbers from 1. Throws UsageError for other values.
  [[nodiscard]] std::uint64_t count(const std::string& axis, std::uint64_t usual = 1) const;
  [[nodiscard]] std::string word(const std::string& axis, const std::string& usual) const;
  [[nodiscard]] unsigned depth() const { return static_cast<unsigned>(count("depth")); }
  [[nodiscard]] unsigned bank() const;  ///< counted from 0
};

/// An operation that the engine times repeatedly; it owns its buffers.
class Operation {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;

  /// Executes part `part` `repetitions` times and waits for completion. Only this call is timed.
  ///
  /// The engine calls an operation of one part once for a whole batch. Several parts alternate with
  /// one repetition each: run(0, 1), run(1, 1), run(0, 1), ... With full verification and on a
  /// simulated clock, a call executes `least_batch` repetitions of a part.
  virtual void run(std::size_t part, std::uint64_t repetitions) = 0;

  [[nodiscard]] virtual std::size_t parts() const { return 1; }
  /// Returns the bytes that one repetition of a part moves, each counted once, at its sender.
  [[nodiscard]] virtual std::uint64_t moved_bytes(std::size_t part) const = 0;
  /// Returns the seconds of the last `run` on the device's own clock, if the device has a clock.
  [[nodiscard]] virtual std::optional<double> device_seconds(std::size_t /*part*/) {
    return std::nullopt;
  }
  /// Returns the femtoseconds of the last `run` on an emulated card, which starts from reset: equal
  /// on every host and in every run. Called only for devices with a simulated clock.
  [[nodiscard]] virtual std::int64_t simulated_femtoseconds(std::size_t part) const;
  /// Returns flags of the last `run`, e.g. `fast_forward`, for the run file.
  [[nodiscard]] virtual std::vector<std::string> remarks() const { return {}; }
  /// Returns the device's explanation of wrong data in the last `run`, which the point's fault
  /// quotes.
  [[nodiscard]] virtual std::string fault() const { return {}; }
  /// Returns the fewest repetitions whose time shows the sustained rate.
  [[nodiscard]] virtual std::uint64_t least_batch() const { return 1; }
  /// Returns whether all parts may be armed before the first part runs, as in pairs. If not (map,
  /// unmap), each part is armed after the part before it has run.
  [[nodiscard]] virtual bool parts_arm_together() const { return true; }

  /// Verification, outside the timed region: `arm` writes fresh data to the source, `arrived`
  /// checks the destination. Operations that move no data need neither.
  ///
  /// A batch is armed before its first repetition and checked after its last. Repetitions in
  /// between move the same data again, so that `run` must work without a preceding `arm`. In a
  /// batch of alternating parts that cannot be armed together, the first and the last round are
  /// armed and checked.
  [[nodiscard]] virtual bool moves_data() const { return true; }
  virtual void arm_fully(std::size_t part, std::uint64_t seed);
  [[nodiscard]] virtual bool arrived_fully(std::size_t part, std::uint64_t seed);
  virtual void arm(std::size_t part, std::uint64_t stamp);
  [[nodiscard]] virtual bool arrived(std::size_t part, std::uint64_t stamp);

 protected:
  /// Returns the movements of data in one repetition of a part, which the functions above verify.
  virtual std::vector<Movement>& movements(std::size_t part);
};

class Communicator;
class JointOperation;
class Staging;

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] virtual const DeviceInfo& info() const = 0;
  /// Creates an operation with its buffers. Throws BackendError if the device refuses.
  virtual std::unique_ptr<Operation> make(const OperationSpec& spec) = 0;
  /// Creates this rank's part of a joint operation, which all ranks join. Throws like `make`. If it
  /// waits for other ranks, it must also wait for them when it throws.
  virtual std::unique_ptr<JointOperation> join(const OperationSpec& spec,
                                               Communicator& communicator);
  /// Creates a buffer on the device with a staging buffer in host memory, for exchanges through the
  /// host. Throws like `make`.
  virtual std::unique_ptr<Staging> stage(const std::string& memory, std::size_t bytes);
};

class Offload;

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend();

  virtual std::vector<DeviceInfo> devices() = 0;
  /// Throws UsageError for an unknown id or option.
  virtual std::unique_ptr<Device> open(const std::string& id, const Options& options) = 0;
  /// Creates one of the device's offloads and accesses neither the device nor its runtime. Throws
  /// UsageError.
  virtual std::unique_ptr<Offload> offload(const std::string& id, const Options& options,
                                           const OperationSpec& spec);
};

/// Loads the shared object of a backend; it stays loaded until the process ends. Throws
/// BackendError if it cannot be loaded or was built for another `backend_abi`.
std::unique_ptr<Backend> load_backend(const std::string& path);

/// Returns the first operation with the name and the axis values of `spec`, joint ones only if
/// `joint`. Throws UsageError, whose message contains `device`.
const OperationInfo& find_operation(const std::vector<OperationInfo>& known,
                                    const OperationSpec& spec, const std::string& device,
                                    bool joint = false);

/// Throws UsageError naming the first option that is not in `known`.
void check_options(const Options& options, const std::vector<std::string>& known);

/// Returns the seconds of a duration like "20ns", "1.5us", "2 ms" or "1s". Throws UsageError.
double parse_duration(const std::string& text);

}  // namespace isthmus

/// Defines the function through which `load_backend` gets the backend of a shared object.
#define ISTHMUS_BACKEND(Type)                                                             \
  extern "C" __attribute__((visibility("default"))) int isthmus_backend_abi() {           \
    return isthmus::backend_abi;                                                          \
  }                                                                                       \
  extern "C" __attribute__((visibility("default"))) isthmus::Backend* isthmus_backend() { \
    return new Type();                                                                    \
  }
