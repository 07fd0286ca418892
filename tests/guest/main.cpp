// The mmio backend against a real kernel: the first program of a virtual machine with test devices.
// Each line that begins with "guest:" is a result; the machine is off afterwards.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/engine.hpp"
#include "pci.hpp"

extern "C" isthmus::Backend* isthmus_backend();

namespace {

using namespace isthmus;
using mmio::Function;
using mmio::Mapping;
using mmio::Range;

int failures = 0;

void check(bool holds, const std::string& what) {
  failures += holds ? 0 : 1;
  std::printf("guest: %s %s\n", holds ? "ok" : "FAILED", what.c_str());
  std::fflush(stdout);
}

/// Runs a step; what it throws is a failure.
void step(const std::string& what, const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    check(false, what + ": " + error.what());
  }
}

template <class Error>
void refuses(const std::string& what, const std::string& word,
             const std::function<void()>& action) {
  try {
    action();
    check(false, what + " was accepted");
  } catch (const Error& error) {
    check(std::string(error.what()).find(word) != std::string::npos, what + ": " + error.what());
  } catch (const std::exception& error) {
    check(false, what + ", another error: " + error.what());
  }
}

std::string find(const char* vendor, const char* device) {
  for (const std::string& address : Function::addresses()) {
    const Function function(address);
    if (function.text("vendor") == vendor && function.text("device") == device) {
      return address;
    }
  }
  return "none";
}

std::string property(const DeviceInfo& info, const std::string& name) {
  for (const auto& [key, value] : info.properties) {
    if (key == name) {
      return value;
    }
  }
  return "";
}

/// Measures every operation of this name briefly; none may fail, stores must be verified.
void measure(Device& device, const std::string& name, bool verified, bool virtualised) {
  int count = 0;
  bool good = true;
  for (const OperationInfo& one : device.info().operations) {
    if (one.name != name) {
      continue;
    }
    OperationSpec spec{name, one.unit_bytes, one.memory_kinds.front(), {}};
    for (const AxisInfo& axis : one.axes) {
      spec.axes[axis.name] = axis.usual;
    }
    SeriesOptions options;
    options.precision = 0.5;
    options.least_block_s = 1e-4;
    options.most_samples = 25;
    const Block block = Series(device, spec, options).measure(0.001);
    ++count;
    const bool right =
        (block.verified == Verified::yes) == verified && !block.parts[0].ticks.empty();
    const bool told = !virtualised || (!block.remarks.empty() && block.remarks[0] == "virtualised");
    if (!right || !told) {
      good = false;
      std::printf("guest: %s %s %s\n", name.c_str(), spec.axes["instruction"].c_str(),
                  block.fault.c_str());
    }
  }
  check(good && count > 0, name + ": " + std::to_string(count) + " kinds");
}

void edu(Backend& backend) {
  const std::string address = find("0x1234", "0x11e8");
  const Function function(address);
  const Mapping identity(function, {0, 0, 4}, false, false);
  check((*reinterpret_cast<volatile std::uint32_t*>(identity.data()) & 0xFFU) == 0xED,
        "edu's identity is read");
  const Mapping inverter(function, {0, 4, 4}, false, true);
  auto* const word = reinterpret_cast<volatile std::uint32_t*>(inverter.data());
  *word = 0x12345678U;
  check(*word == ~0x12345678U, "edu inverts what is stored");
  const auto safe = backend.open(address, {});
  measure(*safe, "syscall_load", true, true);
  refuses<UsageError>("a load that was not allowed", "no operation", [&] {
    static_cast<void>(safe->make({"register_load", 4, "bar_uc", {{"width", "4"}}}));
  });
  const auto device = backend.open(address, {{"registers", "0:0x0"}, {"allow_loads", "yes"}});
  measure(*device, "register_load", false, true);
}

void testdev() {
  const Function function(find("0x1b36", "0x0005"));
  const Mapping mapping(function, {0, 0, 32}, false, true);
  auto* const bytes = reinterpret_cast<volatile std::uint8_t*>(mapping.data());
  bytes[0] = 0;
  std::string name;
  for (int i = 16; i < 32 && bytes[i] != 0; ++i) {
    name += static_cast<char>(bytes[i]);
  }
  check(name.rfind("mmio", 0) == 0, "pci-testdev names its test: " + name);
}

constexpr std::uint64_t shared_bytes = std::uint64_t{1} << 20U;
const Range allowed = {2, 0x1000, 0x1000};

void shared_memory(Backend& backend) {
  const std::string address = find("0x1af4", "0x1110");
  const Function function(address);
  const auto each = [&](const std::function<bool(std::byte&, std::uint64_t)>& visit) {
    const Mapping whole(function, {2, 0, shared_bytes}, false, true);
    for (std::uint64_t i = 0; i < shared_bytes; ++i) {
      if (!visit(whole.data()[i], i)) {
        return false;
      }
    }
    return true;
  };
  each([](std::byte& byte, std::uint64_t i) {
    byte = static_cast<std::byte>(i * 7);
    return true;
  });
  const Options options = {
      {"memory", "2:0x1000+4Ki"}, {"allow_loads", "yes"}, {"allow_writes", "yes"}};
  const auto device = backend.open(address, options);
  check(property(device->info(), "granted_bar_uc").rfind("uncached", 0) == 0,
        "uncached mapping granted: " + property(device->info(), "granted_bar_uc"));
  check(property(device->info(), "granted_bar_wc") == "write-combining",
        "write-combined mapping granted: " + property(device->info(), "granted_bar_wc"));
  measure(*device, "bar_memory_load", false, true);
  measure(*device, "store", true, true);
  measure(*device, "poll", true, true);
  refuses<UsageError>("a block beyond the range", "does not fit", [&] {
    static_cast<void>(device->make(
        {"store",
         0x2000,
         "bar_uc",
         {{"instruction", "mov"}, {"width", "8"}, {"fence", "none"}, {"pipelined", "yes"}}}));
  });
  check(each([](const std::byte& byte, std::uint64_t i) {
          const bool inside = i >= allowed.offset && i < allowed.offset + allowed.bytes;
          return inside || byte == static_cast<std::byte>(i * 7);
        }),
        "nothing outside the range was touched");
  const auto readable = backend.open(address, {{"memory", "2:0+64"}, {"allow_loads", "yes"}});
  bool stores = false;
  for (const OperationInfo& one : readable->info().operations) {
    stores = stores || one.name == "store" || one.name == "poll";
  }
  check(!stores, "no stores without permission");
}

