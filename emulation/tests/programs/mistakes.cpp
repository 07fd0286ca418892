// Host programs with one mistake each, by the native API and by OpenCL.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_kernel.h>

#include <csignal>
#include <future>
#include <thread>

#include "on_card.hpp"
#include "on_opencl.hpp"

namespace {

constexpr int elements = 1024;
constexpr std::size_t bytes = elements * sizeof(int);

/// Waits for the end of a run that was started, in the way that `how` names; unknown: by wait.
void await(xrt::run& run, const std::string& how) {
  if (how == "by_state") {
    while (run.state() != ERT_CMD_STATE_COMPLETED) {
      std::this_thread::yield();
    }
  } else if (how == "by_time") {
    while (run.wait(std::chrono::milliseconds(1)) != ERT_CMD_STATE_COMPLETED) {
    }
  } else if (how == "by_packet") {
    const volatile ert_packet* packet = run.get_ert_packet();
    while (packet->state != ERT_CMD_STATE_COMPLETED) {
      std::this_thread::yield();
    }
  } else {
    run.wait();
  }
}

/// Starts a run, and does not wait for it if `how` is `no_wait`.
void start_and_await(xrt::run& run, const std::string& how) {
  if (how == "by_callback") {
    std::promise<void> ended;
    run.add_callback(
        ERT_CMD_STATE_COMPLETED,
        [](const void*, ert_cmd_state, void* told) {
          static_cast<std::promise<void>*>(told)->set_value();
        },
        &ended);
    run.start();
    ended.get_future().wait();
    return;
  }
  if (how != "never_started") {
    run.start();
  }
  if (how == "started_twice") {
    run.start();
  }
  if (how == "by_thread") {
    std::thread([&run] { run.wait(); }).join();
  } else if (how != "no_wait" && how != "by_next_run") {
    await(run, how);
  }
}

void native(const Arguments& arguments) {
  const std::string& mistake = arguments[1];
  const auto makes = [&](const char* name) { return mistake == name; };
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, "scale");
  xrt::bo in(card.device, bytes, kernel.group_id(0));
  xrt::bo out(card.device, bytes, kernel.group_id(1));
  std::fill_n(in.map<int*>(), elements, 21);
  if (!makes("no_sync_to")) {
    in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }
  xrt::run run(kernel);
  if (makes("swapped")) {
    run.set_arg(0, out);
    run.set_arg(1, in);
  } else if (makes("scalar_for_buffer")) {
    run.set_arg(0, 7);
    run.set_arg(1, out);
  } else {
    if (!makes("unset_pointer")) {
      run.set_arg(0, in);
    }
    run.set_arg(1, out);
  }
  if (makes("buffer_for_scalar")) {
    run.set_arg(2, in);
  } else if (makes("wide_values")) {
    run.set_arg(2, std::size_t{elements});
  } else {
    run.set_arg(2, elements);
  }
  if (makes("wide_values")) {
    run.set_arg(3, std::int64_t{2});
  } else if (makes("lost_bytes")) {
    run.set_arg(3, (std::int64_t{1} << 40) + 2);
  } else if (!makes("unset_scalar")) {
    run.set_arg(3, 2);
  }
  if (makes("double_for_float")) {
    run.set_arg(4, 0.5);
  } else {
    run.set_arg(4, 0.0F);
  }
  start_and_await(run, mistake);
  if (makes("by_next_run")) {  // of the same unit, which does one after the other
    const xrt::bo nobody_reads(card.device, bytes, kernel.group_id(1));
    kernel(in, nobody_reads, elements, 2, 0.0F).wait();
  }
  if (!makes("no_sync_from")) {
    out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  }
  if (makes("crash")) {
    std::raise(SIGSEGV);
  }
  tell("out", out.map<int*>()[elements - 1]);
}

/// Asks for the memory of an argument that the kernel may lack: XRT throws, which ends the program.
void group(const Arguments& arguments) noexcept {
  const Card card(arguments[0]);
  const xrt::kernel kernel(card.device, card.uuid, "scale");
  tell("group", kernel.group_id(std::stoi(arguments[1])));
}

void opencl(const Arguments& arguments) {
  const std::string& mistake = arguments[1];
  const auto makes = [&](const char* name) { return mistake == name; };
  const OpenCl card(arguments[0], 0);
  cl_int status = CL_SUCCESS;
  cl_kernel kernel = clCreateKernel(card.program, "scale", &status);
  check(status);
  const cl_mem in = clCreateBuffer(card.context, CL_MEM_READ_ONLY, bytes, nullptr, &status);
  check(status);
  const cl_mem out = clCreateBuffer(card.context, CL_MEM_WRITE_ONLY, bytes, nullptr, &status);
  check(status);
  std::vector<int> values(elements, 21);
  if (!makes("no_sync_to")) {
    check(clEnqueueWriteBuffer(card.queue, in, CL_TRUE, 0, bytes, values.data(), 0, nullptr,
                               nullptr));
  }
  const bool swaps = makes("swapped");
  const int count = elements;
  const int by = 2;
  const auto set = [&](cl_uint index, std::size_t size, const void* value) {
    tell(("set" + std::to_string(index)).c_str(), clSetKernelArg(kernel, index, size, value));
  };
  if (makes("scalar_for_buffer")) {
    set(0, sizeof(count), &count);
  } else if (!makes("unset_pointer")) {
    set(0, sizeof(in), swaps ? &out : &in);
  }
  set(1, sizeof(out), swaps ? &in : &out);
  if (makes("buffer_for_scalar")) {
    set(2, sizeof(in), &in);
  } else {
    set(2, sizeof(count), &count);
  }
  if (!makes("unset_scalar")) {
    set(3, sizeof(by), &by);
  }
  const float plus = 0;
  set(4, sizeof(plus), &plus);
  tell("enqueued", clEnqueueTask(card.queue, kernel, 0, nullptr, nullptr));
  check(clFinish(card.queue));
  if (!makes("no_sync_from")) {
    check(clEnqueueReadBuffer(card.queue, out, CL_TRUE, 0, bytes, values.data(), 0, nullptr,
                              nullptr));
  }
  if (makes("crash")) {
    std::raise(SIGSEGV);
  }
  tell("out", values.back());
}

}  // namespace

int main(int count, char** given) {
  return act(count, given, {{"native", native}, {"opencl", opencl}, {"group", group}});
}
