// An OpenCL runtime with one device. It starts a command only when the program waits for it, so
// that memory which a program frees too early is still in use. Mapped memory is a copy, as on a
// card. `control.hpp` lists the faults that it can make.
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api.hpp"
#include "control.hpp"

namespace isthmus::cl {

using Bytes = std::vector<unsigned char>;

/// The handles of the API point to these objects; the API's own tags are never defined.
struct Buffer {
  Bytes data;
  unsigned char* host = nullptr;  ///< the program's memory, for CL_MEM_USE_HOST_PTR
  Bytes mapped;
  std::size_t pending = 0;  ///< commands that use it
};
using Held = std::shared_ptr<Buffer>;

struct Command {
  std::function<void()> work;
  bool done = false;
  struct Line* line = nullptr;
};

struct Line {
  std::deque<std::shared_ptr<Command>> waiting;
};

struct Function {
  std::string name;
  std::map<Uint, Bytes> arguments;
};

namespace {

constexpr Int out_of_resources = -5;
constexpr Int invalid_value = -30;
constexpr Int profiling_info_not_available = -7;

struct State {
  std::string idle;
  long calls_to_failure = 0;
  std::size_t released_in_use = 0;
  std::map<const void*, Held> buffers;
  std::map<void*, std::shared_ptr<Command>> events;
};

State& state() {
  static State shared;
  return shared;
}

bool idle(std::string_view command) { return state().idle == command; }

/// Whether this call must fail.
bool fails() {
  long& left = state().calls_to_failure;
  if (left == 0) {
    return false;
  }
  --left;
  return left == 0;
}

Held held(const void* handle) { return state().buffers.at(handle); }

template <class Handle, class Object>
Handle handle(Object* object) {
  return reinterpret_cast<Handle>(object);
}

void run(Line& line, const Command* last) {
  while (!line.waiting.empty()) {
    const std::shared_ptr<Command> next = line.waiting.front();
    line.waiting.pop_front();
    next->work();
    next->done = true;
    if (next.get() == last) {
      return;
    }
  }
}

/// Adds a command. It runs when the program waits for it or for a later command of its queue.
Int enqueue(Queue queue, std::vector<Held> used, std::function<void()> work, Uint count,
            const Event* waits, Event* event) {
  if (fails()) {
    return out_of_resources;
  }
  std::vector<std::shared_ptr<Command>> before;
  before.reserve(count);
  for (Uint i = 0; i < count; ++i) {
    before.push_back(state().events.at(waits[i]));
  }
  auto command = std::make_shared<Command>();
  command->line = reinterpret_cast<Line*>(queue);
  for (const Held& buffer : used) {
    ++buffer->pending;
  }
  command->work = [used = std::move(used), work = std::move(work), before] {
    for (const std::shared_ptr<Command>& other : before) {
      if (!other->done) {
        run(*other->line, other.get());
      }
    }
    if (work) {
      work();
    }
    for (const Held& buffer : used) {
      --buffer->pending;
    }
  };
  command->line->waiting.push_back(command);
  if (event != nullptr) {
    *event = handle<Event>(command.get());
    state().events[*event] = command;
  }
  return success;
}

Int tell(const void* value, std::size_t bytes, std::size_t room, void* to, std::size_t* needed) {
  if (needed != nullptr) {
    *needed = bytes;
  }
  if (to != nullptr) {
    std::memcpy(to, value, std::min(bytes, room));
  }
  return success;
}

Int tell(std::string_view text, std::size_t room, void* to, std::size_t* needed) {
  return tell(std::string(text).c_str(), text.size() + 1, room, to, needed);
}

template <class Value>
Int tell(Value value, std::size_t room, void* to, std::size_t* needed) {
  return tell(&value, sizeof value, room, to, needed);
}

Ulong word_at(const Bytes& data, std::size_t at, std::size_t bytes) {
  Ulong word = 0;
  std::memcpy(&word, data.data() + at, std::min(bytes, sizeof word));
  return word;
}

/// The kernels of kernels.hpp; the first work item does all the work.
struct Kernels {
  const Function* called;
  std::size_t items;

  [[nodiscard]] Held buffer(Uint index) const {
    void* found = nullptr;
    std::memcpy(&found, called->arguments.at(index).data(), sizeof found);
    return held(found);
  }
  [[nodiscard]] Ulong number(Uint index) const {
    return word_at(called->arguments.at(index), 0, sizeof(Ulong));
  }

