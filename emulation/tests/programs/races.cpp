// Programs that run kernels side by side: right ones, and ones whose order of runs is missing.
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <map>
#include <numeric>
#include <thread>
#include <vector>

#include "on_card.hpp"
#include "on_opencl.hpp"

namespace {

constexpr int elements = 65536;
constexpr std::size_t bytes = elements * sizeof(int);

/// The card, and runs of its kernels that are started when they are made.
struct Runs {
  explicit Runs(const std::string& file)
      : xclbin(file),
        card(xclbin),
        scale(card.device, card.uuid, "scale"),
        add(card.device, card.uuid, "add"),
        in(buffer()),
        out(buffer()) {
    auto* const values = in.map<int*>();
    std::iota(values, values + elements, 0);
    in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }
  [[nodiscard]] xrt::bo buffer() const { return {card.device, bytes, scale.group_id(0)}; }
  /// Scales the elements `first`, `first + step` and so on, before `end`.
  xrt::run scaled(const xrt::bo& to, int by, int first = 0, int step = 1, int end = elements) {
    return scale(in, to, by, first, step, end);
  }
  /// Sends zeros, so that a kernel may add to the buffer.
  void clear(xrt::bo& buffer) {
    std::fill_n(buffer.map<int*>(), elements, 0);
    buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }
  void take(xrt::bo& buffer, const std::string& name) {
    buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    const auto* const values = buffer.map<int*>();
    tell(name, static_cast<double>(std::accumulate(values, values + elements, 0LL)));
  }

