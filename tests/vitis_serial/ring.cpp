// A ring of cards with the kernels of kernels/vitis/serial, in turns within one thread.
//
// Kernels touch one another only by streams that make them wait, so that neither results nor
// whether they block depend on the order of turns: one order shows all. A round of turns in which
// no value moved is a deadlock.
//
// ring WIRING RANKS DEPTH BYTES SLOT_BYTES KEPT STEPS SEED SPOILED
//   WIRING   ring, or facing: the sending kernels of neighbours are partners
//   SPOILED  the word, counted over all steps, in which card 0's sending kernel loses a bit; or -1
// Of each kernel it prints wrong_pairs and what was received. Exit codes are below.
#include <ap_axi_sdata.h>
#include <hls_stream.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

using Port = hls::stream<ap_axiu<8 * word_bytes, 0, 0, 0>>;
using Kernel = void(Word*, std::uint64_t*, std::uint32_t, std::uint32_t, std::uint32_t,
                    std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t, Port&, Port&);
extern "C" Kernel isthmus_send, isthmus_receive;

namespace {

enum Exit { done = 0, deadlock = 3, bad_packet = 4, words_left = 5 };

constexpr int sides = 2;  // send, receive
constexpr std::size_t stack_bytes = 256 * 1024;

struct Given {
  std::string wiring;
  std::uint32_t ranks, depth, bytes, slot_bytes, kept, steps;
  std::uint64_t seed;
  std::int64_t spoiled;

  std::uint32_t words() const { return (bytes + word_bytes - 1) / word_bytes; }
  std::uint64_t seed_of(std::uint32_t rank, int side) const { return seed + sides * rank + side; }
};

struct Running {
  Kernel* kernel;
  std::uint64_t sent, expected;
  Port *output, *input;
  std::vector<Word> received;
  std::uint64_t wrong_pairs = 0;
  ucontext_t context{};
  std::vector<char> stack = std::vector<char>(stack_bytes);
  bool ended = false;
};

Given given;
std::vector<std::unique_ptr<Running>> kernels;
Running* current = nullptr;
ucontext_t turns;
bool progress = false;

/// A wire that takes whole messages only, each ended by `last`, and may flip a bit.
std::unique_ptr<Port> wire(std::int64_t spoiled) {
  auto on_the_way = [spoiled, count = std::int64_t(0)](auto& packet) mutable {
    const bool last = (count + 1) % given.words() == 0;
    if (packet.last != last || packet.keep != ~std::uint64_t(0) || packet.strb != packet.keep) {
      std::_Exit(bad_packet);
    }
    if (count++ == spoiled) set_lane(packet.data, 5, lane(packet.data, 5) ^ 0x10);
  };
  return std::make_unique<Port>(given.depth, on_the_way);
}

void add(int side, std::uint32_t rank, std::uint32_t partner, int partner_side, Port& output,
         Port& input) {
  auto kernel = std::make_unique<Running>();
  kernel->kernel = side == 0 ? isthmus_send : isthmus_receive;
  kernel->sent = given.seed_of(rank, side);
  kernel->expected = given.seed_of(partner, partner_side);
  kernel->output = &output;
  kernel->input = &input;
  kernel->received.resize(std::size_t(given.kept) * given.slot_bytes / word_bytes);
  std::memset(static_cast<void*>(kernel->received.data()), 0xA5,
              kernel->received.size() * word_bytes);
  kernels.push_back(std::move(kernel));
}

void run_current() {
  Running& kernel = *current;
  kernel.kernel(kernel.received.data(), &kernel.wrong_pairs, given.bytes, given.slot_bytes,
                given.kept, given.steps, kernel.sent, kernel.expected, sides * given.ranks,
                *kernel.output, *kernel.input);
  kernel.ended = true;
  progress = true;
}

/// Whether all kernels ended.
bool run_all() {
  for (auto& kernel : kernels) {
    getcontext(&kernel->context);
    kernel->context.uc_stack.ss_sp = kernel->stack.data();
    kernel->context.uc_stack.ss_size = kernel->stack.size();
    kernel->context.uc_link = &turns;
    makecontext(&kernel->context, run_current, 0);
  }
  bool all_ended = false;
  do {
    progress = false;
    all_ended = true;
    for (auto& kernel : kernels) {
      if (kernel->ended) continue;
      current = kernel.get();
      swapcontext(&turns, &kernel->context);
      all_ended = all_ended && kernel->ended;
    }
  } while (progress && !all_ended);
  return all_ended;
}

}  // namespace

void let_others_run() { swapcontext(&current->context, &turns); }
void note_progress() { progress = true; }

int main(int, char** arguments) {
  const auto number = [arguments](int n) { return std::strtoull(arguments[n], nullptr, 10); };
  const auto small = [&number](int n) { return std::uint32_t(number(n)); };
  given = {arguments[1], small(2),  small(3),
           small(4),     small(5),  small(6),
           small(7),     number(8), std::atoll(arguments[9])};
  std::vector<std::unique_ptr<Port>> there, back;
  for (std::uint32_t rank = 0; rank < given.ranks; ++rank) {
    there.push_back(wire(rank == 0 ? given.spoiled : -1));
    back.push_back(wire(-1));
  }
  for (std::uint32_t rank = 0; rank < given.ranks; ++rank) {
    const std::uint32_t next = (rank + 1) % given.ranks;
    const std::uint32_t previous = (rank + given.ranks - 1) % given.ranks;
    const int second = given.wiring == "facing" ? 0 : 1;
    add(0, rank, next, second, *there[rank], *back[rank]);
    add(second, rank, previous, 0, *back[previous], *there[previous]);
  }
  if (!run_all()) return deadlock;
  for (const auto& ports : {&there, &back}) {
    for (const auto& port : *ports) {
      if (!port->empty()) return words_left;
    }
  }
  for (const auto& kernel : kernels) {
    std::fwrite(&kernel->wrong_pairs, sizeof kernel->wrong_pairs, 1, stdout);
    std::fwrite(kernel->received.data(), word_bytes, kernel->received.size(), stdout);
  }
  return done;
}