  [[nodiscard]] std::pair<std::vector<Held>, std::function<void()>> work() const {
    constexpr Ulong step = 0x9E3779B97F4A7C15U;
    if (called->name == "isthmus_sum") {
      const Held data = buffer(0);
      const Held partial = buffer(3);
      return {{data, partial},
              [data, partial, bytes = number(1), key = number(2), sweeps = number(4) | 1U,
               count = items] {
                Ulong swept = 0;
                for (Ulong at = 0; at < bytes; at += sizeof(Ulong)) {
                  swept += word_at(data->data, at, bytes - at);
                }
                for (std::size_t item = 0; item < count; ++item) {
                  const Ulong result = ((item == 0 ? swept * sweeps : 0) + 1) * key;
                  std::memcpy(partial->data.data() + item * sizeof result, &result, sizeof result);
                }
              }};
    }
    if (called->name == "isthmus_fill") {
      const Held data = buffer(0);
      return {{data}, [data, bytes = number(1), seed = number(2)] {
                for (Ulong at = 0; at < bytes; at += sizeof(Ulong)) {
                  const Ulong word = seed + at / sizeof(Ulong) * step;
                  std::memcpy(data->data.data() + at, &word,
                              std::min<Ulong>(sizeof word, bytes - at));
                }
              }};
    }
    if (called->name == "isthmus_copy") {
      const Held from = buffer(0);
      const Held to = buffer(1);
      return {{from, to}, [from, to, bytes = number(2)] {
                std::memcpy(to->data.data(), from->data.data(), bytes);
              }};
    }
    return {{}, nullptr};
  }
};

/// Copies between a buffer and host memory, row by row of one byte rectangle.
struct Rectangle {
  std::array<std::size_t, 3> of_buffer;
  std::array<std::size_t, 3> of_host;
  std::array<std::size_t, 3> region;
  std::size_t buffer_row;
  std::size_t host_row;

