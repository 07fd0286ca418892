// The backend `null`: operations with a chosen duration and chosen failures, to test the engine.
#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "faulty_copy.hpp"
#include "isthmus/backend.hpp"
#include "isthmus/clock.hpp"
#include "isthmus/numbers.hpp"
#include "isthmus/staged.hpp"
#include "offload.hpp"
#include "spin.hpp"

namespace isthmus {
namespace {

/// Returns the choice that an option names, and `otherwise` without the option.
template <class Value, std::size_t N>
Value choose(const Options& options, const std::string& key, Value otherwise,
             const std::array<std::pair<const char*, Value>, N>& choices) {
  const auto given = options.find(key);
  if (given == options.end()) {
    return otherwise;
  }
  std::string names;
  for (const auto& [name, value] : choices) {
    if (given->second == name) {
      return value;
    }
    names += names.empty() ? name : std::string(", ") + name;
  }
  throw UsageError(key + "=" + given->second + ": choose one of " + names);
}

/// Returns the number that an option gives; it must be whole if `Value` is an integer type.
template <class Value>
Value number(const Options& options, const std::string& key, Value otherwise) {
  const auto given = options.find(key);
  if (given == options.end()) {
    return otherwise;
  }
  const std::string& text = given->second;
  Value value{};
  const auto [rest, error] = read_number(text.data(), text.data() + text.size(), value);
  const auto as_real = static_cast<double>(value);
  if (error != std::errc{} || rest != text.data() + text.size() || !std::isfinite(as_real) ||
      as_real < 0.0) {
    throw UsageError(key + "=" + text + " is no " + (std::is_integral_v<Value> ? "whole " : "") +
                     "number of 0 or more");
  }
  return value;
}

enum class Distribution : std::uint8_t { fixed, skewed, bimodal };

struct Settings {
  double cost_s = 0;         ///< median seconds of a call
  double offset_cost_s = 0;  ///< seconds more for sending operands that begin within a page
  Distribution distribution = Distribution::fixed;
  double drift = 0;  ///< growth of the cost per second, relative to its start
  Move move = Move::none;
  std::uint64_t every = 1;     ///< the fault occurs at every n-th repetition
  std::uint64_t fail_at = 0;   ///< repetition that throws; 0: none
  std::uint64_t crash_at = 0;  ///< repetition that kills the process by SIGSEGV
  std::uint64_t hang_at = 0;   ///< repetition that never returns
  std::uint64_t lose_at = 0;   ///< repetition that loses the device
  /// Simulated: a call reports its cost but takes no time.
  ClockDomain clock = ClockDomain::host;
};

Settings settings_from(const Options& options) {
  check_options(options, {"cost", "clock", "distribution", "drift", "move", "every", "fail",
                          "crash", "hang", "lose", "offset_cost"});
  Settings settings;
  const auto duration = [&options](const char* key) {
    const auto given = options.find(key);
    return given == options.end() ? 0.0 : parse_duration(given->second);
  };
  settings.cost_s = duration("cost");
  settings.offset_cost_s = duration("offset_cost");
  using D = Distribution;
  settings.distribution =
      choose<D, 3>(options, "distribution", D::fixed,
                   {{{"fixed", D::fixed}, {"skewed", D::skewed}, {"bimodal", D::bimodal}}});
  settings.move = choose<Move, 7>(options, "move", Move::none,
                                  {{{"none", Move::none},
                                    {"correct", Move::correct},
                                    {"drop", Move::drop},
                                    {"duplicate", Move::duplicate},
                                    {"reorder", Move::reorder},
                                    {"nothing", Move::nothing},
                                    {"early", Move::early}}});
  settings.clock = choose<ClockDomain, 2>(
      options, "clock", ClockDomain::host,
      {{{"host", ClockDomain::host}, {"simulated", ClockDomain::simulated}}});
  settings.drift = number(options, "drift", 0.0);
  const auto count = [&options](const char* key, std::uint64_t otherwise) {
    return number(options, key, otherwise);
  };
  settings.every = std::max<std::uint64_t>(1, count("every", 1));
  settings.fail_at = count("fail", 0);
  settings.crash_at = count("crash", 0);
  settings.hang_at = count("hang", 0);
  settings.lose_at = count("lose", 0);
  return settings;
}

/// Returns the links of `spin` per second, from ten trials of a million links.
double links_per_second() {
  const HostClock& clock = HostClock::instance();
  constexpr std::uint64_t links = 1'000'000;
  double shortest = 1e300;
  std::uint64_t value = links;
  for (int i = 0; i < 10; ++i) {
    const Ticks begin = clock.start();
    value = spin(links, value);
    shortest = std::min(shortest, clock.seconds(clock.stop() - begin));
  }
  return static_cast<double>(links) / shortest;
}

/// Takes the time that a call costs, which varies as the settings say.
class Cost {
 public:
  explicit Cost(const Settings& settings) : settings_(settings) {
    if (settings_.cost_s + settings_.offset_cost_s > 0 && settings_.clock == ClockDomain::host) {
      const double rate = links_per_second();
      const auto links = [rate](double seconds) {
        return static_cast<std::uint64_t>(std::max(1.0, std::round(seconds * rate)));
      };
      links_ = settings_.cost_s > 0 ? links(settings_.cost_s) : 0;
      offset_links_ = settings_.offset_cost_s > 0 ? links(settings_.offset_cost_s) : 0;
    }
    begin_ = HostClock::raw_nanoseconds();
  }

