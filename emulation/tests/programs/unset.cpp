// Kernels some of whose buffers are never given, by the native API and by OpenCL.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_kernel.h>

#include "on_card.hpp"
#include "on_opencl.hpp"

namespace {

constexpr int elements = 64;
constexpr std::size_t bytes = elements * sizeof(int);

/// Which buffers are given, one letter each: y or n. The kernel touches those that `touched` names.
struct Asked {
  std::string given;
  int touched;

  explicit Asked(const Arguments& arguments)
      : given(arguments[1]), touched(std::stoi(arguments[2])) {}
  [[nodiscard]] bool gives(std::size_t n) const { return given[n] == 'y'; }
};

void native(const Arguments& arguments) {
  const Asked asked(arguments);
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, arguments[3]);
  std::vector<xrt::bo> buffers;
  for (int n = 0; n < 3; ++n) {
    buffers.emplace_back(card.device, bytes, kernel.group_id(n));
    std::fill_n(buffers.back().map<int*>(), elements, n + 1);
    buffers.back().sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }
  xrt::run run(kernel);
  for (int n = 0; n < 3; ++n) {
    if (asked.gives(n)) {
      run.set_arg(n, buffers[n]);
    }
  }
  run.set_arg(3, elements);
  if (arguments[3] == "pick") {
    run.set_arg(4, asked.touched);
  }
  run.start();
  run.wait();
  buffers[2].sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  tell("out", buffers[2].map<int*>()[elements - 1]);
}

void opencl(const Arguments& arguments) {
  const Asked asked(arguments);
  const OpenCl card(arguments[0], 0);
  cl_int status = CL_SUCCESS;
  cl_kernel kernel = clCreateKernel(card.program, arguments[3].c_str(), &status);
  check(status);
  std::vector<cl_mem> buffers;
  for (cl_uint n = 0; n < 3; ++n) {
    const std::vector<int> values(elements, static_cast<int>(n) + 1);
    const cl_mem buffer = buffers.emplace_back(card.buffer(bytes));
    check(clEnqueueWriteBuffer(card.queue, buffer, CL_TRUE, 0, bytes, values.data(), 0, nullptr,
                               nullptr));
    if (asked.gives(n)) {
      check(clSetKernelArg(kernel, n, sizeof(buffer), &buffer));
    }
  }
  const int count = elements;
  check(clSetKernelArg(kernel, 3, sizeof(count), &count));
  if (arguments[3] == "pick") {
    check(clSetKernelArg(kernel, 4, sizeof(asked.touched), &asked.touched));
  }
  const cl_int said = clEnqueueTask(card.queue, kernel, 0, nullptr, nullptr);
  tell("enqueued", said);
  check(clFinish(card.queue));
  if (said == CL_SUCCESS) {
    std::vector<int> values(elements);
    check(clEnqueueReadBuffer(card.queue, buffers[2], CL_TRUE, 0, bytes, values.data(), 0, nullptr,
                              nullptr));
    tell("out", values.back());
  }
}

}  // namespace

int main(int count, char** given) {
  return act(count, given, {{"native", native}, {"opencl", opencl}});
}