  template <class Row>
  void each(const Row& row) const {
    for (std::size_t y = 0; y < region[1]; ++y) {
      row((of_buffer[1] + y) * buffer_row + of_buffer[0], (of_host[1] + y) * host_row + of_host[0],
          region[0]);
    }
  }
};

std::array<std::size_t, 3> three(const std::size_t* values) {
  return {values[0], values[1], values[2]};
}

}  // namespace

#define ISTHMUS_API extern "C" __attribute__((visibility("default")))

ISTHMUS_API void isthmus_stand_in_idles(const char* command) { state().idle = command; }
ISTHMUS_API void isthmus_stand_in_fails_at(long call) { state().calls_to_failure = call; }
ISTHMUS_API std::size_t isthmus_stand_in_released_in_use() {
  return std::exchange(state().released_in_use, 0);
}

ISTHMUS_API Int clGetPlatformIDs(Uint /*room*/, Platform* to, Uint* count) {
  static int platform = 0;
  if (to != nullptr) {
    *to = handle<Platform>(&platform);
  }
  if (count != nullptr) {
    *count = 1;
  }
  return success;
}

ISTHMUS_API Int clGetPlatformInfo(Platform /*platform*/, Uint what, std::size_t room, void* to,
                                  std::size_t* needed) {
  return tell(std::string_view(what == platform_name ? "stand-in" : "OpenCL 1.2 stand-in"), room,
              to, needed);
}

ISTHMUS_API Int clGetDeviceIDs(Platform /*platform*/, Bitfield /*type*/, Uint /*room*/,
                               DeviceId* to, Uint* count) {
  static int device = 0;
  if (to != nullptr) {
    *to = handle<DeviceId>(&device);
  }
  if (count != nullptr) {
    *count = 1;
  }
  return success;
}

ISTHMUS_API Int clGetDeviceInfo(DeviceId /*device*/, Uint what, std::size_t room, void* to,
                                std::size_t* needed) {
  switch (what) {
    case device_type:
      return tell(device_type_gpu, room, to, needed);
    case device_max_compute_units:
      return tell(Uint{1}, room, to, needed);
    case device_max_work_group_size:
      return tell(std::size_t{2}, room, to, needed);
    case device_max_mem_alloc_size:
    case device_global_mem_size:
      return tell(Ulong{1} << 28U, room, to, needed);
    case device_available:
    case device_compiler_available:
      return tell(Uint{1}, room, to, needed);
    case device_host_unified_memory:
      return tell(Uint{0}, room, to, needed);
    case device_name:
    case device_vendor:
      return tell(std::string_view("stand-in"), room, to, needed);
    case driver_version:
    case device_version:
      return tell(std::string_view("OpenCL 1.2 stand-in"), room, to, needed);
    case device_extensions:
      return tell(std::string_view(), room, to, needed);
    default:
      return invalid_value;
  }
}

ISTHMUS_API Context clCreateContext(
    const std::intptr_t* /*properties*/, Uint /*count*/, const DeviceId* /*devices*/,
    void (* /*notify*/)(const char*, const void*, std::size_t, void*), void* /*user*/, Int* code) {
  *code = success;
  return handle<Context>(new int(0));
}
ISTHMUS_API Int clReleaseContext(Context context) {
  delete reinterpret_cast<int*>(context);
  return success;
}

ISTHMUS_API Queue clCreateCommandQueue(Context /*context*/, DeviceId /*device*/,
                                       Bitfield /*properties*/, Int* code) {
  *code = success;
  return handle<Queue>(new Line());
}
/// As OpenCL requires, releasing a queue runs its commands.
ISTHMUS_API Int clReleaseCommandQueue(Queue queue) {
  auto* const line = reinterpret_cast<Line*>(queue);
  run(*line, nullptr);
  delete line;
  return success;
}

ISTHMUS_API Mem clCreateBuffer(Context /*context*/, Bitfield flags, std::size_t bytes, void* host,
                               Int* code) {
  auto buffer = std::make_shared<Buffer>();
  buffer->data.resize(bytes);
  if ((flags & mem_use_host_ptr) != 0) {
    buffer->host = static_cast<unsigned char*>(host);
  }
  *code = success;
  state().buffers[buffer.get()] = buffer;
  return handle<Mem>(buffer.get());
}
ISTHMUS_API Int clReleaseMemObject(Mem memory) {
  state().released_in_use += held(memory)->pending > 0 ? 1 : 0;
  state().buffers.erase(memory);
  return success;
}

ISTHMUS_API Int clFlush(Queue /*queue*/) { return fails() ? out_of_resources : success; }
ISTHMUS_API Int clFinish(Queue queue) {
  run(*reinterpret_cast<Line*>(queue), nullptr);
  return success;
}

ISTHMUS_API Int clEnqueueReadBuffer(Queue queue, Mem memory, Uint blocking, std::size_t offset,
                                    std::size_t bytes, void* to, Uint count, const Event* waits,
                                    Event* event) {
  const Held buffer = held(memory);
  const bool skipped = blocking == no && idle("read");
  const Int code = enqueue(
      queue, {buffer},
      [=] {
        if (!skipped) {
          std::memcpy(to, buffer->data.data() + offset, bytes);
        }
      },
      count, waits, event);
  return code == success && blocking == yes ? clFinish(queue) : code;
}

ISTHMUS_API Int clEnqueueWriteBuffer(Queue queue, Mem memory, Uint blocking, std::size_t offset,
                                     std::size_t bytes, const void* from, Uint count,
                                     const Event* waits, Event* event) {
  const Held buffer = held(memory);
  const bool skipped = blocking == no && idle("write");
  const Int code = enqueue(
      queue, {buffer},
      [=] {
        if (!skipped) {
          std::memcpy(buffer->data.data() + offset, from, bytes);
        }
      },
      count, waits, event);
  return code == success && blocking == yes ? clFinish(queue) : code;
}

ISTHMUS_API Int clEnqueueReadBufferRect(Queue queue, Mem memory, Uint blocking,
                                        const std::size_t* buffer_origin,
                                        const std::size_t* host_origin, const std::size_t* region,
                                        std::size_t buffer_row, std::size_t /*buffer_slice*/,
                                        std::size_t host_row, std::size_t /*host_slice*/, void* to,
                                        Uint count, const Event* waits, Event* event) {
  const Held buffer = held(memory);
  const Rectangle rectangle{three(buffer_origin), three(host_origin), three(region), buffer_row,
                            host_row};
  const Int code = enqueue(
      queue, {buffer},
      [=] {
        rectangle.each([&](std::size_t at, std::size_t host, std::size_t bytes) {
          std::memcpy(static_cast<unsigned char*>(to) + host, buffer->data.data() + at, bytes);
        });
      },
      count, waits, event);
  return code == success && blocking == yes ? clFinish(queue) : code;
}

ISTHMUS_API Int clEnqueueWriteBufferRect(Queue queue, Mem memory, Uint blocking,
                                         const std::size_t* buffer_origin,
                                         const std::size_t* host_origin, const std::size_t* region,
                                         std::size_t buffer_row, std::size_t /*buffer_slice*/,
                                         std::size_t host_row, std::size_t /*host_slice*/,
                                         const void* from, Uint count, const Event* waits,
                                         Event* event) {
  const Held buffer = held(memory);
  const Rectangle rectangle{three(buffer_origin), three(host_origin), three(region), buffer_row,
                            host_row};
  const Int code = enqueue(
      queue, {buffer},
      [=] {
        rectangle.each([&](std::size_t at, std::size_t host, std::size_t bytes) {
          std::memcpy(buffer->data.data() + at, static_cast<const unsigned char*>(from) + host,
                      bytes);
        });
      },
      count, waits, event);
  return code == success && blocking == yes ? clFinish(queue) : code;
}

ISTHMUS_API void* clEnqueueMapBuffer(Queue queue, Mem memory, Uint /*blocking*/, Bitfield /*flags*/,
                                     std::size_t offset, std::size_t /*bytes*/, Uint count,
                                     const Event* waits, Event* event, Int* code) {
  const Held buffer = held(memory);
  buffer->mapped.resize(buffer->data.size());
  *code = enqueue(
      queue, {buffer},
      [buffer, skipped = idle("map")] {
        if (!skipped) {
          std::ranges::copy(buffer->data, buffer->mapped.begin());
        }
      },
      count, waits, event);
  if (*code != success) {
    return nullptr;
  }
  clFinish(queue);
  return buffer->mapped.data() + offset;
}

ISTHMUS_API Int clEnqueueUnmapMemObject(Queue queue, Mem memory, void* /*mapped*/, Uint count,
                                        const Event* waits, Event* event) {
  const Held buffer = held(memory);
  return enqueue(
      queue, {buffer},
      [buffer, skipped = idle("unmap")] {
        if (!skipped) {
          std::ranges::copy(buffer->mapped, buffer->data.begin());
        }
      },
      count, waits, event);
}

ISTHMUS_API Int clEnqueueMigrateMemObjects(Queue queue, Uint memories, const Mem* all,
                                           Bitfield flags, Uint count, const Event* waits,
                                           Event* event) {
  std::vector<Held> used;
  std::ranges::transform(std::span(all, memories), std::back_inserter(used), held);
  return enqueue(
      queue, used,
      [used, flags] {
        for (const Held& buffer : used) {
          if (buffer->host != nullptr && (flags & migrate_to_host) != 0) {
            std::memcpy(buffer->host, buffer->data.data(), buffer->data.size());
          } else if (buffer->host != nullptr && (flags & migrate_content_undefined) == 0) {
            std::memcpy(buffer->data.data(), buffer->host, buffer->data.size());
          }
        }
      },
      count, waits, event);
}

ISTHMUS_API Int clEnqueueNDRangeKernel(Queue queue, Kernel kernel, Uint /*dimensions*/,
                                       const std::size_t* /*offset*/, const std::size_t* items,
                                       const std::size_t* /*group*/, Uint count, const Event* waits,
                                       Event* event) {
  auto [used, work] = Kernels{reinterpret_cast<Function*>(kernel), *items}.work();
  if (idle("kernel")) {
    work = nullptr;
  }
  return enqueue(queue, std::move(used), std::move(work), count, waits, event);
}

ISTHMUS_API Int clGetEventProfilingInfo(Event /*event*/, Uint /*what*/, std::size_t /*room*/,
                                        void* /*to*/, std::size_t* /*needed*/) {
  return profiling_info_not_available;
}
ISTHMUS_API Int clReleaseEvent(Event event) {
  state().events.erase(event);
  return success;
}

ISTHMUS_API Program clCreateProgramWithSource(Context /*context*/, Uint /*count*/,
                                              const char** /*text*/, const std::size_t* /*bytes*/,
                                              Int* code) {
  *code = success;
  return handle<Program>(new int(0));
}
ISTHMUS_API Program clCreateProgramWithBinary(Context /*context*/, Uint /*count*/,
                                              const DeviceId* /*devices*/,
                                              const std::size_t* /*bytes*/,
                                              const unsigned char** /*binary*/, Int* /*each*/,
                                              Int* code) {
  *code = invalid_value;
  return nullptr;
}
ISTHMUS_API Int clBuildProgram(Program /*program*/, Uint /*count*/, const DeviceId* /*devices*/,
                               const char* /*options*/, void (* /*notify*/)(Program, void*),
                               void* /*user*/) {
  return success;
}
ISTHMUS_API Int clGetProgramBuildInfo(Program /*program*/, DeviceId /*device*/, Uint /*what*/,
                                      std::size_t room, void* to, std::size_t* needed) {
  return tell(std::string_view(), room, to, needed);
}
ISTHMUS_API Int clGetProgramInfo(Program /*program*/, Uint /*what*/, std::size_t room, void* to,
                                 std::size_t* needed) {
  return tell(std::string_view("isthmus_empty;isthmus_sum;isthmus_fill;isthmus_copy"), room, to,
              needed);
}
ISTHMUS_API Int clReleaseProgram(Program program) {
  delete reinterpret_cast<int*>(program);
  return success;
}

ISTHMUS_API Kernel clCreateKernel(Program /*program*/, const char* name, Int* code) {
  *code = success;
  return handle<Kernel>(new Function{name, {}});
}
ISTHMUS_API Int clSetKernelArg(Kernel kernel, Uint index, std::size_t bytes, const void* value) {
  const auto* const from = static_cast<const unsigned char*>(value);
  reinterpret_cast<Function*>(kernel)->arguments[index] = Bytes(from, from + bytes);
  return success;
}
ISTHMUS_API Int clReleaseKernel(Kernel kernel) {
  delete reinterpret_cast<Function*>(kernel);
  return success;
}

}  // namespace isthmus::cl
