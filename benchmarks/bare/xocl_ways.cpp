// xocl_ways BYTES,... SECONDS SEED XCLBIN free|same|apart: what a small transfer costs in AMD's
// OpenCL, by the way it is asked for.
//
// Where its threads run: as the kernel of the system likes, all on the caller's processor, or all
// on another one. In turn, in an order that the seed gives, each way has a slice of time, until it
// had SECONDS in all; the first device of the first platform. A line for each operation, size and
// way: medians of the whole call and of its first part (the enqueue), in seconds; of the queue's
// own times, from queued to started and from started to ended (where the queue keeps them); then
// processor time and voluntary context switches of the process, means for a transfer.
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "median.hpp"

namespace {

constexpr std::size_t depth = 16;
constexpr std::chrono::microseconds rest(200);
constexpr int slices = 8;

void check(cl_int code) {
  if (code != CL_SUCCESS) {
    std::fprintf(stderr, "OpenCL error %d\n", code);
    std::exit(1);
  }
}

/// A thread that runs what it is given while the caller sleeps: the hand-over alone.
class Helper {
 public:
  Helper() : thread_([this] { serve(); }) {}
  ~Helper() {
    give(ended);
    thread_.join();
  }
  void hand_over() {
    give(asked);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return state_ == idle; });
  }

 private:
  enum State { idle, asked, ended };
  void give(State state) {
    const std::lock_guard lock(mutex_);
    state_ = state;
    changed_.notify_all();
  }
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return state_ != idle; });
      if (state_ == ended) {
        return;
      }
      state_ = idle;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = idle;
  std::thread thread_;
};

struct Usage {
  double cpu_s;
  double switches;
};

Usage usage() {
  rusage now{};
  getrusage(RUSAGE_SELF, &now);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return {seconds(now.ru_utime) + seconds(now.ru_stime), static_cast<double>(now.ru_nvcsw)};
}

struct Call {
  double whole_s = 0;
  double enqueue_s = 0;
  double start_s = 0;  ///< from queued to started
  double run_s = 0;    ///< from started to ended
};

/// One operation of one size, asked for in one way.
struct Case {
  std::string name;
  std::function<Call()> call;
  double transfers = 1;
  std::vector<Call> calls{};
  Usage used{0, 0};

  void slice(double seconds) {
    call();
    const Usage before = usage();
    std::size_t count = 0;
    for (const double begin = now(); now() - begin < seconds || count < 10; ++count) {
      calls.push_back(call());
    }
    const Usage after = usage();
    used.cpu_s += after.cpu_s - before.cpu_s;
    used.switches += after.switches - before.switches;
  }
  [[nodiscard]] double middle(double Call::* part) const {
    std::vector<double> values;
    for (const Call& one : calls) {
      values.push_back(one.*part);
    }
    return median(std::move(values)) / transfers;
  }
};

cl_program program_of(cl_context context, cl_device_id device, const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<unsigned char> bytes(std::istreambuf_iterator<char>(file), {});
  const unsigned char* data = bytes.data();
  const std::size_t size = bytes.size();
  cl_int code = CL_SUCCESS;
  cl_program program = clCreateProgramWithBinary(context, 1, &device, &size, &data, nullptr, &code);
  check(code);
  return program;
}

/// Binds the calling thread, and those that it makes from then on.
void bind(int processor) {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  CPU_SET(processor, &processors);
  if (sched_setaffinity(0, sizeof processors, &processors) != 0) {
    std::fprintf(stderr, "cannot bind to processor %d\n", processor);
    std::exit(1);
  }
}

double since(cl_event event, cl_profiling_info from, cl_profiling_info to) {
  cl_ulong begin = 0;
  cl_ulong end = 0;
  check(clGetEventProfilingInfo(event, from, sizeof begin, &begin, nullptr));
  check(clGetEventProfilingInfo(event, to, sizeof end, &end, nullptr));
  return 1e-9 * static_cast<double>(end - begin);
}

/// Everything that one operation of one size needs.
struct Transfer {
  cl_command_queue queue;
  cl_mem buffer;
  char* host;
  std::size_t bytes;
  bool write;

  void enqueue(cl_bool blocking, cl_event* event) const {
    check(write ? clEnqueueWriteBuffer(queue, buffer, blocking, 0, bytes, host, 0, nullptr, event)
                : clEnqueueReadBuffer(queue, buffer, blocking, 0, bytes, host, 0, nullptr, event));
  }
  void migrate() const {
    check(clEnqueueMigrateMemObjects(queue, 1, &buffer, write ? 0 : CL_MIGRATE_MEM_OBJECT_HOST, 0,
                                     nullptr, nullptr));
  }
};

/// Times a call whose first part ends where `second` begins.
Call in_two(const std::function<void()>& first, const std::function<void()>& second) {
  const double begin = now();
  first();
  const double enqueued = now();
  second();
  return {.whole_s = now() - begin, .enqueue_s = enqueued - begin};
}

}  // namespace