  std::string xclbin;
  Card card;
  xrt::kernel scale;
  xrt::kernel add;
  xrt::bo in;
  xrt::bo out;
};

void finish(Runs& runs, std::vector<xrt::run> all) {
  for (xrt::run& run : all) {
    run.wait();
  }
  runs.take(runs.out, "sum");
}

void two_writers(Runs& runs) { finish(runs, {runs.scaled(runs.out, 2), runs.scaled(runs.out, 3)}); }
void reader_of_an_output(Runs& runs) {
  finish(runs, {runs.scaled(runs.out, 2), runs.add(runs.out, elements)});
}
void writer_of_an_input(Runs& runs) {
  runs.clear(runs.out);
  finish(runs, {runs.add(runs.out, elements), runs.scaled(runs.out, 2)});
}
/// Each run waits for the one before the last alone.
void late_wait(Runs& runs) {
  xrt::run first = runs.scaled(runs.out, 2);
  xrt::run second = runs.add(runs.out, elements);
  first.wait();
  finish(runs, {second});
}

void waits(Runs& runs) {
  runs.scaled(runs.out, 2).wait();
  finish(runs, {runs.add(runs.out, elements)});
}
void two_halves(Runs& runs) {
  constexpr int half = elements / 2;
  finish(runs, {runs.scaled(runs.out, 2, 0, 1, half), runs.scaled(runs.out, 3, half)});
}
void alternate_elements(Runs& runs) {
  constexpr int end = 16384;
  runs.clear(runs.out);
  finish(runs, {runs.scaled(runs.out, 2, 0, 2, end), runs.scaled(runs.out, 3, 1, 2, end)});
}
/// Each run reads more ranges of bytes than the emulation keeps.
void alternate_in_place(Runs& runs) {
  xrt::kernel add(runs.card.device, runs.card.uuid, "add_some");
  runs.clear(runs.out);
  finish(runs, {add(runs.out, 0, 2, elements), add(runs.out, 1, 2, elements)});
}
void one_input(Runs& runs) {
  xrt::bo other = runs.buffer();
  xrt::run first = runs.scaled(other, 2);
  finish(runs, {runs.scaled(runs.out, 3), first});
  runs.take(other, "other");
}
void same_values(Runs& runs) {
  runs.scaled(runs.out, 2).wait();
  finish(runs, {runs.scaled(runs.out, 2), runs.scaled(runs.out, 2)});
}
/// One thread waits for the first run, and tells another thread by an atomic variable alone.
void waits_in_a_thread(Runs& runs) {
  xrt::run first = runs.scaled(runs.out, 2);
  std::atomic<bool> ended = false;
  std::thread waiter([&] {
    first.wait();
    ended = true;
  });
  while (!ended) {
    std::this_thread::yield();
  }
  finish(runs, {runs.add(runs.out, elements)});
  waiter.join();
}
void by_callback(Runs& runs) {
  std::atomic<bool> ended = false;
  xrt::run first(runs.scale);
  first.add_callback(
      ERT_CMD_STATE_COMPLETED,
      [](const void* /*run*/, ert_cmd_state /*state*/, void* told) {
        *static_cast<std::atomic<bool>*>(told) = true;
      },
      &ended);
  first.set_arg(0, runs.in);
  first.set_arg(1, runs.out);
  first.set_arg(2, 2);
  first.set_arg(3, 0);
  first.set_arg(4, 1);
  first.set_arg(5, elements);
  first.start();
  while (!ended) {
    std::this_thread::yield();
  }
  finish(runs, {runs.add(runs.out, elements)});
}
/// The reader waits for the writer by a volatile flag in the card's memory.
void by_a_flag(Runs& runs) {
  xrt::kernel write(runs.card.device, runs.card.uuid, "write_flagged");
  xrt::kernel read(runs.card.device, runs.card.uuid, "read_flagged");
  xrt::bo data = runs.buffer();
  xrt::bo flag = runs.buffer();
  runs.clear(flag);
  xrt::run writer = write(data, flag, elements);
  xrt::run reader = read(data, flag, runs.out, elements);
  finish(runs, {writer, reader});
}
/// The reader waits for the writer by a word of a stream.
void by_a_stream(Runs& runs) {
  xrt::kernel write(runs.card.device, runs.card.uuid, "write_told");
  xrt::kernel read(runs.card.device, runs.card.uuid, "read_told");
  xrt::bo data = runs.buffer();
  xrt::run reader(read);
  reader.set_arg(0, data);
  reader.set_arg(2, runs.out);
  reader.set_arg(3, elements);
  xrt::run writer(write);
  writer.set_arg(0, data);
  writer.set_arg(2, elements);
  writer.start();
  reader.start();
  finish(runs, {writer, reader});
}

/// Two threads start one run.
void shared_run(Runs& runs) {
  xrt::run run = runs.scaled(runs.out, 2);
  run.wait();
  const auto loop = [&] {
    for (int round = 0; round < 20; ++round) {
      run.start();
      run.wait();
    }
  };
  std::thread one(loop);
  std::thread other(loop);
  one.join();
  other.join();
}
/// A buffer of another card, at the address of one that nobody has sent.
void other_card(Runs& runs) {
  const Card other(runs.xclbin, 1);
  std::vector<xrt::bo> there;
  for (int n = 0; n < 3; ++n) {
    there.emplace_back(other.device, bytes, runs.scale.group_id(0));
    runs.clear(there.back());
  }
  const xrt::bo unsent = runs.buffer();
  finish(runs, {runs.scale(there.back(), runs.out, 2, 0, 1, elements)});
}
/// The program ends while a run goes on.
void never_waits(Runs& runs) {
  runs.out.map<int*>();
  runs.scaled(runs.out, 2);
}
/// A run that is started again once its state says that it has ended.
void polled_run(Runs& runs) {
  xrt::run run = runs.scaled(runs.out, 2);
  while (run.state() != ERT_CMD_STATE_COMPLETED) {
    std::this_thread::yield();
  }
  run.start();
  finish(runs, {run});
}

const std::map<std::string, void (*)(Runs&)> known = {{"two_writers", two_writers},
                                                      {"reader_of_an_output", reader_of_an_output},
                                                      {"writer_of_an_input", writer_of_an_input},
                                                      {"late_wait", late_wait},
                                                      {"waits", waits},
                                                      {"two_halves", two_halves},
                                                      {"alternate_elements", alternate_elements},
                                                      {"alternate_in_place", alternate_in_place},
                                                      {"one_input", one_input},
                                                      {"same_values", same_values},
                                                      {"waits_in_a_thread", waits_in_a_thread},
                                                      {"by_callback", by_callback},
                                                      {"by_a_flag", by_a_flag},
                                                      {"by_a_stream", by_a_stream},
                                                      {"shared_run", shared_run},
                                                      {"other_card", other_card},
                                                      {"never_waits", never_waits},
                                                      {"polled_run", polled_run}};

void native(const Arguments& arguments) {
  Runs runs(arguments[0]);
  known.at(arguments[1])(runs);
}

/// Migrates an input in an out-of-order queue and starts a kernel without an event. By
/// `migrates_again` the buffer is on the card already, by `migrates_write_only` it is created
/// write-only; otherwise the runtime migrates the buffer itself before the kernel.
void migrated(const OpenCl& card, cl_kernel add, const std::string& way) {
  std::vector<int> values(elements, 21);
  const cl_mem_flags access = way == "migrates_write_only" ? CL_MEM_WRITE_ONLY : CL_MEM_READ_WRITE;
  cl_int status = CL_SUCCESS;
  const cl_mem buffer =
      clCreateBuffer(card.context, access | CL_MEM_COPY_HOST_PTR, bytes, values.data(), &status);
  check(status);
  check(clSetKernelArg(add, 0, sizeof(buffer), &buffer));
  check(clSetKernelArg(add, 1, sizeof(elements), &elements));
  for (int round = 0; round < (way == "migrates_again" ? 2 : 1); ++round) {
    check(clEnqueueMigrateMemObjects(card.queue, 1, &buffer, 0, 0, nullptr, nullptr));
    check(clEnqueueTask(card.queue, add, 0, nullptr, nullptr));
    check(clFinish(card.queue));
  }
  check(clEnqueueReadBuffer(card.queue, buffer, CL_TRUE, 0, bytes, values.data(), 0, nullptr,
                            nullptr));
}

/// Forks while a thread notes calls of OpenCL; each child makes such a call, too.
void forked(cl_event event) {
  std::atomic<bool> ends = false;
  const auto look = [event] {
    cl_int state = 0;
    check(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, nullptr));
  };
  std::thread other([&] {
    while (!ends) {
      look();
    }
  });
  cl_uint hung = 0;
  for (int round = 0; round < 100 && hung == 0; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      clEnqueueBarrierWithWaitList(nullptr, 0, nullptr, nullptr);
      _exit(0);
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
    int waits = 0;
    while (waitpid(child, nullptr, WNOHANG) == 0) {
      syscall(SYS_nanosleep, &pause, nullptr);  // real time, also with a virtual clock
      if (++waits == 20000) {
        kill(child, SIGKILL);
        hung = 1;
      }
    }
  }
  ends = true;
  other.join();
  tell("hung", hung);
}

