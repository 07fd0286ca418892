#include "session.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>

#include "isthmus/buffer.hpp"
#include "isthmus/offload.hpp"
#include "isthmus/sweep.hpp"

namespace isthmus::xrt_native {
namespace {

constexpr const char* how_to_name_one =
    "name a bitstream with --xclbin FILE (isthmus xclbin write -o isthmus.xclbin makes one for "
    "emulation) and let the board be programmed with --allow-program";
constexpr unsigned most_groups = 64;
constexpr std::uint64_t largest_trial = std::uint64_t{64} << 30U;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Returns whether any bitstream may be loaded without permission, because no hardware can suffer.
bool without_hardware() { return environment("ISTHMUS_MAY_PROGRAM") == "yes"; }

/// Returns whether a memory of the bitstream is host memory. Real platforms give it the type of
/// card memory, so its name counts, as in the drivers.
bool is_host_memory(const xrt::xclbin::mem& memory) {
  return memory.get_used() && (memory.get_type() == xrt::xclbin::mem::memory_type::host ||
                               memory.get_tag().starts_with("HOST["));
}

bool is_card_memory(const xrt::xclbin::mem& memory) {
  using Type = xrt::xclbin::mem::memory_type;
  const Type type = memory.get_type();
  return type != Type::streaming && type != Type::streaming_connection && memory.get_used() &&
         !is_host_memory(memory);
}

Bank bank_of(const xrt::xclbin::mem& memory) {
  return {static_cast<unsigned>(memory.get_index()), memory.get_tag(), memory.get_size_kb() * 1024};
}

/// Returns for each of a kernel's buffers the first memory, of the wanted sort, that it accesses;
/// empty if one has none.
std::vector<Bank> banks_of(const xrt::xclbin::kernel& kernel, bool (*is)(const xrt::xclbin::mem&)) {
  std::vector<Bank> banks;
  for (const xrt::xclbin::arg& argument : kernel.get_args()) {
    const std::vector<xrt::xclbin::mem> memories = argument.get_mems();
    if (memories.empty()) {
      continue;  // this argument is no buffer
    }
    const auto found = std::ranges::find_if(memories, is);
    if (found == memories.end()) {
      return {};
    }
    banks.push_back(bank_of(*found));
  }
  return banks;
}

/// Reads an xclbin; the errors for a missing file and for another kind of file differ.
xrt::xclbin read(const std::string& file) {
  if (!std::filesystem::exists(file)) {
    throw UsageError("no file " + file + "; " + how_to_name_one);
  }
  try {
    return xrt::xclbin(file);
  } catch (const std::exception& error) {
    throw BackendError(file + " is no xclbin that XRT understands: " + error.what());
  }
}

/// Returns the platform's validation bitstream among the files in ISTHMUS_VALIDATION_BINARIES;
/// empty if none.
std::string validation_file(const std::string& platform) {
  std::istringstream files(environment("ISTHMUS_VALIDATION_BINARIES"));
  for (std::string file; std::getline(files, file, ':');) {
    try {
      if (xrt::xclbin(file).get_xsa_name() == platform) {
        return file;
      }
    } catch (const std::exception&) {
      continue;  // a file that cannot be read is skipped
    }
  }
  return {};
}

}  // namespace

std::string emulation_mode() { return environment("XCL_EMULATION_MODE"); }

BoardId BoardId::parse(const std::string& text) {
  BoardId board;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, board.index);
  if (error != std::errc{} || (rest != end && *rest != '@')) {
    throw UsageError("XRT has no device '" + text + "'");
  }
  if (rest != end) {
    board.pci_address.assign(rest + 1, end);
  }
  return board;
}

std::string BoardId::text() const {
  return std::to_string(index) + (pci_address.empty() ? "" : "@" + pci_address);
}

Session::Session(BoardId board) : board_(std::move(board)), device_(board_.index) {}

void Session::prepare(const Options& options) {
  program(options);
  probe();
}

void Session::program(const Options& options) {
  // XRT drops a board that fails from its list and renumbers the boards after it.
  const std::string place = property_of<xrt::info::device::bdf>(device_);
  if (!board_.pci_address.empty() && place != board_.pci_address) {
    throw BackendError("XRT's device " + std::to_string(board_.index) + " is the board at " +
                       (place.empty() ? "an unknown address" : place) + " now, and was at " +
                       board_.pci_address + ": start again");
  }
  const auto option = [&options](const char* name) {
    const auto found = options.find(name);
    return found == options.end() ? std::string() : found->second;
  };
  const std::string named = option("xclbin");
  const bool may_program = option("allow_program") == "yes" || without_hardware();
  if (!named.empty() && named != "loaded") {
    use(named, may_program);
  } else if (const std::string standard = environment("ISTHMUS_DEFAULT_BINARY");
             named.empty() && !standard.empty()) {
    use(standard, may_program);
  } else if (device_.get_xclbin_uuid()) {
    use_loaded();
  } else if (named.empty() && may_program && !without_hardware()) {
    const std::string file = validation_file(device_.get_info<xrt::info::device::name>());
    if (file.empty()) {
      throw BackendError(std::string("nothing is loaded, and no validation bitstream of its "
                                     "platform is installed; ") +
                         how_to_name_one);
    }
    use(file, may_program);
  } else {
    throw BackendError(std::string("nothing is loaded; ") + how_to_name_one);
  }
}

