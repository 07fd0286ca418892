#include "pci.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "isthmus/access.hpp"
#include "isthmus/backend.hpp"

namespace isthmus::mmio {
namespace {

namespace fs = std::filesystem;

constexpr const char* functions = "/sys/bus/pci/devices";
constexpr const char* memory_types = "/sys/kernel/debug/x86/pat_memtype_list";
// Flags of a BAR in sysfs's file `resource` (include/linux/ioport.h).
constexpr std::uint64_t is_memory = 0x200;
constexpr std::uint64_t is_prefetchable = 0x2000;
// The command register's offset, and its bit that enables memory decoding (PCI Local Bus
// Specification 3.0, section 6.2.2).
constexpr off_t command = 4;
constexpr unsigned memory_space = 2;

/// Returns whether a driver only reserves a function for programs, and does not access it itself.
bool is_stub(const std::string& driver) {
  return driver == "vfio-pci" || driver == "pci-stub" || driver == "uio_pci_generic";
}

std::string why_not(const std::string& path, int error) {
  std::string what = path + ": " + std::strerror(error);
  switch (error) {
    case EACCES:
      return what + "; it needs root, or permission to read and write that file";
    case EPERM:
      return what + "; the kernel is locked down: boot without Secure Boot, or lockdown=none";
    case ENOENT:
      return what + "; this kernel maps no BARs for programs (CONFIG_PCI, HAVE_PCI_MMAP)";
    case EINVAL:
      return what + "; another program maps it with another memory type, or it cannot be mapped";
    default:
      return what;
  }
}

}  // namespace

Range bar_range(const NamedRange& named) {
  const auto bar = parse_number(named.name);
  if (!bar) {
    throw UsageError("'" + named.name + "' is no BAR: write its number, 0 to 5");
  }
  return {static_cast<unsigned>(std::min<std::uint64_t>(*bar, 9)), named.offset, named.bytes};
}

File::File(const std::string& path, int flags)
    : path_(path), descriptor_(open(path.c_str(), flags | O_CLOEXEC)) {
  if (descriptor_ < 0) {
    throw BackendError(why_not(path, errno));
  }
}

File::~File() { close(descriptor_); }

std::vector<std::string> Function::addresses() {
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(functions, none)) {
    found.push_back(entry.path().filename());
  }
  std::ranges::sort(found);
  return found;
}

Function::Function(std::string address) : address_(std::move(address)) {
  std::ifstream resources(folder() + "/resource");
  for (Bar& bar : bars_) {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t flags = 0;
    if (resources >> std::hex >> begin >> end >> flags && (flags & is_memory) != 0 && end > begin) {
      bar = {begin, end - begin + 1, (flags & is_prefetchable) != 0};
    }
  }
}

std::string Function::folder() const { return std::string(functions) + "/" + address_; }

std::string Function::text(const std::string& file) const {
  std::ifstream in(folder() + "/" + file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string Function::driver() const {
  std::error_code none;
  const fs::path link = fs::read_symlink(folder() + "/driver", none);
  return link.filename();
}

std::uint64_t Function::bar_bytes(unsigned bar) const {
  return bar < bars_.size() ? bars_[bar].bytes : 0;
}

std::uint64_t Function::bar_address(unsigned bar) const { return bars_.at(bar).address; }

bool Function::has_write_combining(unsigned bar) const {
  return bars_.at(bar).prefetchable &&
         fs::exists(folder() + "/resource" + std::to_string(bar) + "_wc");
}

void Function::check(const Range& range, const std::string& what, bool claimed) const {
  const std::uint64_t have = bar_bytes(range.bar);
  if (have == 0) {
    throw UsageError(what + ": " + address_ + " has no memory BAR " + std::to_string(range.bar));
  }
  if (range.bytes > have || range.offset > have - range.bytes) {
    throw UsageError(what + ": BAR " + std::to_string(range.bar) + " has " + std::to_string(have) +
                     " bytes");
  }
  const std::string holder = driver();
  if (!holder.empty() && !is_stub(holder) && !claimed) {
    throw BackendError("driver " + holder + " has " + address_ + ": unbind it (echo " + address_ +
                       " > " + folder() + "/driver/unbind), or write claimed=yes in the address");
  }
  const File config(folder() + "/config", O_RDONLY);
  std::uint16_t commands = 0;
  if (pread(config.get(), &commands, sizeof commands, command) != sizeof commands ||
      (commands & memory_space) == 0) {
    throw BackendError(address_ + " does not decode memory: echo 1 > " + folder() + "/enable");
  }
}

Mapping::Mapping(const Function& function, const Range& range, bool write_combining, bool writable)
    : file_(function.folder() + "/resource" + std::to_string(range.bar) +
                (write_combining ? "_wc" : ""),
            (writable ? O_RDWR : O_RDONLY) | O_SYNC),
      bytes_(range.bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = range.offset / page * page;
  mapped_ = (range.offset - begin + range.bytes + page - 1) / page * page;
  pages_ = mmap(nullptr, mapped_, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                file_.get(), static_cast<off_t>(begin));
  if (pages_ == MAP_FAILED) {
    throw BackendError(why_not(file_.path(), errno));
  }
  data_ = static_cast<std::byte*>(pages_) + (range.offset - begin);
}

Mapping::~Mapping() { munmap(pages_, mapped_); }

std::string granted_type(std::uint64_t address) {
  // A line is like: PAT: [mem 0x00000000fd000000-0x00000000fd001000] write-combining
  std::ifstream list(memory_types);
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    std::string pat;
    std::string mem;
    std::string range;
    std::string type;
    if (!(words >> pat >> mem >> range >> type)) {
      continue;
    }
    try {
      std::size_t used = 0;
      const std::uint64_t begin = std::stoull(range, &used, 16);
      const std::uint64_t end = std::stoull(range.substr(used + 1), nullptr, 16);
      if (begin <= address && address < end) {
        return type;
      }
    } catch (const std::exception&) {
      continue;  // the heading of the list
    }
  }
  return {};
}

}  // namespace isthmus::mmio
