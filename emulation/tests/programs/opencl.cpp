// What OpenCL's events say of time on an emulated card. Prints one JSON object.
#include <chrono>
#include <cstdio>
#include <vector>

#include "on_opencl.hpp"

namespace {

constexpr std::size_t bytes = 1 << 20;

/// From the start to the end of a command, in seconds.
double lasted(cl_event event) {
  cl_ulong start = 0;
  cl_ulong end = 0;
  check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start, nullptr));
  check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, nullptr));
  return static_cast<double>(end - start) * 1e-9;
}

}  // namespace

int main(int count, char** arguments) {
  const OpenCl card(count == 2 ? arguments[1] : "", CL_QUEUE_PROFILING_ENABLE);
  const cl_command_queue queue = card.queue;
  cl_int status = CL_SUCCESS;
  const cl_kernel kernel = clCreateKernel(card.program, "read_bandwidth", &status);
  check(status);
  const cl_mem buffer = clCreateBuffer(card.context, CL_MEM_READ_WRITE, bytes, nullptr, &status);
  check(status);
  const cl_long size = bytes;
  const cl_long sweeps = 4096;
  check(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
  check(clSetKernelArg(kernel, 1, sizeof(size), &size));
  check(clSetKernelArg(kernel, 2, sizeof(sweeps), &sweeps));
  std::vector<char> host(bytes, 'x');
  cl_event moved = nullptr;
  cl_event run = nullptr;
  check(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, bytes, host.data(), 0, nullptr, nullptr));
  check(clEnqueueMigrateMemObjects(queue, 1, &buffer, 0, 0, nullptr, &moved));
  check(clFinish(queue));
  const auto began = std::chrono::steady_clock::now();
  check(clEnqueueTask(queue, kernel, 0, nullptr, &run));
  check(clFinish(queue));
  const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - began;
  std::printf("{\"host\": %.9f, \"kernel\": %.9f, \"move\": %.9f}\n", whole.count(), lasted(run),
              lasted(moved));
  return 0;
}
