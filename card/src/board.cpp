#include "isthmus/card/board.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <set>
#include <string_view>

#include "isthmus/numbers.hpp"

namespace isthmus::card {
namespace {

constexpr double most_nanoseconds = 1e9;  // a second, the longest latency
constexpr double most_program_nanoseconds = 1e12;
constexpr double least_bytes_per_second = 1e3;
constexpr double most_bytes_per_second = 1e15;

[[noreturn]] void refuse(const std::string& key, const std::string& text, const std::string& why) {
  throw BoardError(key + " = " + text + ": " + why);
}

/// Reads a board's values and remembers their keys; keys that were never read are unknown.
class Fields {
 public:
  explicit Fields(const Parameters& all) : all_(all) {}

  [[nodiscard]] bool has_section(const std::string& section) const {
    const auto found = all_.lower_bound(section + ".");
    return found != all_.end() && found->first.starts_with(section + ".");
  }

  std::string text(const std::string& key, const std::string& otherwise = {}) {
    const auto found = all_.find(key);
    used_.insert(key);
    if (found != all_.end()) {
      return found->second;
    }
    if (otherwise.empty()) {
      throw BoardError("missing parameter " + key);
    }
    return otherwise;
  }

  double real(const std::string& key, double least, double most,
              const std::string& otherwise = {}) {
    return number<double>(key, least, most, otherwise);
  }
  double nanoseconds(const std::string& key) { return real(key, 0.0, most_nanoseconds); }
  double nanoseconds(const std::string& key, const std::string& otherwise) {
    return real(key, 0.0, most_nanoseconds, otherwise);
  }
  double megahertz(const std::string& key) { return real(key, 0.001, 1e6); }
  double rate(const std::string& key) {
    return real(key, least_bytes_per_second, most_bytes_per_second);
  }
  std::int64_t whole(const std::string& key, std::int64_t least, std::int64_t most,
                     const std::string& otherwise = {}) {
    return number<std::int64_t>(key, least, most, otherwise);
  }
  std::int64_t one_of(const std::string& key, std::initializer_list<std::int64_t> choices) {
    const std::int64_t value = whole(key, *choices.begin(), *(choices.end() - 1));
    if (std::ranges::find(choices, value) == choices.end()) {
      std::string names;
      for (const std::int64_t choice : choices) {
        names += (names.empty() ? "" : ", ") + std::to_string(choice);
      }
      refuse(key, text(key), "choose one of " + names);
    }
    return value;
  }
  std::int64_t power_of_two(const std::string& key, std::int64_t least, std::int64_t most) {
    const std::int64_t value = whole(key, least, most);
    if (!std::has_single_bit(static_cast<std::uint64_t>(value))) {
      refuse(key, text(key), "is no power of two");
    }
    return value;
  }
  /// Returns true for the word `yes`, false for `no`; throws BoardError for any other word.
  bool either(const std::string& key, std::string_view yes, std::string_view no,
              const std::string& otherwise = {}) {
    const std::string value = text(key, otherwise);
    if (value != yes && value != no) {
      refuse(key, value, "choose " + std::string(yes) + " or " + std::string(no));
    }
    return value == yes;
  }

  void refuse_unknown() const {
    for (const auto& [key, value] : all_) {
      if (!used_.contains(key) && !key.starts_with("board.")) {
        throw BoardError("unknown parameter " + key);
      }
    }
  }

 private:
  template <class Number>
  Number number(const std::string& key, Number least, Number most, const std::string& otherwise) {
    const std::string value = text(key, otherwise);
    Number parsed{};
    const char* end = value.data() + value.size();
    const auto [rest, error] = read_number(value.data(), end, parsed);
    if (error != std::errc{} || rest != end || !std::isfinite(static_cast<double>(parsed))) {
      refuse(key, value, std::is_integral_v<Number> ? "is no whole number" : "is no number");
    }
    if (parsed < least || parsed > most) {
      refuse(key, value, "must lie between " + shown(least) + " and " + shown(most));
    }
    return parsed;
  }
  template <class Number>
  static std::string shown(Number value) {
    std::string text = std::to_string(value);
    if (text.find('.') != std::string::npos) {
      text.erase(text.find_last_not_of('0') + 1);
      if (text.back() == '.') {
        text.pop_back();
      }
    }
    return text;
  }