  [[nodiscard]] std::uint64_t links() const { return links_; }
  [[nodiscard]] bool constant() const {
    return settings_.distribution == Distribution::fixed && settings_.drift == 0;
  }

  void pay() { value_ = spin(constant() ? links_ : drawn(), value_); }
  void pay_offset() { value_ = spin(offset_links_, value_); }

 private:
  std::uint64_t drawn() {
    double factor = 1.0;
    if (settings_.distribution == Distribution::skewed) {
      factor = std::exp(0.2 * normal_(random_));  // log-normal: the factor's median is 1
    } else if (settings_.distribution == Distribution::bimodal) {
      factor = uniform_(random_) < 0.3 ? 1.5 : 1.0;
    }
    const double seconds = static_cast<double>(HostClock::raw_nanoseconds() - begin_) * 1e-9;
    factor *= 1.0 + settings_.drift * seconds;
    return static_cast<std::uint64_t>(static_cast<double>(links_) * factor);
  }

  Settings settings_;
  std::uint64_t links_ = 0;
  std::uint64_t offset_links_ = 0;
  Ticks begin_ = 0;
  std::uint64_t value_ = 0;
  std::mt19937_64 random_{1};
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

class NullDevice;

class NullOperation final : public Operation {
 public:
  NullOperation(NullDevice& device, const OperationSpec& spec, std::size_t parts);

  [[nodiscard]] std::size_t parts() const override { return parts_; }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override { return bytes_; }
  [[nodiscard]] bool moves_data() const override { return !copies_.empty(); }
  void run(std::size_t part, std::uint64_t repetitions) override;
  [[nodiscard]] std::int64_t simulated_femtoseconds(std::size_t /*part*/) const override {
    return simulated_fs_;
  }

 protected:
  std::vector<Movement>& movements(std::size_t part) override { return movements_[part]; }

 private:
  NullDevice* device_;
  std::size_t parts_;
  std::uint64_t bytes_;
  std::int64_t simulated_fs_ = 0;
  std::vector<std::unique_ptr<HostBuffer>> buffers_;
  std::vector<FaultyCopy> copies_;
  std::vector<std::vector<Movement>> movements_;
};

class NullDevice final : public Device {
 public:
  NullDevice(DeviceInfo info, const Settings& settings)
      : settings(settings), cost(settings), info_(std::move(info)) {
    info_.clock = settings.clock;
    // Joint operations take host time, which no simulated clock shows.
    if (info_.clock == ClockDomain::simulated) {
      std::erase_if(info_.operations,
                    [](const OperationInfo& operation) { return operation.joint; });
    }
    info_.properties.emplace_back("links_per_call", std::to_string(cost.links()));
  }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  std::unique_ptr<Operation> make(const OperationSpec& spec) override {
    const OperationInfo& found = find_operation(info_.operations, spec, "null");
    return std::make_unique<NullOperation>(*this, spec, found.parts.size());
  }

  std::unique_ptr<Staging> stage(const std::string& memory, std::size_t bytes) override;

  /// Counts repetitions while the device is open, and fails at the repetition that the settings
  /// name.
  void count() {
    ++calls_;
    if (calls_ == settings.fail_at) {
      throw BackendError("null was told to fail at call " + std::to_string(calls_));
    }
    if (calls_ == settings.lose_at) {
      throw DeviceLostError("null was told to lose its device at call " + std::to_string(calls_));
    }
    if (calls_ == settings.crash_at) {
      std::raise(SIGSEGV);
    }
    while (calls_ == settings.hang_at) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }
  [[nodiscard]] bool strikes() const {
    return settings.fail_at + settings.crash_at + settings.hang_at + settings.lose_at != 0;
  }

  const Settings settings;
  Cost cost;

