// What OpenCL's events say of time on an emulated card. Prints one JSON object.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t bytes = 1 << 20;

void check(cl_int status) {
  if (status != CL_SUCCESS) {
    std::fprintf(stderr, "OpenCL says %d\n", status);
    std::exit(1);
  }
}

/// From the start to the end of a command, in seconds.
double lasted(cl_event event) {
  cl_ulong start = 0;
  cl_ulong end = 0;
  check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start, nullptr));
  check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, nullptr));
  return static_cast<double>(end - start) * 1e-9;
}

/// AMD's platform, wherever the loader lists it.
cl_platform_id xilinx() {
  std::array<cl_platform_id, 16> platforms{};
  cl_uint count = 0;
  check(clGetPlatformIDs(platforms.size(), platforms.data(), &count));
  for (cl_uint index = 0; index < count && index < platforms.size(); ++index) {
    std::array<char, 64> name{};
    clGetPlatformInfo(platforms[index], CL_PLATFORM_NAME, name.size(), name.data(), nullptr);
    if (std::string_view(name.data()) == "Xilinx") {
      return platforms[index];
    }
  }
  std::fputs("no platform of AMD's\n", stderr);
  std::exit(1);
}

}  // namespace

int main(int count, char** arguments) {
  std::ifstream file(count == 2 ? arguments[1] : "");
  const std::vector<char> xclbin{std::istreambuf_iterator<char>(file), {}};
  cl_platform_id platform = xilinx();
  cl_device_id device = nullptr;
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ACCELERATOR, 1, &device, nullptr));
  cl_int status = CL_SUCCESS;
  const cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
  check(status);
  const cl_command_queue queue =
      clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &status);
  check(status);
  const std::size_t length = xclbin.size();
  const auto* data = reinterpret_cast<const unsigned char*>(xclbin.data());
  const cl_program program =
      clCreateProgramWithBinary(context, 1, &device, &length, &data, nullptr, &status);
  check(status);
  const cl_kernel kernel = clCreateKernel(program, "read_bandwidth", &status);
  check(status);
  const cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &status);
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
