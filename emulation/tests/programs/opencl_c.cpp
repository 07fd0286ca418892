// Kernels in OpenCL C, started by the native API, which knows no work-items, and by OpenCL.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <numeric>

#include "on_card.hpp"
#include "on_opencl.hpp"

namespace {

constexpr int elements = 256;

void words(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, "words");
  xrt::bo wrong(card.device, 4096, kernel.group_id(0));
  int* const lines = wrong.map<int*>();
  std::fill_n(lines, 1024, 0);
  wrong.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  kernel(wrong).wait();
  wrong.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  tell("wrong", lines[0]);
  tell("line", lines[1]);
  tell("ends", lines[1023]);
}

/// How many of the first numbers are those of groups of 64 that were turned round and got 5 more.
int turned(const int* out) {
  int right = 0;
  while (right < elements && out[right] == right / 64 * 64 + 63 - right % 64 + 5) {
    ++right;
  }
  return right;
}

void native(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, "turned");
  xrt::bo in(card.device, elements * sizeof(int), kernel.group_id(0));
  xrt::bo out(card.device, elements * sizeof(int), kernel.group_id(1));
  std::iota(in.map<int*>(), in.map<int*>() + elements, 0);
  std::fill_n(out.map<int*>(), elements, -1);
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  kernel(in, out, 5).wait();
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  tell("turned", turned(out.map<int*>()));
}

void astray(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, "astray");
  xrt::bo out(card.device, 4096, kernel.group_id(0));
  kernel(out).wait();
}

void wide(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, "wide");
  xrt::bo in(card.device, 4096, kernel.group_id(0));
  xrt::bo out(card.device, 4096, kernel.group_id(1));
  std::iota(in.map<int*>(), in.map<int*>() + 1024, 0);
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  kernel(in, out, 64).wait();
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  tell("sum", std::accumulate(out.map<int*>(), out.map<int*>() + 1024, 0.0));
}

/// A kernel with the numbers from 0 on in its first buffer.
struct Started {
  const OpenCl& card;
  cl_kernel kernel = nullptr;
  std::vector<cl_mem> buffers;

  Started(const OpenCl& opened, const char* name, unsigned count) : card(opened) {
    cl_int status = CL_SUCCESS;
    kernel = clCreateKernel(card.program, name, &status);
    check(status);
    std::vector<int> numbers(elements);
    std::iota(numbers.begin(), numbers.end(), 0);
    for (cl_uint n = 0; n < count; ++n) {
      buffers.push_back(card.buffer(elements * sizeof(int)));
      check(clSetKernelArg(kernel, n, sizeof(cl_mem), &buffers[n]));
      check(clEnqueueWriteBuffer(card.queue, buffers[n], CL_TRUE, 0, elements * sizeof(int),
                                 numbers.data(), 0, nullptr, nullptr));
    }
  }
  [[nodiscard]] std::vector<int> result() const {
    std::vector<int> numbers(elements);
    check(clEnqueueReadBuffer(card.queue, buffers.back(), CL_TRUE, 0, elements * sizeof(int),
                              numbers.data(), 0, nullptr, nullptr));
    return numbers;
  }
};

void values(const OpenCl& card) {
  const Started starts(card, "values", 0);
  const std::array<cl_char, 4> small{1, 2, 3, 4};
  const std::array<cl_long, 8> large{0, 1, 2, 3, 4, 5, 6, 1L << 40};
  const std::array<cl_float, 2> two{1, 100};
  const cl_mem out = card.buffer(elements * sizeof(int));
  check(clSetKernelArg(starts.kernel, 0, sizeof(small), &small));
  check(clSetKernelArg(starts.kernel, 1, sizeof(large), &large));
  check(clSetKernelArg(starts.kernel, 2, sizeof(out), &out));
  check(clSetKernelArg(starts.kernel, 3, sizeof(two), &two));
  check(clEnqueueTask(card.queue, starts.kernel, 0, nullptr, nullptr));
  std::array<cl_long, 9> found{};
  check(clEnqueueReadBuffer(card.queue, out, CL_TRUE, 0, sizeof(found), found.data(), 0, nullptr,
                            nullptr));
  const std::array<cl_long, 9> expected{3, 4, 5, 6, 7, 8, 9, (1L << 40) + 3, 101};
  tell("values", found == expected ? 1 : 0);
}

void groups(const Arguments& arguments) {
  const OpenCl card(arguments[0], 0);
  const Started turns(card, "turned", 2);
  const cl_int by = 5;
  check(clSetKernelArg(turns.kernel, 2, sizeof(by), &by));
  tell("task", clEnqueueTask(card.queue, turns.kernel, 0, nullptr, nullptr));
  const std::array<std::size_t, 1> all{elements};
  const std::array<std::size_t, 1> of_group{64};
  check(clEnqueueNDRangeKernel(card.queue, turns.kernel, 1, nullptr, all.data(), of_group.data(), 0,
                               nullptr, nullptr));
  tell("turned", turned(turns.result().data()));

  const Started doubles(card, "doubled", 2);
  const std::array<std::size_t, 1> sixteen{16};
  check(clEnqueueNDRangeKernel(card.queue, doubles.kernel, 1, nullptr, all.data(), sixteen.data(),
                               0, nullptr, nullptr));
  int doubled = 0;
  const std::vector<int> twice = doubles.result();
  for (int n = 0; n < elements; ++n) {
    doubled += twice[n] == 2 * n ? 1 : 0;
  }
  tell("doubled", doubled);

  const Started plane(card, "plane", 1);
  const std::array<std::size_t, 1> eight{8};
  check(clEnqueueNDRangeKernel(card.queue, plane.kernel, 1, nullptr, eight.data(), eight.data(), 0,
                               nullptr, nullptr));
  const std::vector<int> planes = plane.result();
  tell("planes", static_cast<double>(std::count(planes.begin(), planes.begin() + 32, 4)));

  const Started asks(card, "who", 1);
  const std::array<std::size_t, 2> offset{2, 3};
  const std::array<std::size_t, 2> size{8, 4};
  const std::array<std::size_t, 2> local{4, 4};  // one row of groups: XRT 2.13 ends others early
  check(clEnqueueNDRangeKernel(card.queue, asks.kernel, 2, offset.data(), size.data(), local.data(),
                               0, nullptr, nullptr));
  int known = 0;
  const std::vector<int> who = asks.result();
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 8; ++x) {
      const std::array<int, 8> expected{x + 2, y + 3, x / 4, y, 2, 4, 3, 2};
      known += std::equal(expected.begin(), expected.end(), &who[8 * (8 * y + x)]) ? 1 : 0;
    }
  }
  tell("known", known);
  values(card);
}

}  // namespace

int main(int count, char** given) {
  return act(count, given,
             {{"words", words},
              {"native", native},
              {"astray", astray},
              {"wide", wide},
              {"groups", groups}});
}
