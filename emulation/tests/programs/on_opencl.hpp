// What the programs share that use an emulated card by AMD's OpenCL.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

inline void check(cl_int status) {
  if (status != CL_SUCCESS) {
    std::fprintf(stderr, "OpenCL says %d\n", status);
    std::exit(1);
  }
}

/// AMD's platform, wherever the loader lists it.
inline cl_platform_id xilinx() {
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

/// The first card with a program and a queue.
struct OpenCl {
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_program program = nullptr;

  explicit OpenCl(const std::string& xclbin, cl_command_queue_properties properties) {
    std::ifstream file(xclbin);
    const std::vector<char> bits{std::istreambuf_iterator<char>(file), {}};
    const std::size_t length = bits.size();
    const auto* data = reinterpret_cast<const unsigned char*>(bits.data());
    cl_device_id device = nullptr;
    check(clGetDeviceIDs(xilinx(), CL_DEVICE_TYPE_ACCELERATOR, 1, &device, nullptr));
    cl_int status = CL_SUCCESS;
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
    check(status);
    queue = clCreateCommandQueue(context, device, properties, &status);
    check(status);
    program = clCreateProgramWithBinary(context, 1, &device, &length, &data, nullptr, &status);
    check(status);
  }

  /// In the first bank of the card.
  [[nodiscard]] cl_mem buffer(std::size_t bytes) const {
    struct {
      unsigned flags = 0;
      void* host = nullptr;
      void* parameter = nullptr;
    } bank = {1U << 31U, nullptr, nullptr};  // XCL_MEM_TOPOLOGY, memory 0
    cl_int status = CL_SUCCESS;
    constexpr cl_mem_flags extended = cl_mem_flags{1} << 31U;  // CL_MEM_EXT_PTR_XILINX
    const cl_mem found =
        clCreateBuffer(context, CL_MEM_READ_WRITE | extended, bytes, &bank, &status);
    check(status);
    return found;
  }
};
