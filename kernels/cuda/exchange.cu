// Exchanges messages between GPUs: one launch does all steps of a loop, without the host.
//
// A rank exchanges messages with two partners at once, one in each lane. In a step both sides send
// a message and wait for the partner's message. A partner whose message of step i has arrived has
// received all of step i - 1, because it waits before it begins step i. In step i + 1 a rank may
// therefore overwrite what it wrote in step i - 1: two places, used in turn, are enough.
// Each thread of `words`, and each block of `parts`, exchanges with its counterpart in the
// partner's launch, which has the same shape. Other threads or blocks may be in other steps.
#include "device.cuh"

namespace {

/// Buffers of one lane, for the exchange with one partner; same layout as in peer_ways.hpp.
struct Edge {
  const char* out;      // this rank's messages, one slot after the other
  char* in;             // slots of this rank for the partner's messages
  char* there;          // slots of the partner for this rank's messages
  char* signals_there;  // signals to the partner that this rank's messages have arrived
  char* signals_here;   // signals to this rank that the partner's messages have arrived
};

/// Parameters of the loop of steps; same layout as in peer_kernels.cpp.
struct Loop {
  u64 bytes;       // size of a message
  u64 slot_bytes;  // distance from a message to the next
  u64 part_bytes;  // bytes of a message that a block sends
  u64 steps;
  u64 patience_ns;  // longest wait for the partner in one step
  u32* faults;      // one flag for each lane, in host memory: 1 if the partner stayed away
  u32 lane_blocks;
  u32 first_tag;  // tags count steps through all runs, and may wrap
  u32 out_slots;  // number of slots, a power of two; in_slots, too
  u32 in_slots;
};

constexpr u32 signal_bytes = 128;     // distance between signals of two blocks, see peer_plan.hpp
constexpr u32 polls_per_look = 1024;  // polls of a signal between two readings of the clock

/// Limits how long a thread waits for its partner.
class Patience {
 public:
  __device__ explicit Patience(u64 nanoseconds) : most_(nanoseconds) {}
  __device__ bool ends() {
    if (++polls_ % polls_per_look != 0) return false;
    const u64 now = nanoseconds();
    if (begin_ == 0) begin_ = now;
    return now - begin_ > most_;
  }

 private:
  u64 most_;
  u64 begin_ = 0;
  u32 polls_ = 0;
};

__device__ inline char* slot(const char* base, const Loop& loop, u64 step, u32 slots) {
  return const_cast<char*>(base) + (step & (slots - 1)) * loop.slot_bytes;
}

/// Sends data and tag in one store. It arrives whole, so that no fence orders tag after data.
__device__ inline void send_word(u64* to, u32 data, u32 tag) {
  const u64 word = u64(tag) << 32 | data;
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(word) : "memory");
}

__device__ inline u64 look(const u64* at) {
  u64 word;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
  return word;
}

__device__ inline bool receive_word(const u64* from, u32 tag, u64 patience_ns, u32* data) {
  Patience patience(patience_ns);
  u64 word = look(from);
  while (u32(word >> 32) != tag) {
    if (patience.ends()) return false;
    word = look(from);
  }
  *data = static_cast<u32>(word);
  return true;
}

/// Signals the partner, after all stores that this thread made or has seen its block make.
__device__ inline void raise(char* signal, u32 tag) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(signal), "r"(tag) : "memory");
}

__device__ inline u32 seen(const char* signal) {
  u32 tag;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(tag) : "l"(signal) : "memory");
  return tag;
}

/// Waits for the partner's signal of a step, or of the next step: the partner may be ahead by one.
/// Returns false if the partner stays away.
__device__ inline bool await(const char* signal, u32 tag, u64 patience_ns) {
  Patience patience(patience_ns);
  while (static_cast<int>(seen(signal) - tag) < 0) {
    if (patience.ends()) return false;
  }
  return true;
}

/// Waits for all threads of the block; returns to each whether `mine` is true for any of them.
__device__ inline bool any_of_block(bool mine) {
  u32 any;
  asm volatile(
      "{ .reg .pred mine, any;\n"
      "  setp.ne.u32 mine, %1, 0;\n"
      "  bar.red.or.pred any, 0, mine;\n"
      "  selp.u32 %0, 1, 0, any; }"
      : "=r"(any)
      : "r"(u32(mine))
      : "memory");
  return any != 0;
}

}  // namespace

/// Exchanges small messages: each word has 4 bytes of data and a 4-byte tag. The receiver copies
/// the data to the message's slot, whose end is padded to whole words.
ENTRY isthmus_exchange_words(Edge first, Edge second, Loop loop) {
  const u32 lane = my_block() / loop.lane_blocks;
  const Edge edge = lane == 0 ? first : second;
  const u64 count = (loop.bytes + 3) / 4;
  const u64 begin = u64(my_block() % loop.lane_blocks) * threads_of_block() + my_thread();
  const u64 stride = u64(loop.lane_blocks) * threads_of_block();
  for (u64 step = 0; step < loop.steps; ++step) {
    const u32 tag = loop.first_tag + static_cast<u32>(step);
    const u64 place = (tag & 1) * count;
    const u32* out = reinterpret_cast<u32*>(slot(edge.out, loop, step, loop.out_slots));
    u32* in = reinterpret_cast<u32*>(slot(edge.in, loop, step, loop.in_slots));
    u64* there = reinterpret_cast<u64*>(edge.signals_there) + place;
    const u64* here = reinterpret_cast<const u64*>(edge.signals_here) + place;
    for (u64 i = begin; i < count; i += stride) send_word(there + i, out[i], tag);
    for (u64 i = begin; i < count; i += stride) {
      if (!receive_word(here + i, tag, loop.patience_ns, in + i)) {
        loop.faults[lane] = 1;
        return;
      }
    }
  }
}

/// Exchanges larger messages: each block copies a part to the partner's slot, then signals it.
ENTRY isthmus_exchange_parts(Edge first, Edge second, Loop loop) {
  const u32 lane = my_block() / loop.lane_blocks;
  const u32 part = my_block() % loop.lane_blocks;
  const Edge edge = lane == 0 ? first : second;
  const Share share = {my_thread(), my_block(), my_thread(), threads_of_block()};
  const u64 begin = part * loop.part_bytes;
  const u64 left = loop.bytes - begin;
  const u64 bytes = left < loop.part_bytes ? left : loop.part_bytes;
  for (u64 step = 0; step < loop.steps; ++step) {
    const u32 tag = loop.first_tag + static_cast<u32>(step);
    copy(share, slot(edge.out, loop, step, loop.out_slots) + begin,
         slot(edge.there, loop, step, loop.in_slots) + begin, bytes);
    wait_for_block();
    bool failed = false;
    if (share.thread == 0) {
      raise(edge.signals_there + part * signal_bytes, tag);
      failed = !await(edge.signals_here + part * signal_bytes, tag, loop.patience_ns);
      if (failed) loop.faults[lane] = 1;
    }
    if (any_of_block(failed)) return;
  }
}
