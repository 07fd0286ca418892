// Host programs with one mistake each, by the native API and by OpenCL.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_kernel.h>

#include <csignal>

#include "on_card.hpp"
#include "on_opencl.hpp"

namespace {

constexpr int elements = 1024;
constexpr std::size_t bytes = elements * sizeof(int);

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
  } else {
    run.set_arg(2, elements);
  }
  if (!makes("unset_scalar")) {
    run.set_arg(3, 2);
  }
  run.start();
  if (makes("started_twice")) {
    run.start();
  }
  run.wait();
  if (!makes("no_sync_from")) {
    out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  }
  if (makes("crash")) {
    std::raise(SIGSEGV);
  }
  tell("out", out.map<int*>()[elements - 1]);
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
  return act(count, given, {{"native", native}, {"opencl", opencl}});
}
