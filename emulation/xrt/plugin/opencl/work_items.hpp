// Runs an OpenCL C kernel for each work-item of a group. XRT starts the kernel once for each group,
// whose number is in registers after the arguments.
#pragma once

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace isthmus::opencl {

using Three = std::array<std::size_t, 3>;

/// The registers after the arguments, in their order.
struct Work {
  Three group{}, offset{}, size{}, local{};
  std::size_t dimensions = 0;
};
inline constexpr std::size_t work_registers = sizeof(Work) / sizeof(std::size_t);

inline Work work;
inline Three item;  ///< the work-item that runs, by its place in the group

/// Work-items that wait for one another at barriers: each has a stack, and runs until it ends or
/// waits.
class Waiting {
 public:
  explicit Waiting(std::size_t count) : items_(count) {}
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    if (stacks_ != MAP_FAILED) {
      munmap(stacks_, items_.size() * stack_bytes);
    }
  }

  /// Runs all items. `place(n)` makes item n the one that runs; `body` is the function of each
  /// item.
  template <class Place, class Body>
  void run(const Place& place, Body& body) {
    stacks_ = mmap(nullptr, items_.size() * stack_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks_ == MAP_FAILED) {
      throw std::runtime_error("no memory for a group of " + std::to_string(items_.size()) +
                               " work-items that wait at a barrier");
    }
    for (std::size_t n = 0; n < items_.size(); ++n) {
      ucontext_t& context = items_[n].context;
      getcontext(&context);
      std::byte* stack = static_cast<std::byte*>(stacks_) + n * stack_bytes;
      mprotect(stack, guard_bytes, PROT_NONE);
      context.uc_stack.ss_sp = stack;
      context.uc_stack.ss_size = stack_bytes;
      context.uc_link = &scheduler_;
      body_ = &body;
      makecontext(&context, reinterpret_cast<void (*)()>(&Waiting::begin<Body>), 0);
    }
    now = this;
    for (bool waits = true; waits;) {
      waits = false;
      for (std::size_t n = 0; n < items_.size(); ++n) {
        if (!items_[n].ended) {
          place(n);
          current_ = &items_[n];
          swapcontext(&scheduler_, &current_->context);
          waits |= !current_->ended;
        }
      }
    }
    now = nullptr;
  }

  void wait() { swapcontext(&current_->context, &scheduler_); }

  static inline Waiting* now = nullptr;

 private:
  static constexpr std::size_t guard_bytes = 4096;
  static constexpr std::size_t stack_bytes = std::size_t{256} << 10U;

  struct Item {
    ucontext_t context{};
    bool ended = false;
  };

  template <class Body>
  static void begin() {
    (*static_cast<Body*>(now->body_))();
    now->current_->ended = true;
  }

  std::vector<Item> items_;
  ucontext_t scheduler_{};
  Item* current_ = nullptr;
  void* body_ = nullptr;
  void* stacks_ = MAP_FAILED;
};

/// Calls `body` for each item of the group that the registers name. A group has the required size
/// in each dimension: XRT compares that size with the program's in the range's dimensions alone.
/// If a program starts the kernel without OpenCL, the registers are empty: then one group runs.
template <class Body>
void run_group(const std::uint64_t* registers, const Three& required, bool waits, Body body) {
  std::memcpy(&work, registers, sizeof(work));
  std::size_t count = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::size_t given = work.local[d] != 0 ? work.local[d] : 1;
    work.local[d] = required[d] != 0 ? required[d] : given;
    work.size[d] = std::max(work.size[d], work.local[d]);
    count *= work.local[d];
  }
  work.dimensions = work.dimensions != 0 ? work.dimensions : 1;
  const auto place = [](std::size_t n) {
    item = {n % work.local[0], n / work.local[0] % work.local[1],
            n / work.local[0] / work.local[1]};
  };
  Waiting::now = nullptr;  // a run that failed may have left a pointer
  if (waits && count > 1) {
    Waiting(count).run(place, body);
    return;
  }
  for (std::size_t n = 0; n < count; ++n) {
    place(n);
    body();
  }
}

// Functions that kernels call.

inline unsigned get_work_dim() { return static_cast<unsigned>(work.dimensions); }
#define ISTHMUS_OF_DIMENSION(name, beyond, value) \
  inline std::size_t name(unsigned d) { return d < 3 ? (value) : (beyond); }
ISTHMUS_OF_DIMENSION(get_global_size, 1, work.size[d])
ISTHMUS_OF_DIMENSION(get_local_size, 1, work.local[d])
ISTHMUS_OF_DIMENSION(get_num_groups, 1, work.size[d] / work.local[d])
ISTHMUS_OF_DIMENSION(get_global_offset, 0, work.offset[d])
ISTHMUS_OF_DIMENSION(get_group_id, 0, work.group[d])
ISTHMUS_OF_DIMENSION(get_local_id, 0, item[d])
ISTHMUS_OF_DIMENSION(get_global_id, 0, work.offset[d] + work.group[d] * work.local[d] + item[d])
#undef ISTHMUS_OF_DIMENSION

inline constexpr unsigned CLK_LOCAL_MEM_FENCE = 1;
inline constexpr unsigned CLK_GLOBAL_MEM_FENCE = 2;
inline void barrier(unsigned /*fence*/) {
  if (Waiting::now != nullptr) {
    Waiting::now->wait();
  }
}
inline void work_group_barrier(unsigned fence) { barrier(fence); }
// Fences do nothing: items run one after the other, so each sees all earlier writes.
inline void mem_fence(unsigned /*fence*/) {}
inline void read_mem_fence(unsigned /*fence*/) {}
inline void write_mem_fence(unsigned /*fence*/) {}

// The group's first item makes the whole copy, because it runs first.
using event_t = std::size_t;
template <class T>
event_t async_work_group_strided_copy(T* to, std::size_t to_step, const T* from,
                                      std::size_t from_step, std::size_t count, event_t event) {
  for (std::size_t n = 0; item == Three{} && n < count; ++n) {
    to[n * to_step] = from[n * from_step];
  }
  return event;
}
template <class T>
event_t async_work_group_copy(T* to, const T* from, std::size_t count, event_t event) {
  return async_work_group_strided_copy(to, 1, from, 1, count, event);
}
inline void wait_group_events(int /*count*/, event_t* /*events*/) { barrier(CLK_LOCAL_MEM_FENCE); }
template <class T>
void prefetch(const T* /*from*/, std::size_t /*count*/) {}

}  // namespace isthmus::opencl