int main(int, char** arguments) {
  const double seconds = std::atof(arguments[2]);
  std::mt19937 random(static_cast<unsigned>(std::atoi(arguments[3])));

  const std::string placement = arguments[5];
  if (placement != "free") {
    bind(placement == "apart" ? 1 : 0);
  }
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_int code = CL_SUCCESS;
  check(clGetPlatformIDs(1, &platform, nullptr));
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr));
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
  check(code);
  program_of(context, device, arguments[4]);
  const auto queue_with = [&](cl_command_queue_properties properties) {
    cl_command_queue queue = clCreateCommandQueue(context, device, properties, &code);
    check(code);
    return queue;
  };
  const cl_command_queue plain = queue_with(0);
  const cl_command_queue profiled = queue_with(CL_QUEUE_PROFILING_ENABLE);
  const cl_command_queue unordered = queue_with(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const cl_command_queue both =
      queue_with(CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);

  Helper helper;
  std::vector<Case> cases;
  std::istringstream sizes(arguments[1]);
  for (std::string size; std::getline(sizes, size, ',');) {
    const std::size_t bytes = std::strtoull(size.c_str(), nullptr, 10);
    for (const bool write : {true, false}) {
      void* block = nullptr;
      if (posix_memalign(&block, 4096, bytes) != 0) {
        return 1;
      }
      std::memset(block, 1, bytes);
      cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &code);
      check(code);
      void* shared = nullptr;
      if (posix_memalign(&shared, 4096, bytes) != 0) {
        return 1;
      }
      std::memset(shared, 1, bytes);
      cl_mem user =
          clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, shared, &code);
      check(code);
      for (const cl_mem one : {buffer, user}) {  // else nothing can be read
        check(clEnqueueMigrateMemObjects(plain, 1, &one, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0,
                                         nullptr, nullptr));
      }
      check(clFinish(plain));
      const Transfer on_plain{plain, buffer, static_cast<char*>(block), bytes, write};
      const auto on = [&](cl_command_queue queue) {
        Transfer transfer = on_plain;
        transfer.queue = queue;
        return transfer;
      };
      const auto finished = [](Transfer transfer) {
        return [transfer] {
          return in_two([&] { transfer.enqueue(CL_FALSE, nullptr); },
                        [&] { check(clFinish(transfer.queue)); });
        };
      };
      const auto staged = [](Transfer transfer) {
        return [transfer] {
          cl_event event = nullptr;
          Call call = in_two([&] { transfer.enqueue(CL_FALSE, &event); },
                             [&] { check(clFinish(transfer.queue)); });
          call.start_s = since(event, CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_START);
          call.run_s = since(event, CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END);
          check(clReleaseEvent(event));
          return call;
        };
      };
      Transfer moved = on_plain;
      moved.buffer = user;
      const std::string of = std::string(write ? "write," : "read,") + size + ",";
      const auto add = [&](const char* way, std::function<Call()> call, double transfers = 1) {
        cases.push_back({of + way, std::move(call), transfers});
      };
      add("in order", finished(on_plain));
      add("in order again", finished(on_plain));
      add("profiling", finished(on(profiled)));
      add("out of order", finished(on(unordered)));
      add("out of order and profiling", finished(on(both)));
      add("profiling and its event read", staged(on(profiled)));
      add("after 200 us of rest", [rested = finished(on_plain)] {
        std::this_thread::sleep_for(rest);
        return rested();
      });
      add("migrate", [moved] {
        return in_two([&] { moved.migrate(); }, [&] { check(clFinish(moved.queue)); });
      });
      add("blocking call",
          [on_plain] { return in_two([&] { on_plain.enqueue(CL_TRUE, nullptr); }, [] {}); });
      add("caller polls", [on_plain] {
        cl_event event = nullptr;
        return in_two([&] { on_plain.enqueue(CL_FALSE, &event); },
                      [&] {
                        cl_int state = CL_QUEUED;
                        while (state != CL_COMPLETE) {
                          check(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                               sizeof state, &state, nullptr));
                        }
                        check(clReleaseEvent(event));
                      });
      });
      add(
          "16 queued and one finish",
          [on_plain] {
            return in_two(
                [&] {
                  for (std::size_t i = 0; i < depth; ++i) {
                    on_plain.enqueue(CL_FALSE, nullptr);
                  }
                },
                [&] { check(clFinish(on_plain.queue)); });
          },
          depth);
      add("no OpenCL: two hand-overs",
          [&helper] { return in_two([] {}, [&] { helper.hand_over(); }); });
    }
  }
  for (Case& one : cases) {  // so that every thread there will be is there
    one.call();
  }
  if (placement == "apart") {
    bind(0);
  }
  for (int slice = 0; slice < slices; ++slice) {
    std::vector<std::size_t> order(cases.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t index : order) {
      cases[index].slice(seconds / slices);
    }
  }
  for (const Case& one : cases) {
    const double done = static_cast<double>(one.calls.size()) * one.transfers;
    std::printf("%s,%.6e,%.6e,%.6e,%.6e,%.6e,%.4f\n", one.name.c_str(), one.middle(&Call::whole_s),
                one.middle(&Call::enqueue_s), one.middle(&Call::start_s), one.middle(&Call::run_s),
                one.used.cpu_s / done, one.used.switches / done);
  }
}