  const Parameters& all_;
  std::set<std::string> used_;
};

constexpr std::int64_t many = std::int64_t{1} << 20U;
constexpr std::int64_t most_bytes = std::int64_t{1} << 50U;

LinkParameters link_from(Fields& of) {
  LinkParameters link;
  link.generation = static_cast<int>(of.one_of("link.generation", {1, 2, 3, 4, 5, 6}));
  link.lanes = static_cast<int>(of.one_of("link.lanes", {1, 2, 4, 8, 16}));
  link.max_payload_bytes = of.power_of_two("link.max_payload_bytes", 128, 4096);
  link.max_read_request_bytes = of.power_of_two("link.max_read_request_bytes", 128, 4096);
  link.read_completion_boundary_bytes = of.one_of("link.read_completion_boundary_bytes", {64, 128});
  link.address_bits = static_cast<int>(of.one_of("link.address_bits", {32, 64}));
  link.latency_ns = of.nanoseconds("link.latency_ns");
  link.acknowledge_every_bytes = of.whole("link.acknowledge_every_bytes", 1, many, "1024");
  link.acknowledge_bytes = of.whole("link.acknowledge_bytes", 0, 4096, "8");
  link.posted_data_credits =
      of.whole("link.posted_data_credits", link.max_payload_bytes / 16, many);
  link.posted_header_credits = of.whole("link.posted_header_credits", 1, many);
  link.nonposted_header_credits = of.whole("link.nonposted_header_credits", 1, many);
  link.credit_return_ns = of.nanoseconds("link.credit_return_ns");
  link.error_rate = of.real("link.error_rate", 0.0, 0.5, "0");
  link.user_bus_bytes = of.whole("link.user_bus_bytes", 1, 4096);
  link.user_clock_MHz = of.megahertz("link.user_clock_MHz");
  link.straddle = of.either("link.straddle", "true", "false");
  return link;
}

HostParameters host_from(Fields& of) {
  HostParameters host;
  host.load_ns = of.nanoseconds("host.load_ns");
  host.store_ns = of.nanoseconds("host.store_ns");
  host.system_call_ns = of.real("host.system_call_ns", 0.0, most_nanoseconds, "120");
  host.write_combining_bytes = of.whole("host.write_combining_bytes", 1, 128, "64");
  host.write_combining_buffers = of.whole("host.write_combining_buffers", 1, many);
  host.loads_in_flight = of.whole("host.loads_in_flight", 1, many, "1");
  host.streaming_loads_in_flight = of.whole("host.streaming_loads_in_flight", 1, many);
  host.memory_latency_ns = of.nanoseconds("host.memory_latency_ns");
  host.memory_miss_ns = of.nanoseconds("host.memory_miss_ns");
  host.memory_bandwidth_Bps = of.rate("host.memory_bandwidth_Bps");
  host.write_retire_ns = of.nanoseconds("host.write_retire_ns");
  host.cache_write_bytes = of.whole("host.cache_write_bytes", 0, most_bytes);
  host.cache_read_bytes = of.whole("host.cache_read_bytes", 0, most_bytes);
  host.page_bytes = of.power_of_two("host.page_bytes", 4096, std::int64_t{1} << 30U);
  host.translation_entries = of.whole("host.translation_entries", 0, many);
  host.translation_miss_ns = of.nanoseconds("host.translation_miss_ns");
  host.polling_ns = of.nanoseconds("host.polling_ns");
  host.interrupt_ns = of.nanoseconds("host.interrupt_ns");
  return host;
}

DmaParameters dma_from(Fields& of) {
  DmaParameters dma;
  dma.engines = of.whole("dma.engines", 1, 64);
  dma.tags = of.whole("dma.tags", dma.engines, 4096);
  dma.descriptor_bytes = of.whole("dma.descriptor_bytes", 64, std::int64_t{1} << 30U);
  dma.h2d_descriptor_ns = of.nanoseconds("dma.h2d_descriptor_ns");
  dma.d2h_descriptor_ns = of.nanoseconds("dma.d2h_descriptor_ns");
  dma.h2d_bandwidth_Bps = of.real("dma.h2d_bandwidth_Bps", 0, most_bytes_per_second, "0");
  dma.submit_ns = of.nanoseconds("dma.submit_ns");
  dma.start_ns = of.nanoseconds("dma.start_ns");
  dma.interrupt = of.either("dma.completion", "interrupt", "poll");
  dma.finish_ns = of.nanoseconds("dma.finish_ns");
  return dma;
}

MemoryParameters memory_from(Fields& of) {
  MemoryParameters memory;
  memory.banks = of.whole("memory.banks", 1, 1024);
  memory.bank_bytes = of.whole("memory.bank_bytes", 4096, most_bytes);
  memory.bandwidth_Bps = of.rate("memory.bandwidth_Bps");
  memory.latency_ns = of.nanoseconds("memory.latency_ns");
  memory.refresh_interval_ns = of.nanoseconds("memory.refresh_interval_ns", "0");
  memory.refresh_ns = of.nanoseconds("memory.refresh_ns", "0");
  if (memory.refresh_ns > 0 && memory.refresh_ns >= memory.refresh_interval_ns) {
    throw BoardError("memory.refresh_ns is not below memory.refresh_interval_ns");
  }
  memory.write_to_read_ns = of.nanoseconds("memory.write_to_read_ns", "0");
  memory.read_to_write_ns = of.nanoseconds("memory.read_to_write_ns", "0");
  memory.hbm = of.either("memory.hbm", "true", "false", "false");
  memory.ddr_bandwidth_Bps = of.real("memory.ddr_bandwidth_Bps", 0, most_bytes_per_second, "0");
  static_cast<void>(of.whole("memory.ddr_bank_bytes", 0, most_bytes, "0"));  // only xclbins use it
  return memory;
}

KernelParameters kernel_from(Fields& of) {
  KernelParameters kernel;
  kernel.clock_MHz = of.megahertz("kernel.clock_MHz");
  kernel.width_bytes = of.power_of_two("kernel.width_bytes", 1, 1024);
  kernel.burst_beats = of.whole("kernel.burst_beats", 1, 256);
  kernel.outstanding = of.whole("kernel.outstanding", 1, 1024);
  kernel.write_gap_cycles = of.whole("kernel.write_gap_cycles", 0, 1024, "0");
  kernel.tags = of.whole("kernel.tags", 1, 4096);
  kernel.reaches_host = of.either("kernel.reaches_host", "true", "false", "true");
  kernel.launch_ns = of.nanoseconds("kernel.launch_ns");
  kernel.block_interval_ns = of.nanoseconds("kernel.block_interval_ns");
  kernel.copy_block_interval_ns = of.nanoseconds("kernel.copy_block_interval_ns");
  kernel.write_response_ns = of.nanoseconds("kernel.write_response_ns");
  kernel.host_latency_ns = of.nanoseconds("kernel.host_latency_ns");
  return kernel;
}

RegisterParameters registers_from(Fields& of) {
  return {.cycles = of.whole("registers.cycles", 0, many),
          .clock_MHz = of.megahertz("registers.clock_MHz"),
          .width_bytes = of.whole("registers.width_bytes", 1, 64)};
}

SerialParameters serial_from(Fields& of) {
  return {.clock_MHz = of.megahertz("serial.clock_MHz"),
          .width_bytes = of.whole("serial.width_bytes", 1, 4096),
          .channels = of.whole("serial.channels", 1, 64),
          .latency_ns = of.nanoseconds("serial.latency_ns"),
          .hop_ns = of.nanoseconds("serial.hop_ns"),
          .stretch = of.real("serial.stretch", 1.0, 100.0),
          .start_ns = of.nanoseconds("serial.start_ns", "0"),
          .barrier_ns = of.nanoseconds("serial.barrier_ns", "0"),
          .in_turn = of.either("serial.in_turn", "true", "false", "true"),
          .sharing = of.whole("serial.sharing", 1, many, "1"),
          .depth = of.whole("serial.depth", 1, many, "512")};
}

OffloadParameters offload_from(Fields& of) {
  return {.initialise_ns = of.nanoseconds("offload.initialise_ns"),
          .program_ns = of.real("offload.program_ns", 0.0, most_program_nanoseconds, "0"),
          .allocate_ns = of.nanoseconds("offload.allocate_ns"),
          .align_ns = of.nanoseconds("offload.align_ns", "0"),
          .fault_ns = of.nanoseconds("offload.fault_ns"),
          .pin_ns = of.nanoseconds("offload.pin_ns"),
          .copy_Bps = of.rate("offload.copy_Bps"),
          .populate_ns = of.nanoseconds("offload.populate_ns"),
          .arguments_ns = of.nanoseconds("offload.arguments_ns"),
          .enqueue_ns = of.nanoseconds("offload.enqueue_ns"),
          .kernel_ns = of.nanoseconds("offload.kernel_ns"),
          .add_ns = of.nanoseconds("offload.add_ns")};
}

}  // namespace

Board Board::from(const Parameters& parameters) {
  Fields fields(parameters);
  Board board;
  board.name = fields.text("board.name", "unnamed");
  if (fields.has_section("sync")) {
    board.sync = SyncParameters{.call_ns = fields.nanoseconds("sync.call_ns"),
                                .bandwidth_Bps = fields.rate("sync.bandwidth_Bps")};
  } else {
    board.link = link_from(fields);
    board.host = host_from(fields);
  }
  board.faults = {.flip_completion = fields.whole("faults.flip_completion", 0, many, "0"),
                  .drop_write = fields.whole("faults.drop_write", 0, many, "0"),
                  .flip_message = fields.whole("faults.flip_message", 0, many, "0")};
  if (fields.has_section("dma")) {
    board.dma = dma_from(fields);
  }
  if (fields.has_section("memory")) {
    board.memory = memory_from(fields);
  }
  if (fields.has_section("kernel")) {
    board.kernel = kernel_from(fields);
  }
  if (fields.has_section("registers")) {
    board.registers = registers_from(fields);
  }
  if (fields.has_section("sram")) {
    board.sram = SramParameters{.extra_cycles = fields.whole("sram.extra_cycles", 0, many),
                                .bytes = fields.whole("sram.bytes", 1, most_bytes)};
  }
  if (fields.has_section("serial")) {
    board.serial = serial_from(fields);
  }
  if (fields.has_section("offload")) {
    board.offload = offload_from(fields);
  }
  board.driver = {.launch_ns = fields.nanoseconds("driver.launch_ns", "0"),
                  .first_launch_ns = fields.nanoseconds("driver.first_launch_ns", "0"),
                  .launch_interval_ns = fields.nanoseconds("driver.launch_interval_ns", "0"),
                  .register_ns = fields.nanoseconds("driver.register_ns", "0")};
  fields.refuse_unknown();
  if (board.dma && !board.memory) {
    throw BoardError("missing parameter memory.banks: a DMA engine needs card memory");
  }
  if (board.sync && (board.dma || board.registers || !board.memory ||
                     (board.kernel && board.kernel->reaches_host))) {
    throw BoardError(
        "unknown parameter sync.call_ns: a board without a link has memory, no DMA "
        "engine, no registers, and kernel.reaches_host = false");
  }
  if (board.offload && !(board.dma && board.kernel)) {
    throw BoardError("missing parameter dma.tags: an offload needs a DMA engine and kernels");
  }
  if (board.sram && !board.registers) {
    throw BoardError("missing parameter registers.cycles: SRAM lies behind the registers' bus");
  }
  return board;
}

}  // namespace isthmus::card
