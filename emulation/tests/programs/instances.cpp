// What each kernel instance that is named writes to the first word of its buffer.
#include <array>
#include <cstdio>

#include "xrt/xrt_bo.h"
#include "xrt/xrt_device.h"
#include "xrt/xrt_kernel.h"

int main(int count, char** arguments) {
  xrt::device device(0);
  const xrt::uuid uuid = device.load_xclbin(arguments[1]);
  for (int index = 2; index < count; ++index) {
    xrt::kernel kernel(device, uuid, arguments[index]);
    xrt::bo buffer(device, 64, kernel.group_id(0));
    kernel(buffer).wait();
    buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    std::printf("%d ", buffer.map<int*>()[0]);
  }
  return 0;
}
