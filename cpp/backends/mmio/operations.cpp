#include "operations.hpp"

#include <fcntl.h>
#include <immintrin.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cpuid.hpp"
#include "kernels.hpp"
#include "vfio.hpp"

namespace isthmus::mmio {
namespace {

constexpr std::uint64_t most_bytes_at_once = std::uint64_t{1} << 20U;
constexpr std::uint64_t most_spins = 10'000'000;

/// 64 bytes to store: one 64-bit word repeated; a narrower store writes its low bytes.
class Line {
 public:
  void set(std::uint64_t word) { words_.fill(word); }
  [[nodiscard]] const std::byte* data() const {
    return reinterpret_cast<const std::byte*>(words_.data());
  }

 private:
  alignas(64) std::array<std::uint64_t, 8> words_{};
};

class MmioOperation : public Operation {
 public:
  [[nodiscard]] std::vector<std::string> remarks() const override { return machine_remarks(); }
};

/// Loads or stores of a block in a BAR. Stores are read back if the user permits loads.
class Block final : public MmioOperation {
 public:
  Block(const Function& function, const Range& range, const Access& access, bool combining,
        std::size_t bytes, bool may_load)
      : mapping_(function, range, combining, access.stores()),
        loop_(loop_of(access)),
        width_(access.width),
        bytes_(bytes),
        checked_(access.stores() && may_load) {
    const auto at = reinterpret_cast<std::uintptr_t>(mapping_.data());
    if (loop_ == nullptr || bytes == 0 || bytes > range.bytes || at % access.width != 0) {
      throw UsageError(access.instruction + " of " + std::to_string(access.width) +
                       " bytes does not fit: " + std::to_string(bytes) + " of " +
                       std::to_string(range.bytes) + " bytes, or not at a multiple of its width");
    }
  }

  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    loop_(mapping_.data(), bytes_, repetitions, line_.data());
  }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override { return bytes_; }
  [[nodiscard]] bool moves_data() const override { return checked_; }
  void arm_fully(std::size_t part, std::uint64_t seed) override {
    line_.set(~seed);
    run(part, 1);  // writes other contents, which the timed store must replace
    line_.set(seed);
  }
  [[nodiscard]] bool arrived_fully(std::size_t /*part*/, std::uint64_t seed) override {
    _mm_mfence();
    for (std::size_t at = 0; at < bytes_; at += width_) {
      std::uint64_t found = 0;
      const std::size_t piece = std::min(width_, sizeof found);
      for (std::size_t i = 0; i < width_; i += piece) {
        found = load(at + i, piece);
        if (std::memcmp(&found, &seed, piece) != 0) {
          return false;
        }
      }
    }
    return true;
  }
  void arm(std::size_t part, std::uint64_t stamp) override { arm_fully(part, seed_of(stamp)); }
  [[nodiscard]] bool arrived(std::size_t part, std::uint64_t stamp) override {
    return arrived_fully(part, seed_of(stamp));
  }

 private:
  /// Loads once, with exactly this width, because devices may refuse other widths.
  [[nodiscard]] std::uint64_t load(std::size_t at, std::size_t width) const {
    const volatile std::byte* const from = mapping_.data() + at;
    switch (width) {
      case 1:
        return *reinterpret_cast<const volatile std::uint8_t*>(from);
      case 2:
        return *reinterpret_cast<const volatile std::uint16_t*>(from);
      case 4:
        return *reinterpret_cast<const volatile std::uint32_t*>(from);
      default:
        return *reinterpret_cast<const volatile std::uint64_t*>(from);
    }
  }

