#include "mmio.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "isthmus/access.hpp"
#include "operations.hpp"

namespace isthmus::card {
namespace {

constexpr std::int64_t line_bytes = 64;
constexpr std::int64_t most_block_bytes = std::int64_t{1} << 20U;
/// Bytes that a batch stores by system calls, each of the point's size.
constexpr std::int64_t stored_by_calls = std::int64_t{1} << 20U;
/// Widths in bytes of the processor's loads: 8 if uncached (a general register), else 16 (SSE). A
/// wider instruction makes several such loads (McCalpin, TACC TR-14-10, section 3.2).
constexpr std::int64_t uncached_load_bytes = 8;
constexpr std::int64_t plain_load_bytes = 16;
/// Time of a load that hits the nearest cache or a fill buffer: in a chain of dependent loads, and
/// overlapped with other loads.
constexpr Time waited_hit = 3 * nanosecond / 2;
constexpr Time pipelined_hit = nanosecond / 3;
/// Number of loads of each block whose lines the processor may keep in its cache.
constexpr std::int64_t kept_repetitions = 16;
/// Number of moments, evenly spread over one polling load, at which the device answers.
constexpr std::int64_t phases = 16;

/// Memory types of mappings. No driver maps a card as bar_wt or bar_wp: their times show what such
/// a mapping would change.
constexpr std::array load_kinds = {"bar_uc", "bar_wc", "bar_wt", "bar_wp"};
constexpr std::array store_kinds = {"bar_uc", "bar_wc"};

bool is_cached(const std::string& memory) { return memory == "bar_wt" || memory == "bar_wp"; }

Place memory_place(const Board& board) { return board.sram ? Place::sram : Place::registers; }

class MmioOperation : public Operation {
 public:
  explicit MmioOperation(Card& card, std::uint64_t bytes) : card_(&card), bytes_(bytes) {}
  void run(std::size_t /*part*/, std::uint64_t repetitions) final {
    card_->reset(sample_++);
    time_ = simulate(static_cast<std::int64_t>(repetitions));
  }
  [[nodiscard]] std::int64_t simulated_femtoseconds(std::size_t /*part*/) const override {
    return time_;
  }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override { return bytes_; }
  [[nodiscard]] bool moves_data() const override { return false; }  // only times are modelled
  [[nodiscard]] std::vector<std::string> remarks() const override { return remarks_; }

 protected:
  virtual Time simulate(std::int64_t repetitions) = 0;
  [[nodiscard]] Card& card() const { return *card_; }
  void remark(const char* what) { remarks_.emplace_back(what); }
  [[nodiscard]] std::int64_t block() const { return static_cast<std::int64_t>(bytes_); }

 private:
  Card* card_;
  std::uint64_t bytes_;
  Time time_ = 0;
  std::uint64_t sample_ = 0;
  std::vector<std::string> remarks_;
};

/// Loads or stores of a block, dependent or pipelined, through a mapping or by system calls.
class Block final : public MmioOperation {
 public:
  Block(Card& card, const OperationSpec& spec, const isthmus::Access& access)
      : MmioOperation(card, spec.bytes), calls_(access.operation.starts_with("syscall")) {
    const Board& board = card.board();
    const bool streams = access.instruction == "movntdqa";
    const bool combines = spec.memory == "bar_wc" || access.instruction == "movdir64b";
    made_.place = access.operation == "register_load" ? Place::registers : memory_place(board);
    made_.width = access.width;
    if (access.stores()) {
      const bool gathered = combines && (access.pipelined || calls_);
      made_.instruction = gathered ? Instruction::combined_store : Instruction::store;
      if (gathered && access.width < line_bytes && spec.bytes > access.width) {
        remark("merged_stores");
      }
    } else {
      const bool uncached = spec.memory == "bar_uc";
      made_.instruction = streams && combines ? Instruction::streaming_load : Instruction::load;
      made_.in_flight = access.pipelined ? 0 : 1;
      if (made_.instruction == Instruction::streaming_load) {
        made_.width =
            block() % line_bytes == 0 ? line_bytes : made_.width;  // one line serves several loads
      } else if (!calls_) {
        made_.width = std::min(made_.width, uncached ? uncached_load_bytes : plain_load_bytes);
      }
    }
  }
  [[nodiscard]] std::uint64_t least_batch() const override {
    const bool stores = made_.instruction == Instruction::combined_store;
    return calls_ && stores ? static_cast<std::uint64_t>(stored_by_calls / block()) : 1;
  }

 protected:
  Time simulate(std::int64_t repetitions) override {
    CpuAccess all = made_;
    all.count = repetitions * block() / made_.width;
    all.call_bytes = calls_ ? block() : 0;
    return card().access(all);
  }

 private:
  CpuAccess made_;
  bool calls_;
};

/// Loads that fetch whole lines; the other loads of a line hit the cache or the fill buffer.
class CachedLoads final : public MmioOperation {
 public:
  CachedLoads(Card& card, const OperationSpec& spec, const isthmus::Access& access, bool stays)
      : MmioOperation(card, spec.bytes),
        loads_(block() / access.width),
        lines_((block() + line_bytes - 1) / line_bytes),
        hit_(access.pipelined ? pipelined_hit : waited_hit),
        in_flight_(access.pipelined ? card.board().host.write_combining_buffers : 1),
        stays_(stays && lines_ <= card.board().host.write_combining_buffers) {
    remark(stays ? "speculated" : "what_if");
  }
  [[nodiscard]] std::uint64_t least_batch() const override { return stays_ ? kept_repetitions : 1; }

