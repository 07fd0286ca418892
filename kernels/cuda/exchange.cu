// Messages between GPUs: one launch does every step of a loop, without the host.
//
// A rank has two conversations at once, one in each lane, each with one partner: both send a
// message and wait for the other's, and that is a step. A partner that is heard in step i has
// heard all of step i - 1, or it would not have begun step i. So whoever goes on to step i + 1 may
// overwrite what it wrote in step i - 1, and nothing later: two places in turn are enough.
// Each thread of `words`, and each block of `parts`, keeps to that with its own counterpart in the
// partner's launch, which has the same shape; they need not keep step with each other.
#include "device.cuh"

namespace {

/// One conversation. As in peer_ways.hpp.
struct Edge {
  const char* out;      // this rank's messages, one slot after the other
  char* in;             // where the partner's belong
  char* there;          // where this rank's belong at the partner
  char* signals_there;  // what tells the partner that they came
  char* signals_here;   // what tells this rank
};

/// The loop. As in peer_kernels.cpp.
struct Loop {
  u64 bytes;       // of a message
  u64 slot_bytes;  // from one to the next
  u64 part_bytes;  // of it that a block sends
  u64 steps;
  u64 patience_ns;  // to wait for the partner in one step
  u32* faults;      // one for each lane, in the host's memory
  u32 lane_blocks;
  u32 first_tag;  // tags count steps through all runs, and may wrap
  u32 out_slots;  // powers of two
  u32 in_slots;
};

constexpr u32 signal_bytes = 128;     // from one block's to the next, as in peer_plan.hpp
constexpr u32 polls_per_look = 1024;  // between looks at the clock

/// Gives up when the partner stays away.
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

/// Data and tag in one store, which arrives whole: the tag needs no fence before it.
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

/// What this thread has seen its block do before comes first.
__device__ inline void raise(char* signal, u32 tag) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(signal), "r"(tag) : "memory");
}

__device__ inline u32 seen(const char* signal) {
  u32 tag;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(tag) : "l"(signal) : "memory");
  return tag;
}

/// The partner may be a step ahead.
__device__ inline bool await(const char* signal, u32 tag, u64 patience_ns) {
  Patience patience(patience_ns);
  while (static_cast<int>(seen(signal) - tag) < 0) {
    if (patience.ends()) return false;
  }
  return true;
}

/// For all threads of a block: whether one of them says so.
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

/// Small messages: 4 bytes of data beside a 4-byte tag in each word. The receiver takes them out
/// into the message's slot, whose end is padded to whole words.
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

/// Larger ones: each block copies its part into the partner's slot, and then says so.
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