  Mapping mapping_;
  Loop loop_;
  std::size_t width_;
  std::size_t bytes_;
  bool checked_;
  Line line_;
};

/// Stores a flag to device memory, loads until the flag is visible, and loads the data that it
/// announces: how a program and a device signal each other.
class Poll final : public MmioOperation {
 public:
  Poll(const Function& function, const Range& range) : mapping_(function, range, false, true) {
    if (range.bytes < 2 * sizeof(std::uint64_t) ||
        reinterpret_cast<std::uintptr_t>(mapping_.data()) % sizeof(std::uint64_t) != 0) {
      throw UsageError("poll needs 16 bytes of memory at a multiple of 8");
    }
  }

  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    auto* const flag = reinterpret_cast<volatile std::uint64_t*>(mapping_.data());
    for (; repetitions > 0; --repetitions) {
      const std::uint64_t value = ++value_;
      *flag = value;
      std::uint64_t spins = 0;
      while (*flag != value) {
        if (++spins == most_spins) {
          throw BackendError("the stored flag never became visible in the device");
        }
      }
      answer_ = flag[1];
    }
  }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return 2 * sizeof(std::uint64_t);
  }
  void arm_fully(std::size_t /*part*/, std::uint64_t seed) override {
    reinterpret_cast<volatile std::uint64_t*>(mapping_.data())[1] = seed;
    answer_ = ~seed;
  }
  [[nodiscard]] bool arrived_fully(std::size_t /*part*/, std::uint64_t seed) override {
    return answer_ == seed;
  }
  void arm(std::size_t part, std::uint64_t stamp) override { arm_fully(part, seed_of(stamp)); }
  [[nodiscard]] bool arrived(std::size_t part, std::uint64_t stamp) override {
    return arrived_fully(part, seed_of(stamp));
  }

 private:
  Mapping mapping_;
  std::uint64_t value_ = fresh_stamp();
  std::uint64_t answer_ = 0;
};

/// Reads configuration space by one system call for a whole block, which the kernel reads in pieces
/// of at most 4 bytes. Verified by the vendor's and device's number, which never change.
class ConfigRead final : public MmioOperation {
 public:
  ConfigRead(const Function& function, std::size_t bytes)
      : file_(function.folder() + "/config", O_RDONLY), bytes_(bytes) {
    if (bytes == 0 || bytes > found_.size()) {
      throw UsageError("configuration space is read in 1 to 64 bytes");
    }
    read_into(expected_);
  }

  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    for (; repetitions > 0; --repetitions) {
      read_into(found_);
    }
  }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override { return bytes_; }
  void arm_fully(std::size_t /*part*/, std::uint64_t /*seed*/) override {
    std::ranges::transform(expected_, found_.begin(), [](char byte) { return ~byte; });
  }
  [[nodiscard]] bool arrived_fully(std::size_t /*part*/, std::uint64_t /*seed*/) override {
    return std::memcmp(found_.data(), expected_.data(), std::min<std::size_t>(bytes_, 4)) == 0;
  }
  void arm(std::size_t part, std::uint64_t stamp) override { arm_fully(part, seed_of(stamp)); }
  [[nodiscard]] bool arrived(std::size_t part, std::uint64_t stamp) override {
    return arrived_fully(part, seed_of(stamp));
  }

 private:
  using Header = std::array<char, config_bytes>;
  void read_into(Header& header) {
    if (pread(file_.get(), header.data(), bytes_, 0) != static_cast<ssize_t>(bytes_)) {
      throw BackendError(file_.path() + ": " + std::strerror(errno));
    }
  }

  File file_;
  std::size_t bytes_;
  Header expected_{};
  Header found_{};
};

/// Reads or writes a BAR by system calls of VFIO, while the loops access the same memory through a
/// mapping. Writes are read back if the user permits loads.
class VfioBlock final : public MmioOperation {
 public:
  VfioBlock(const Function& function, const Range& range, bool stores, std::size_t bytes,
            bool may_load)
      : region_(function, range.bar), at_(range.offset), stores_(stores), checked_(may_load) {
    if (bytes == 0 || bytes > range.bytes) {
      throw UsageError(std::to_string(bytes) + " bytes do not fit into the range");
    }
    data_.resize(bytes);
    found_.resize(bytes);
  }

  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    for (; repetitions > 0; --repetitions) {
      stores_ ? region_.write(at_, data_.data(), data_.size())
              : region_.read(at_, data_.data(), data_.size());
    }
  }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return data_.size();
  }
  [[nodiscard]] bool moves_data() const override { return stores_ && checked_; }
  void arm_fully(std::size_t part, std::uint64_t seed) override {
    fill_poison(data_, seed);
    run(part, 1);
    fill_pattern(data_, seed);
  }
  [[nodiscard]] bool arrived_fully(std::size_t /*part*/, std::uint64_t seed) override {
    region_.read(at_, found_.data(), found_.size());
    return has_pattern(found_, seed);
  }
  void arm(std::size_t part, std::uint64_t stamp) override { arm_fully(part, seed_of(stamp)); }
  [[nodiscard]] bool arrived(std::size_t part, std::uint64_t stamp) override {
    return arrived_fully(part, seed_of(stamp));
  }

 private:
  VfioRegion region_;
  std::uint64_t at_;
  bool stores_;
  bool checked_;
  std::vector<std::byte> data_;
  std::vector<std::byte> found_;
};