 private:
  DeviceInfo info_;
  std::uint64_t calls_ = 0;
};

NullOperation::NullOperation(NullDevice& device, const OperationSpec& spec, std::size_t parts)
    : device_(&device), parts_(parts), bytes_(spec.bytes) {
  if (device.settings.move == Move::none || spec.bytes == 0) {
    return;
  }
  movements_.resize(parts);
  for (std::size_t part = 0; part < parts; ++part) {
    HostBuffer& source = *buffers_.emplace_back(std::make_unique<HostBuffer>(spec.memory, bytes_));
    HostBuffer& destination =
        *buffers_.emplace_back(std::make_unique<HostBuffer>(spec.memory, bytes_));
    copies_.emplace_back(device.settings.move, device.settings.every, source, destination);
    movements_[part].emplace_back(source, destination, bytes_);
  }
}

void NullOperation::run(std::size_t part, std::uint64_t repetitions) {
  simulated_fs_ = std::llround(device_->settings.cost_s * 1e15 * static_cast<double>(repetitions));
  if (copies_.empty() && device_->cost.constant() && !device_->strikes()) {
    const std::uint64_t links = device_->cost.links();
    std::uint64_t value = links;
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      value = spin(links, value);
    }
    return;
  }
  for (std::uint64_t i = 0; i < repetitions; ++i) {
    device_->count();
    device_->cost.pay();
    if (!copies_.empty()) {
      copies_[part]();
    }
  }
}

/// Copies between device and staging buffer for messages between ranks; each costs a call.
class NullStaging final : public Staging {
 public:
  NullStaging(NullDevice& device, const std::string& memory, std::size_t bytes)
      : device_(&device),
        host_(memory, bytes),
        memory_(memory, bytes),
        out_(device.settings.move, device.settings.every, memory_, host_),
        in_(device.settings.move, device.settings.every, host_, memory_) {}

  [[nodiscard]] std::span<std::byte> host() override { return {host_.data(), host_.bytes()}; }
  [[nodiscard]] Memory& device() override { return memory_; }
  [[nodiscard]] bool keeps_data() const override { return device_->settings.move != Move::none; }
  void to_host() override { call(out_); }
  void to_device() override { call(in_); }

 private:
  void call(FaultyCopy& copy) {
    device_->count();
    device_->cost.pay();
    if (keeps_data()) {
      copy();
    }
  }

  NullDevice* device_;
  HostBuffer host_;
  HostBuffer memory_;
  FaultyCopy out_;
  FaultyCopy in_;
};

std::unique_ptr<Staging> NullDevice::stage(const std::string& memory, std::size_t bytes) {
  return std::make_unique<NullStaging>(*this, memory, bytes);
}

class NullBackend final : public Backend {
 public:
  std::vector<DeviceInfo> devices() override {
    const std::vector<OperationInfo> operations = {
        {.name = "write", .parts = {{"write", "h2d", "cpu"}}},
        {.name = "read", .parts = {{"read", "d2h", "cpu"}}},
        {.name = "rw", .parts = {{"read_rw", "d2h", "cpu"}, {"write_rw", "h2d", "cpu"}}},
        {.name = "launch", .parts = {{"launch", "", "cpu"}}, .sized = false},
        staged_exchange("cpu")};
    return {{.id = "",
             .name = "null",
             .platform = "Isthmus",
             .api = "host",
             .max_buffer_bytes = std::uint64_t{1} << 30U,
             .memory_bytes = std::uint64_t{8} << 30U,
             .memory_kinds = HostBuffer::kinds(),
             .operations = operations,
             .properties = {},
             .offloads = {user_offload(device_phases(true))}}};
  }

  std::unique_ptr<Device> open(const std::string& id, const Options& options) override {
    if (!id.empty()) {
      throw UsageError("null has no device '" + id + "'");
    }
    return std::make_unique<NullDevice>(devices().front(), settings_from(options));
  }

  std::unique_ptr<Offload> offload(const std::string& /*id*/, const Options& options,
                                   const OperationSpec& spec) override {
    const auto device = std::make_shared<NullDevice>(devices().front(), settings_from(options));
    const Settings& settings = device->settings;
    std::optional<std::int64_t> simulated;
    if (settings.clock == ClockDomain::simulated) {
      simulated = std::llround(settings.cost_s * 1e15);
    }
    Adds adds = settings.move == Move::correct ? Adds::rightly : Adds::wrongly;
    if (settings.move == Move::none) {
      adds = Adds::nothing;
    }
    const auto pay = [device] {
      device->count();
      device->cost.pay();
    };
    const auto pay_offset = [device, pay] {
      pay();
      device->cost.pay_offset();
    };
    return make_null_offload(spec, adds, pay, pay_offset, simulated);
  }
};

}  // namespace
}  // namespace isthmus

ISTHMUS_BACKEND(isthmus::NullBackend)