void Session::look() {
  const std::string standard = environment("ISTHMUS_DEFAULT_BINARY");
  if (!standard.empty() && without_hardware()) {
    use(standard, true);
    probe();
  } else {
    // A listing creates no buffer and moves no byte: another user may use the board.
    contents_.uuid = device_.get_xclbin_uuid();
  }
}

void Session::use(const std::string& file, bool may_program) {
  const xrt::xclbin image = read(file);
  if (!may_program && image.get_uuid() != device_.get_xclbin_uuid()) {
    throw UsageError(file +
                     " is not what is loaded, and programming the board with it needs "
                     "--allow-program");
  }
  try {
    contents_.uuid = load(device_, image);
  } catch (const std::exception& error) {
    // The driver refuses if another process uses the board.
    throw BackendError("cannot load " + file + ": " + error.what());
  }
  contents_.file = file;
  for (const xrt::xclbin::mem& memory : image.get_mems()) {
    const Bank bank = bank_of(memory);
    if (is_card_memory(memory)) {
      contents_.banks.push_back(bank);
    } else if (is_host_memory(memory)) {
      contents_.host_memory = bank;
    }
  }
  if (contents_.banks.empty()) {
    throw BackendError(file + " names no memory that is used, so no buffer can be placed");
  }
  const std::vector<xrt::xclbin::kernel> kernels = image.get_kernels();
  for (const xrt::xclbin::kernel& kernel : kernels) {
    const std::string name = kernel.get_name();
    if (!is_bandwidth_kernel(name) && name != vadd_kernel) {
      continue;
    }
    BufferKernel found{name, banks_of(kernel, is_host_memory), banks_of(kernel, is_card_memory)};
    if (name != vadd_kernel) {
      contents_.sweep_kernels.push_back(found);
    } else if (!found.card.empty()) {
      contents_.vadd = found;
    }
  }
  contents_.has_empty_kernel = std::ranges::any_of(
      kernels, [](const xrt::xclbin::kernel& kernel) { return kernel.get_name() == empty_kernel; });
}

/// Uses the loaded bitstream without its file, so its memories are unknown: takes each memory in
/// which a buffer can be allocated, with the largest such size. Buffers without host side cost
/// nothing.
void Session::use_loaded() {
  contents_.uuid = device_.get_xclbin_uuid();
  for (unsigned group = 0; group < most_groups; ++group) {
    for (std::uint64_t bytes = largest_trial; bytes >= page_bytes; bytes /= 2) {
      const Bank bank{group, "bank " + std::to_string(group), bytes};
      try {
        static_cast<void>(make_buffer(bytes, bank, xrt::bo::flags::device_only));
      } catch (const std::exception&) {
        continue;
      }
      contents_.banks.push_back(bank);
      break;
    }
  }
  if (contents_.banks.empty()) {
    throw BackendError(std::string("the bitstream that is loaded has no memory; ") +
                       how_to_name_one);
  }
}

/// Finds out whether written data can be read back, and whether transfers start without waiting.
/// Throws BackendError if a page comes back changed.
void Session::probe() {
  xrt::bo buffer = make_buffer(page_bytes, contents_.banks.front());
  const std::span host(buffer.map<std::byte*>(), page_bytes);
  const std::uint64_t seed = fresh_stamp();
  fill_pattern(host, seed);
  buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  std::ranges::fill(host, std::byte{0});
  buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const bool untouched = std::ranges::all_of(host, [](std::byte b) { return b == std::byte{0}; });
  if (!untouched && !has_pattern(host, seed)) {
    throw BackendError("the device returned other data than were written: it needs a reset");
  }
  keeps_data_ = !untouched;
  starts_transfers_ = can_start(buffer);
}

xrt::bo Session::make_buffer(std::size_t bytes, const Bank& bank, xrt::bo::flags flags) const {
  return {device_, bytes, flags, bank.group};
}

xrt::bo Session::make_buffer(void* host, std::size_t bytes, const Bank& bank) const {
  return {device_, host, bytes, xrt::bo::flags::normal, bank.group};
}

xrt::kernel Session::make_kernel(const char* name) const {
  return open_kernel(device_, contents_.uuid, name);
}

xrt::ip Session::open_registers(const std::string& kernel) const {
  return {device_, contents_.uuid, kernel};
}

xrt::run Session::make_run(const char* kernel) const { return xrt::run(make_kernel(kernel)); }

}  // namespace isthmus::xrt_native