void write_file(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY);
  check(file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
        "echo " + text + " > " + path);
  close(file);
}

/// The modules in /modules, in their order.
bool load_modules() {
  int loaded = 0;
  for (int i = 0;; ++i) {
    const int file = ::open(("/modules/" + std::to_string(i) + ".ko").c_str(), O_RDONLY);
    if (file < 0) {
      break;
    }
    check(syscall(SYS_finit_module, file, "", 0) == 0, "module " + std::to_string(i) + " loaded");
    close(file);
    ++loaded;
  }
  return loaded > 0;
}

void vfio(Backend& backend) {
  if (!load_modules()) {
    std::printf("guest: skipped VFIO: its modules were not found beside the kernel\n");
    return;
  }
  const std::string address = find("0x1af4", "0x1110");
  write_file(Function(address).folder() + "/driver_override", "vfio-pci");
  write_file("/sys/bus/pci/drivers_probe", address);
  const Options options = {
      {"memory", "2:0x1000+4Ki"}, {"allow_loads", "yes"}, {"allow_writes", "yes"}};
  const auto device = backend.open(address, options);
  check(property(device->info(), "driver") == "vfio-pci", "vfio-pci has it");
  measure(*device, "syscall_store", true, true);
  int loads = 0;
  for (const OperationInfo& one : device->info().operations) {
    loads += one.name == "syscall_load" && one.memory_kinds.front() == "bar_uc" ? 1 : 0;
  }
  check(loads == 1, "system calls load the BAR");
  const auto load =
      device->make({"syscall_load", 64, "bar_uc", {{"instruction", "pread"}, {"width", "4"}}});
  load->run(0, 3);
  check(load->moved_bytes(0) == 64, "64 bytes by one system call");
}

void refusals(Backend& backend) {
  const std::string address = find("0x1af4", "0x1110");
  const auto open = [&](Options options) {
    return [&backend, address, options] { static_cast<void>(backend.open(address, options)); };
  };
  refuses<UsageError>("a range beyond the BAR", "has 1048576 bytes",
                      open({{"memory", "2:0xff000+8Ki"}, {"allow_loads", "yes"}}));
  refuses<UsageError>("a BAR that is not there", "no memory BAR",
                      open({{"memory", "5:0+4"}, {"allow_loads", "yes"}}));
  refuses<UsageError>("a range without permission", "--allow-loads", open({{"memory", "2:0+4Ki"}}));
  refuses<UsageError>("permission without a range", "--memory", open({{"allow_writes", "yes"}}));
  refuses<UsageError>("stores to registers", "memory only",
                      open({{"registers", "0:0"}, {"allow_writes", "yes"}}));
  refuses<UsageError>("nonsense", "BAR:OFFSET", open({{"memory", "2;0"}, {"allow_loads", "yes"}}));

  const std::string config = Function(address).folder() + "/config";
  const int file = ::open(config.c_str(), O_RDWR);
  std::uint16_t command = 0;
  check(pread(file, &command, 2, 4) == 2, "command register read");
  const auto off = static_cast<std::uint16_t>(command & ~2U);
  check(pwrite(file, &off, 2, 4) == 2, "memory decoding switched off");
  refuses<BackendError>("a device that does not decode", "does not decode memory",
                        open({{"memory", "2:0+4Ki"}, {"allow_loads", "yes"}}));
  check(pwrite(file, &command, 2, 4) == 2, "memory decoding switched on");
  close(file);

  for (const std::string& other : Function::addresses()) {
    const Function function(other);
    if (function.driver() == "pcieport" && function.bar_bytes(0) > 0) {
      const Options wanted = {{"memory", "0:0+64"}, {"allow_loads", "yes"}};
      refuses<BackendError>("a driver's BAR", "driver " + function.driver() + " has",
                            [&] { static_cast<void>(backend.open(other, wanted)); });
      return;
    }
  }
  check(false, "no device with a driver and a BAR is here");
}

}  // namespace

int main() {
  for (const auto& [type, where] :
       std::vector<std::pair<const char*, const char*>>{{"sysfs", "/sys"},
                                                        {"proc", "/proc"},
                                                        {"devtmpfs", "/dev"},
                                                        {"debugfs", "/sys/kernel/debug"}}) {
    mkdir(where, 0755);
    mount(type, where, type, 0, nullptr);
  }
  const std::unique_ptr<Backend> backend(isthmus_backend());
  step("edu", [&] { edu(*backend); });
  step("pci-testdev", [] { testdev(); });
  step("ivshmem", [&] { shared_memory(*backend); });
  step("VFIO", [&] { vfio(*backend); });
  step("refusals", [&] { refusals(*backend); });
  std::printf("guest: done, %d failed\n", failures);
  std::fflush(stdout);
  sync();
  reboot(RB_POWER_OFF);
}
