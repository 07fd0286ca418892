#include "ring.hpp"

#include <string>

#include "isthmus/card/ring.hpp"

namespace isthmus::card {
namespace {

constexpr const char* exchange = "exchange";
constexpr std::uint64_t most_message_bytes = std::uint64_t{16} << 20U;
/// Most cards in one process, and most steps in a loop.
constexpr std::uint64_t most_cards = 65'536;
constexpr std::uint64_t most_steps = std::uint64_t{1} << 30U;
constexpr std::uint64_t most_depth = std::uint64_t{1} << 20U;

/// An exchange in a ring of cards. In one repetition each card sends a message to both neighbours
/// and receives one from both.
class Exchange final : public Operation {
 public:
  Exchange(const Board& board, const OperationSpec& spec, bool fast_forward)
      : call_{.cards = count(spec, "ranks", 1),
              .bytes = spec.bytes,
              .steps = count(spec, "looplength", published_steps),
              .depth = count(spec, "depth", board.serial.value().depth)},
        ring_(board.serial.value(), board.faults, call_, fast_forward) {}

  void run(std::size_t /*part*/, std::uint64_t /*repetitions*/) override {
    time_ = ring_.run(seed_);
  }
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override {
    return 2 * static_cast<std::uint64_t>(call_.cards) * call_.bytes;
  }
  [[nodiscard]] std::uint64_t least_batch() const override {
    return static_cast<std::uint64_t>(call_.steps);
  }
  [[nodiscard]] std::int64_t simulated_femtoseconds(std::size_t /*part*/) const override {
    return time_.slowest;
  }
  [[nodiscard]] std::vector<std::string> remarks() const override {
    const bool whole = time_.skipped_steps == 0 && time_.simulated_cards == call_.cards;
    return whole ? std::vector<std::string>{} : std::vector<std::string>{"fast_forward"};
  }
  [[nodiscard]] std::string fault() const override { return time_.first_wrong; }

  void arm_fully(std::size_t /*part*/, std::uint64_t seed) override { seed_ = seed; }
  [[nodiscard]] bool arrived_fully(std::size_t /*part*/, std::uint64_t seed) override {
    return time_.wrong == 0 && time_.messages > 0 && ring_.holds_last(seed);
  }
  void arm(std::size_t part, std::uint64_t stamp) override { arm_fully(part, seed_of(stamp)); }
  [[nodiscard]] bool arrived(std::size_t part, std::uint64_t stamp) override {
    return arrived_fully(part, seed_of(stamp));
  }

 private:
  static std::int64_t count(const OperationSpec& spec, const char* axis, std::int64_t usual) {
    return static_cast<std::int64_t>(spec.count(axis, static_cast<std::uint64_t>(usual)));
  }

  RingCall call_;
  Ring ring_;
  RingTime time_;
  std::uint64_t seed_ = 0;
};

}  // namespace

std::vector<OperationInfo> ring_operations(const Board& board) {
  if (!board.serial) {
    return {};
  }
  return {
      {.name = exchange,
       .parts = {{exchange, "", "kernel"}},
       .axes =
           {{.name = "channel", .usual = "card", .values = {"card"}},
            {.name = "topology", .usual = "ring", .values = {"ring"}},
            {.name = "ranks", .usual = "1", .most = most_cards},
            {.name = "looplength", .usual = std::to_string(published_steps), .most = most_steps},
            {.name = "depth", .usual = std::to_string(board.serial->depth), .most = most_depth}},
       .memory_kinds = {"device"},
       .most_bytes = most_message_bytes}};
}

bool is_ring(const std::string& operation) { return operation == exchange; }

std::unique_ptr<Operation> make_ring(const Board& board, const OperationSpec& spec,
                                     bool fast_forward) {
  static_cast<void>(find_operation(ring_operations(board), spec, "this card"));
  if (spec.memory != "device") {
    throw UsageError("the emulated card has no memory kind '" + spec.memory + "' for " + spec.name);
  }
  return std::make_unique<Exchange>(board, spec, fast_forward);
}

}  // namespace isthmus::card
