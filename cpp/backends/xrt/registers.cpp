#include "registers.hpp"

#include <limits>

namespace isthmus::xrt_native {
namespace {

constexpr unsigned width = sizeof(std::uint32_t);
constexpr const char* mapped = "bar_uc";

constexpr const char* load_register = "register_load";
constexpr const char* load_memory = "bar_memory_load";
constexpr const char* store_memory = "store";

OperationInfo described(const char* operation) {
  Access access{.operation = operation, .instruction = "read_register", .width = width};
  if (access.stores()) {
    access.instruction = "write_register";
    access.pipelined = true;  // a store does not wait for its arrival
  }
  return describe(access, mapped, width);
}

const std::optional<NamedRange>& range_of(const Permission& permission,
                                          const std::string& operation) {
  return operation == load_register ? permission.registers : permission.memory;
}

/// Accesses one register by one call. Stores are read back if the user permits loads.
class Register final : public Operation {
 public:
  Register(const Session& session, const NamedRange& range, const OperationSpec& spec,
           bool may_load)
      : ip_(session.open_registers(range.name)),
        at_(static_cast<std::uint32_t>(range.offset)),
        stores_(spec.name == store_memory),
        checked_(stores_ && may_load) {}

  void run(std::size_t /*part*/, std::uint64_t repetitions) override {
    for (; repetitions > 0; --repetitions) {
      if (stores_) {
        ip_.write_register(at_, word_);
      } else {
        static_cast<void>(ip_.read_register(at_));
      }
    }
  }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override { return width; }
  [[nodiscard]] bool moves_data() const override { return checked_; }
  void arm_fully(std::size_t /*part*/, std::uint64_t seed) override {
    word_ = static_cast<std::uint32_t>(seed);
    ip_.write_register(at_, ~word_);  // other contents, which the timed store must replace
  }
  [[nodiscard]] bool arrived_fully(std::size_t /*part*/, std::uint64_t /*seed*/) override {
    return ip_.read_register(at_) == word_;
  }
  void arm(std::size_t part, std::uint64_t stamp) override { arm_fully(part, seed_of(stamp)); }
  [[nodiscard]] bool arrived(std::size_t part, std::uint64_t stamp) override {
    return arrived_fully(part, seed_of(stamp));
  }

 private:
  xrt::ip ip_;
  std::uint32_t at_;
  bool stores_;
  bool checked_;
  std::uint32_t word_ = 0;
};

void check(const Session& session, const std::optional<NamedRange>& range, bool may_load) {
  if (!range) {
    return;
  }
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  if (range->offset % width != 0 || range->bytes % width != 0 || range->offset > most ||
      range->bytes > most - range->offset) {
    throw UsageError("registers of " + range->text + " are 4 bytes at a multiple of 4");
  }
  try {
    const xrt::ip ip = session.open_registers(range->name);
    if (may_load) {  // shims without a card open the kernel but refuse each access
      static_cast<void>(ip.read_register(static_cast<std::uint32_t>(range->offset)));
    }
  } catch (const std::exception& error) {
    throw BackendError("XRT gives no registers of " + range->text + ": " + error.what());
  }
}

}  // namespace

std::vector<OperationInfo> register_operations(const Permission& permission) {
  std::vector<OperationInfo> table;
  if (permission.registers && permission.loads) {
    table.push_back(described(load_register));
  }
  if (permission.memory && permission.loads) {
    table.push_back(described(load_memory));
  }
  if (permission.memory && permission.stores) {
    table.push_back(described(store_memory));
  }
  return table;
}

void check_registers(const Session& session, const Permission& permission) {
  check(session, permission.registers, permission.loads);
  check(session, permission.memory, permission.loads);
}

std::unique_ptr<Operation> make_register_operation(const Session& session,
                                                   const Permission& permission,
                                                   const OperationSpec& spec) {
  for (const OperationInfo& known : register_operations(permission)) {
    if (known.name == spec.name) {
      return std::make_unique<Register>(session, range_of(permission, spec.name).value(), spec,
                                        permission.loads);
    }
  }
  return nullptr;
}

}  // namespace isthmus::xrt_native