 protected:
  Time simulate(std::int64_t repetitions) override {
    const std::int64_t fetched = stays_ ? lines_ : lines_ * repetitions;
    CpuAccess fetch;
    fetch.instruction = Instruction::load;
    fetch.place = memory_place(card().board());
    fetch.width = line_bytes;
    fetch.count = fetched;
    fetch.in_flight = in_flight_;
    const Time time = card().access(fetch);
    return time + (loads_ * repetitions - std::min(fetched, loads_ * repetitions)) * hit_;
  }

 private:
  std::int64_t loads_;
  std::int64_t lines_;
  Time hit_;
  std::int64_t in_flight_;
  bool stays_;
};

/// Stores a flag, polls registers until the device answers, and loads the answer. The time is the
/// mean over the moments of the answer within one polling load, without the device's work.
class Poll final : public MmioOperation {
 public:
  Poll(Card& card, const OperationSpec& spec, bool driver)
      : MmioOperation(card, 2 * spec.bytes), driver_(driver) {}

 protected:
  Time simulate(std::int64_t repetitions) override {
    CpuAccess access;
    access.width = 8;
    access.instruction = Instruction::store;
    const Time pushed = card().access(access);
    access.instruction = Instruction::load;
    const Time polled = card().access(access);
    access.call_bytes = driver_ ? access.width : 0;
    const Time fetched = card().access(access);
    Time sum = 0;
    for (std::int64_t phase = 0; phase < phases; ++phase) {
      const Time work = polled * (2 * phase + 1) / (2 * phases);
      const Time answered = pushed + work;
      // Each load reads the register in the middle of its duration.
      const Time late = std::max<Time>(answered - polled / 2, 0);
      const std::int64_t before = (late + polled - 1) / polled;
      sum += (before + 1) * polled + fetched - work;
    }
    return repetitions * sum / phases;
  }

 private:
  bool driver_;
};

/// Returns whether an emulated card gives this access a time of its own.
/// - A streaming load takes the time of an ordinary load, except from write-combining memory.
/// - A fence takes no time, so each access is listed once: without a fence, or with sfence if each
///   store waits for the store before.
/// - A load from write-combining memory is listed with and without lfence: without lfence it may be
///   speculative.
bool differs(const isthmus::Access& access, const std::string& memory) {
  const bool streams = access.instruction == "movntdqa" && memory != "bar_wc";
  const bool ordered = !access.stores() && memory == "bar_wc" && access.instruction == "mov" &&
                       access.fence == "lfence";
  const std::string usual = access.stores() && !access.pipelined ? "sfence" : "none";
  return !streams && (access.fence == usual || ordered);
}

}  // namespace

std::vector<OperationInfo> mmio_operations(std::int64_t sram_bytes, bool dma) {
  std::vector<OperationInfo> table;
  const std::int64_t reachable = sram_bytes > 0 ? sram_bytes : line_bytes;
  const auto most = static_cast<std::uint64_t>(std::min(reachable, most_block_bytes));
  const auto add = [&](const isthmus::Access& access, const std::string& memory,
                       std::uint64_t block) {
    if (differs(access, memory)) {
      table.push_back(describe(access, memory, most_block(access, block)));
    }
  };
  for (const isthmus::Access& access : loads_of("register_load", false)) {
    add(access, "bar_uc", access.width);
  }
  if (sram_bytes > 0) {
    for (const char* memory : load_kinds) {
      for (const isthmus::Access& access : loads_of("bar_memory_load", true)) {
        add(access, memory, most);
      }
    }
  }
  for (const char* memory : store_kinds) {
    for (const isthmus::Access& access : all_stores()) {
      add(access, memory, most);
    }
  }
  table.push_back(describe({"syscall_load", "pread", 8}, "bar_uc", most));
  table.push_back(describe({"syscall_store", "pwrite", 64}, "bar_wc", most));
  table.push_back(describe({"poll", "mov", 8}, "bar_uc", 8));
  table.push_back(describe({"poll", "pread", 8}, "bar_uc", 8));
  if (dma) {
    table.push_back({.name = "dma_read",
                     .parts = {{"dma_read", "d2h", "dma"}},
                     .memory_kinds = {"pinned"},
                     .most_bytes = most_block_bytes});
  }
  return table;
}

bool is_mmio(const std::string& operation) {
  static const std::set<std::string> known = {"register_load", "bar_memory_load", "store",
                                              "syscall_load",  "syscall_store",   "poll",
                                              "dma_read"};
  return known.count(operation) == 1;
}

std::unique_ptr<Operation> make_mmio(Card& card, const OperationSpec& spec, bool speculation) {
  if (spec.name == "dma_read") {
    return make_operation(card, {.name = "read", .bytes = spec.bytes, .memory = spec.memory});
  }
  const isthmus::Access access = access_of(spec);
  if (spec.bytes == 0 || spec.bytes % access.width != 0) {
    throw UsageError(std::to_string(spec.bytes) + " bytes are no accesses of " +
                     std::to_string(access.width));
  }
  if (spec.name == "poll") {
    return std::make_unique<Poll>(card, spec, access.instruction == "pread");
  }
  const bool plain = spec.name == "bar_memory_load" && access.instruction != "movntdqa";
  const bool ahead = speculation && spec.memory == "bar_wc" && access.fence == "none";
  if (plain && (ahead || is_cached(spec.memory))) {
    return std::make_unique<CachedLoads>(card, spec, access, ahead);
  }
  return std::make_unique<Block>(card, spec, access);
}

}  // namespace isthmus::card
