// The backend `mmio`: the processor's loads and stores to any PCI function, through Linux's sysfs
// and VFIO.
#include <fcntl.h>

#include <utility>

#include "isthmus/backend.hpp"
#include "operations.hpp"

namespace isthmus::mmio {
namespace {

/// Largest block of any operation, reported for the device; each operation has its own limit.
constexpr std::uint64_t largest_block = std::uint64_t{256} << 20U;
constexpr std::uint64_t no_limit = std::uint64_t{1} << 50U;

bool is_readable(const Function& function) {
  try {
    const File config(function.folder() + "/config", O_RDONLY);
    return true;
  } catch (const BackendError&) {
    return false;
  }
}

std::string describe_bars(const Function& function) {
  std::string text;
  for (unsigned bar = 0; bar < 6; ++bar) {
    if (const std::uint64_t bytes = function.bar_bytes(bar); bytes > 0) {
      text += (text.empty() ? "" : ", ") + std::to_string(bar) + ": " + std::to_string(bytes) +
              " bytes" + (function.has_write_combining(bar) ? ", prefetchable" : "");
    }
  }
  return text;
}

DeviceInfo describe_function(const Function& function) {
  DeviceInfo info;
  info.id = function.address();
  info.name = "PCI " + function.text("vendor") + ":" + function.text("device") + " class " +
              function.text("class");
  info.platform = "Linux sysfs";
  info.api = "mmio";
  info.max_buffer_bytes = largest_block;
  info.memory_bytes = no_limit;
  info.memory_kinds = {"config"};
  info.operations = safe_operations();
  info.properties = {{"pci_address", function.address()},
                     {"driver", function.driver()},
                     {"bars", describe_bars(function)}};
  return info;
}

class MmioDevice final : public Device {
 public:
  MmioDevice(const std::string& id, const Options& options)
      : function_(id), info_(describe_function(function_)) {
    const Permission permission = permission_of(options, "BAR");
    const bool claimed = is_yes(options, "claimed");
    permission_ = {.registers = checked(permission.registers, "--registers", claimed),
                   .memory = checked(permission.memory, "--memory", claimed),
                   .loads = permission.loads,
                   .stores = permission.stores};
    for (OperationInfo& operation : bar_operations(function_, permission_)) {
      info_.operations.push_back(std::move(operation));
    }
    if (permission_.registers) {  // throws now if the registers cannot be mapped
      const Mapping mapping(function_, *permission_.registers, false, false);
    }
    if (permission_.memory) {
      record_types(*permission_.memory);
    }
  }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Operation> make(const OperationSpec& spec) override {
    static_cast<void>(find_operation(info_.operations, spec, function_.address()));
    return make_operation(function_, permission_, spec);
  }

 private:
  [[nodiscard]] std::optional<Range> checked(const std::optional<NamedRange>& named,
                                             const std::string& option, bool claimed) const {
    if (!named) {
      return std::nullopt;
    }
    const Range range = bar_range(*named);
    function_.check(range, option + " " + named->text, claimed);
    return range;
  }

  /// Maps the range uncached and write-combined once, to record which memory type the kernel
  /// grants.
  void record_types(const Range& range) {
    for (const bool combining : {false, true}) {
      if (combining && !function_.has_write_combining(range.bar)) {
        continue;
      }
      const Mapping mapping(function_, range, combining, false);
      const std::string type = granted_type(function_.bar_address(range.bar) + range.offset);
      info_.properties.emplace_back(combining ? "granted_bar_wc" : "granted_bar_uc",
                                    type.empty() ? "unknown: only root reads debugfs" : type);
    }
  }

  Function function_;
  BarPermission permission_;
  DeviceInfo info_;
};

class MmioBackend final : public Backend {
 public:
  std::vector<DeviceInfo> devices() override {
    std::vector<DeviceInfo> found;
    for (const std::string& address : Function::addresses()) {
      const Function function(address);
      if (is_readable(function)) {
        found.push_back(describe_function(function));
      }
    }
    return found;
  }

  std::unique_ptr<Device> open(const std::string& id, const Options& options) override {
    std::vector<std::string> known = permission_options();
    known.emplace_back("claimed");
    check_options(options, known);
    for (const std::string& address : Function::addresses()) {
      if (address == id) {
        return std::make_unique<MmioDevice>(id, options);
      }
    }
    throw UsageError("no PCI function '" + id + "'");
  }
};

}  // namespace
}  // namespace isthmus::mmio

ISTHMUS_BACKEND(isthmus::mmio::MmioBackend)
