// Values that do not fill their registers, given to a kernel by OpenCL. Prints one JSON object.
#include <cstdio>

#include "on_opencl.hpp"

int main(int count, char** arguments) {
  const OpenCl card(count == 2 ? arguments[1] : "", 0);
  cl_int status = CL_SUCCESS;
  const cl_kernel kernel = clCreateKernel(card.program, "small", &status);
  check(status);
  int found[4] = {-1, -1, -1, -1};
  const cl_mem out =
      clCreateBuffer(card.context, CL_MEM_READ_WRITE, sizeof(found), nullptr, &status);
  check(status);
  const bool yes = true;
  const signed char letter = -7;
  const short number = -300;
  const short three[3] = {1, 2, 3};
  check(clSetKernelArg(kernel, 0, sizeof(out), &out));
  check(clSetKernelArg(kernel, 1, sizeof(yes), &yes));
  check(clSetKernelArg(kernel, 2, sizeof(letter), &letter));
  check(clSetKernelArg(kernel, 3, sizeof(number), &number));
  check(clSetKernelArg(kernel, 4, sizeof(three), three));
  check(clEnqueueTask(card.queue, kernel, 0, nullptr, nullptr));
  check(
      clEnqueueReadBuffer(card.queue, out, CL_TRUE, 0, sizeof(found), found, 0, nullptr, nullptr));
  check(clFinish(card.queue));
  std::printf("{\"yes\": %d, \"letter\": %d, \"number\": %d, \"third\": %d}\n", found[0], found[1],
              found[2], found[3]);
  return 0;
}
