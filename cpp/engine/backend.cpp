#include "isthmus/backend.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "isthmus/numbers.hpp"

namespace isthmus {
namespace {

/// Returns `movements` unchanged, and throws if there are none: a verification of no movements
/// always passes.
std::vector<Movement>& named(std::vector<Movement>& movements) {
  if (movements.empty()) {
    throw std::logic_error("this operation moves data but names no movements");
  }
  return movements;
}

std::optional<std::uint64_t> whole_number(const std::string& text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && rest == end ? std::optional{value} : std::nullopt;
}

/// Returns a message about the first axis or value in `spec` that `operation` lacks, or "".
std::string refusal(const OperationInfo& operation, const OperationSpec& spec) {
  for (const auto& [name, value] : spec.axes) {
    const AxisInfo* axis = operation.axis(name);
    if (axis == nullptr) {
      return operation.name + " has no axis '" + name + "'";
    }
    const bool counts = axis->values.empty();
    const std::uint64_t number = counts ? whole_number(value).value_or(0) : 0;
    const bool takes = counts ? number > 0 && number <= axis->most
                              : std::ranges::find(axis->values, value) != axis->values.end();
    if (!takes) {
      std::string text = operation.name;
      return text.append(" has no ").append(name).append(" '").append(value).append("'");
    }
  }
  return {};
}

}  // namespace

std::vector<Movement>& Operation::movements(std::size_t /*part*/) {
  throw std::logic_error("this operation moves data but names no movements");
}

std::int64_t Operation::simulated_femtoseconds(std::size_t /*part*/) const {
  throw std::logic_error("this operation's device has a simulated clock but reports no time");
}

AxisInfo queue_depth(unsigned usual) {
  return {.name = "depth", .usual = std::to_string(usual), .buffers = true};
}

AxisInfo memory_bank(unsigned banks) {
  AxisInfo axis{.name = "bank", .usual = "0"};
  for (unsigned bank = 0; bank < banks; ++bank) {
    axis.values.push_back(std::to_string(bank));
  }
  return axis;
}

const AxisInfo* OperationInfo::axis(const std::string& wanted) const {
  const auto found = std::ranges::find(axes, wanted, &AxisInfo::name);
  return found == axes.end() ? nullptr : &*found;
}

std::uint64_t OperationSpec::count(const std::string& axis, std::uint64_t usual) const {
  const auto given = axes.find(axis);
  if (given == axes.end()) {
    return usual;
  }
  const std::optional<std::uint64_t> value = whole_number(given->second);
  if (!value || *value == 0) {
    throw UsageError(axis + " is a whole number from 1, not '" + given->second + "'");
  }
  return *value;
}

std::string OperationSpec::word(const std::string& axis, const std::string& usual) const {
  const auto given = axes.find(axis);
  return given == axes.end() ? usual : given->second;
}

unsigned OperationSpec::bank() const {
  const std::optional<std::uint64_t> value = whole_number(word("bank", "0"));
  if (!value) {
    throw UsageError("a bank is a number, counted from 0, not '" + word("bank", "0") + "'");
  }
  return static_cast<unsigned>(*value);
}

const OperationInfo& find_operation(const std::vector<OperationInfo>& known,
                                    const OperationSpec& spec, const std::string& device,
                                    bool joint) {
  std::string why = device + " has no operation '" + spec.name + "'";
  for (const OperationInfo& operation : known) {
    if (operation.name == spec.name && operation.joint == joint) {
      const std::string refused = refusal(operation, spec);
      if (refused.empty()) {
        return operation;
      }
      why = device;
      why.append(": ").append(refused);
    }
  }
  throw UsageError(why);
}

void Operation::arm_fully(std::size_t part, std::uint64_t seed) {
  for (Movement& movement : named(movements(part))) {
    movement.arm_fully(seed);
    seed += seed_of(next_movement);
  }
}

bool Operation::arrived_fully(std::size_t part, std::uint64_t seed) {
  return std::ranges::all_of(named(movements(part)), [&seed](Movement& m) {
    const bool arrived = m.arrived_fully(seed);
    seed += seed_of(next_movement);
    return arrived;
  });
}

void Operation::arm(std::size_t part, std::uint64_t stamp) {
  for (Movement& movement : named(movements(part))) {
    movement.arm(stamp);
    stamp += next_movement;
  }
}

bool Operation::arrived(std::size_t part, std::uint64_t stamp) {
  return std::ranges::all_of(named(movements(part)), [&stamp](Movement& m) {
    const bool arrived = m.arrived(stamp);
    stamp += next_movement;
    return arrived;
  });
}

std::unique_ptr<Backend> load_backend(const std::string& path) {
  // Local symbols: two runtimes may load the same library in different versions.
  void* object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    throw BackendError(dlerror());
  }
  auto* abi = reinterpret_cast<int (*)()>(dlsym(object, "isthmus_backend_abi"));
  auto* make = reinterpret_cast<Backend* (*)()>(dlsym(object, "isthmus_backend"));
  if (abi == nullptr || make == nullptr) {
    throw BackendError(path + " is not an Isthmus backend");
  }
  if (abi() != backend_abi) {
    throw BackendError(path + " was built for another version of Isthmus (interface " +
                       std::to_string(abi()) + ", wanted " + std::to_string(backend_abi) + ")");
  }
  return std::unique_ptr<Backend>(make());
}

void check_options(const Options& options, const std::vector<std::string>& known) {
  for (const auto& [key, value] : options) {
    if (std::ranges::find(known, key) == known.end()) {
      std::string message = "unknown option '" + key + "'";
      for (std::size_t i = 0; i < known.size(); ++i) {
        message += (i == 0 ? "; known: " : ", ") + known[i];
      }
      throw UsageError(message);
    }
  }
}

double parse_duration(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = read_number(text.data(), end, value);
  std::string unit(rest, end);
  std::erase(unit, ' ');
  struct Unit {
    const char* name;
    double seconds;
  };
  constexpr std::array<Unit, 4> units = {{{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}}};
  const auto* found =
      std::ranges::find_if(units, [&unit](const Unit& u) { return unit == u.name; });
  if (error != std::errc{} || found == units.end() || !std::isfinite(value) || !(value > 0.0)) {
    throw UsageError("'" + text + "' is no duration; write 20ns, 1.5us, 2ms or 1s");
  }
  return value * found->seconds;
}

}  // namespace isthmus