constexpr const char* uncached = "bar_uc";
constexpr const char* combining = "bar_wc";
/// Bytes of one load or store by VFIO (drivers/vfio/pci, vfio_pci_core_do_io_rw); some kernels
/// since 6.12 access 8.
constexpr unsigned vfio_width = 4;

/// Adds the accesses that this processor supports and that fit the range.
void add(std::vector<OperationInfo>& table, const std::vector<Access>& all, const char* memory,
         const Function& function, const Range& range) {
  const std::uint64_t at = function.bar_address(range.bar) + range.offset;
  const std::uint64_t block = std::min(most_bytes_at_once, range.bytes);
  for (const Access& access : all) {
    if (loop_of(access) != nullptr && at % access.width == 0 && access.width <= range.bytes) {
      const bool single = access.operation == "register_load";
      table.push_back(describe(access, memory, single ? access.width : most_block(access, block)));
    }
  }
}

void add_memory(std::vector<OperationInfo>& table, const Function& function,
                const BarPermission& permission, const Range& range) {
  for (const char* kind : {uncached, combining}) {
    if (kind == combining && !function.has_write_combining(range.bar)) {
      continue;
    }
    if (permission.loads) {
      add(table, loads_of("bar_memory_load", true), kind, function, range);
    }
    if (permission.stores) {
      add(table, all_stores(), kind, function, range);
    }
  }
  const std::uint64_t most = std::min(most_bytes_at_once, range.bytes);
  if (has_vfio(function) && permission.loads) {
    table.push_back(describe({"syscall_load", "pread", vfio_width}, uncached, most));
  }
  if (has_vfio(function) && permission.stores) {
    table.push_back(describe({"syscall_store", "pwrite", vfio_width}, uncached, most));
  }
  if (permission.loads && permission.stores && range.bytes >= 16) {
    table.push_back(describe({"poll", "mov", 8}, uncached, 8));
  }
}

}  // namespace

std::vector<std::string> machine_remarks() {
  // CPUID Fn1 ECX[31] is set by hypervisors only.
  return cpuid_ecx(1, 31) ? std::vector<std::string>{"virtualised"} : std::vector<std::string>{};
}

std::vector<OperationInfo> safe_operations() {
  std::vector<OperationInfo> table;
  for (const unsigned width : {1U, 2U, 4U}) {
    table.push_back(
        describe({"syscall_load", "pread", width}, "config", width < 4 ? width : config_bytes));
  }
  for (OperationInfo& operation : baselines()) {
    table.push_back(std::move(operation));
  }
  return table;
}

std::vector<OperationInfo> bar_operations(const Function& function,
                                          const BarPermission& permission) {
  std::vector<OperationInfo> table;
  if (permission.loads && permission.registers) {
    const Range& range = permission.registers.value();
    add(table, loads_of("register_load", false), uncached, function, range);
  }
  if (permission.memory) {
    add_memory(table, function, permission, permission.memory.value());
  }
  return table;
}

std::unique_ptr<Operation> make_operation(const Function& function, const BarPermission& permission,
                                          const OperationSpec& spec) {
  if (is_baseline(spec.name)) {
    return make_baseline(spec);
  }
  const Access access = access_of(spec);
  if (spec.name.starts_with("syscall") && spec.memory == uncached) {
    return std::make_unique<VfioBlock>(function, permission.memory.value(), access.stores(),
                                       spec.bytes, permission.loads);
  }
  if (spec.name == "syscall_load") {
    return std::make_unique<ConfigRead>(function, spec.bytes);
  }
  if (spec.memory != uncached && spec.memory != combining) {
    throw UsageError("a BAR is mapped as bar_uc or bar_wc, not '" + spec.memory + "'");
  }
  if (spec.name == "poll") {
    return std::make_unique<Poll>(function, permission.memory.value());
  }
  const bool registers = spec.name == "register_load";
  const Range& range = registers ? permission.registers.value() : permission.memory.value();
  return std::make_unique<Block>(function, range, access, spec.memory == combining, spec.bytes,
                                 permission.loads);
}

}  // namespace isthmus::mmio
