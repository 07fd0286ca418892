// opencl_loop read|write BYTES OFFSET SECONDS: median seconds of a transfer and its completion.
//
// Enqueue (not blocking) and clFinish on page-aligned host memory plus OFFSET, an ordinary buffer,
// the first device of the first platform: what Isthmus times, without Isthmus.
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "median.hpp"

static void check(cl_int code) {
  if (code != CL_SUCCESS) {
    std::fprintf(stderr, "OpenCL error %d\n", code);
    std::exit(1);
  }
}

int main(int, char** arguments) {
  const bool write = std::strcmp(arguments[1], "write") == 0;
  const std::size_t bytes = std::strtoull(arguments[2], nullptr, 10);
  const std::size_t offset = std::strtoull(arguments[3], nullptr, 10);
  const double seconds = std::atof(arguments[4]);

  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_int code = CL_SUCCESS;
  check(clGetPlatformIDs(1, &platform, nullptr));
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr));
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
  check(code);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  check(code);
  cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &code);
  check(code);
  void* block = nullptr;
  if (posix_memalign(&block, 4096, bytes + offset) != 0) {
    return 1;
  }
  char* host = static_cast<char*>(block) + offset;
  std::memset(host, 1, bytes);

  const auto transfer = [&] {
    if (write) {
      check(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, bytes, host, 0, nullptr, nullptr));
    } else {
      check(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, bytes, host, 0, nullptr, nullptr));
    }
    check(clFinish(queue));
  };
  check(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, bytes, host, 0, nullptr, nullptr));
  transfer();
  std::printf("%.9e\n", median_over(seconds, [&] { return timed(transfer); }));
}
