// Host programs whose buffers lie in various memories, or that read what nobody wrote.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <vector>

#include "on_card.hpp"
#include "on_opencl.hpp"

namespace {

constexpr int elements = 1024;
constexpr std::size_t bytes = elements * sizeof(int);

void native(const Arguments& arguments) {
  const auto is = [&](const char* way) { return arguments[1] == way; };
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, arguments.size() > 2 ? arguments[2] : "twice");
  const auto kind = is("host_only") ? xrt::bo::flags::host_only : xrt::bo::flags::normal;
  const auto group = [&](int argument) {
    return kernel.group_id(is("in_of_out") ? 1 : is("out_of_in") ? 0 : argument);
  };
  xrt::bo in(card.device, bytes, kind, group(0));
  xrt::bo out(card.device, bytes, kind, group(1));
  std::fill_n(in.map<int*>(), elements, 21);
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  const int count = is("none") ? 0 : is("half") ? elements / 2 : elements;
  if (is("read_first")) {
    out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  }
  if (!is("no_run")) {
    auto run = is("exchanged")    ? kernel(out, in, count)
               : is("in_for_out") ? kernel(in, in, count)
                                  : kernel(in, out, count);
    run.wait();
  }
  if (is("made_after")) {
    xrt::bo other(card.device, bytes, kernel.group_id(1));
    other.map<int*>();
    other.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  }
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  tell("out", out.map<int*>()[0]);
}

void opencl(const Arguments& arguments) {
  const std::size_t parts = std::stoul(arguments[1]);
  const OpenCl card(arguments[0], 0);
  cl_int status = CL_SUCCESS;
  cl_kernel kernel = clCreateKernel(card.program, "twice", &status);
  check(status);
  cl_mem in = clCreateBuffer(card.context, CL_MEM_READ_ONLY, bytes, nullptr, &status);
  check(status);
  cl_mem out = clCreateBuffer(card.context, CL_MEM_WRITE_ONLY, bytes, nullptr, &status);
  check(status);
  std::vector<int> values(elements, 21);
  check(
      clEnqueueWriteBuffer(card.queue, in, CL_TRUE, 0, bytes, values.data(), 0, nullptr, nullptr));
  check(clSetKernelArg(kernel, 0, sizeof in, &in));
  check(clSetKernelArg(kernel, 1, sizeof out, &out));
  check(clSetKernelArg(kernel, 2, sizeof elements, &elements));
  check(clEnqueueTask(card.queue, kernel, 0, nullptr, nullptr));
  for (std::size_t part = 0; part < parts; ++part) {
    check(clEnqueueReadBuffer(card.queue, out, CL_TRUE, part * bytes / 4, bytes / 4, values.data(),
                              0, nullptr, nullptr));
  }
  tell("out", values.front());
}

}  // namespace

int main(int count, char** given) {
  return act(count, given, {{"native", native}, {"opencl", opencl}});
}