/// Sends, runs and reads in an out-of-order queue. The way says what lacks an event: the kernel
/// (`early_kernel`), the read (`early_read`), or a second kernel (`two_kernels`). By `finishes` the
/// program finishes the queue instead, by `events` nothing lacks one. By `late_queue` the program
/// makes the queue last and the kernel lacks an event, as by `marker`, where a marker is before it.
/// By `many_kernels` the program makes further kernels before a read that lacks an event, by `both`
/// the kernel and the read lack one. By `forks` see `forked`.
void opencl(const Arguments& arguments) {
  const std::string& way = arguments[1];
  const cl_command_queue_properties unordered = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
  const OpenCl card(arguments[0], way == "late_queue" ? 0 : unordered);
  cl_command_queue queue = card.queue;
  cl_int status = CL_SUCCESS;
  const cl_kernel scale = clCreateKernel(card.program, "scale", &status);
  check(status);
  const cl_kernel add = clCreateKernel(card.program, "add", &status);
  check(status);
  if (way.rfind("migrates", 0) == 0) {
    migrated(card, add, way);
    return;
  }
  const bool lacks_both = way == "both";
  const cl_mem in = card.buffer(bytes);
  const cl_mem out = card.buffer(bytes);
  const auto set = [](cl_kernel kernel, cl_uint index, const auto& value) {
    check(clSetKernelArg(kernel, index, sizeof(value), &value));
  };
  set(scale, 0, in);
  set(scale, 1, out);
  set(scale, 2, 2);
  set(scale, 3, 0);
  set(scale, 4, 1);
  set(scale, 5, elements);
  set(add, 0, out);
  set(add, 1, elements);
  if (way == "late_queue") {
    cl_device_id device = nullptr;
    check(clGetContextInfo(card.context, CL_CONTEXT_DEVICES, sizeof(device), &device, nullptr));
    queue = clCreateCommandQueue(card.context, device, unordered, &status);
    check(status);
  }
  std::vector<int> values(elements);
  check(clEnqueueWriteBuffer(queue, out, CL_TRUE, 0, bytes, values.data(), 0, nullptr, nullptr));
  values.assign(elements, 21);
  cl_event event = nullptr;
  const auto after = [&](bool lacks) -> cl_uint {
    if (way == "finishes") {
      check(clFinish(queue));
      return 0;
    }
    return lacks ? 0 : 1;
  };
  cl_event next = nullptr;
  check(clEnqueueWriteBuffer(queue, in, CL_FALSE, 0, bytes, values.data(), 0, nullptr, &event));
  if (way == "marker") {
    check(clEnqueueMarkerWithWaitList(queue, 0, nullptr, nullptr));
  }
  if (way == "forks") {
    forked(event);
  }
  cl_uint count =
      after(way == "early_kernel" || way == "late_queue" || way == "marker" || lacks_both);
  check(clEnqueueTask(queue, scale, count, count > 0 ? &event : nullptr, &next));
  event = next;
  count = after(way == "two_kernels");
  check(clEnqueueTask(queue, add, count, count > 0 ? &event : nullptr, &next));
  event = next;
  for (int made = 0; way == "many_kernels" && made < 300; ++made) {
    clCreateKernel(card.program, "scale", &status);
    check(status);
  }
  count = after(way == "early_read" || way == "many_kernels" || lacks_both);
  check(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, bytes, values.data(), count,
                            count > 0 ? &event : nullptr, nullptr));
  check(clFinish(queue));
  tell("out", values[0]);
}

}  // namespace

int main(int count, char** given) {
  return act(count, given, {{"native", native}, {"opencl", opencl}});
}
