// What a program learns of the cards, by XRT's native API, by an xclbin and by OpenCL. Prints one
// JSON object.
#include <experimental/xrt_system.h>
#include <experimental/xrt_xclbin.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "on_opencl.hpp"

namespace {

std::string thermal(const xrt::device& card) {
  const std::string all = card.get_info<xrt::info::device::thermal>();
  const std::size_t begin = all.find("error_msg\": \"") + 13;
  return all.substr(begin, all.find('"', begin) - begin);
}

std::string error_of(const xrt::device& card) {
  try {
    static_cast<void>(card.get_info<xrt::info::device::offline>());
    return "none";
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string error_of_opening(unsigned index) {
  try {
    const xrt::device card(index);
    return "none";
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string text_of(cl_device_id card, cl_device_info what) {
  std::array<char, 128> text{};
  check(clGetDeviceInfo(card, what, text.size(), text.data(), nullptr));
  return text.data();
}

}  // namespace

int main(int count, char** arguments) {
  const unsigned cards = xrt::system::enumerate_devices();
  std::printf("{\"native\": [");
  std::vector<xrt::device> open;  // XRT 2.13 may tell the name of a card that was closed before
  for (unsigned index = 0; index < cards; ++index) {
    const xrt::device& card = open.emplace_back(index);
    const std::string bdf = card.get_info<xrt::info::device::bdf>();
    const xrt::device again(bdf);
    std::printf(
        R"(%s{"name": "%s", "bdf": "%s", "by_bdf": "%s", "thermal": "%s", "offline": "%s"})",
        index == 0 ? "" : ", ", card.get_info<xrt::info::device::name>().c_str(), bdf.c_str(),
        again.get_info<xrt::info::device::name>().c_str(), thermal(card).c_str(),
        error_of(card).c_str());
  }
  const xrt::xclbin file{std::string(count == 2 ? arguments[1] : "")};
  std::printf("], \"absent\": \"%s\", \"platform\": \"%s\", \"memories\": {",
              error_of_opening(cards).c_str(), file.get_xsa_name().c_str());
  const char* between = "";
  for (const xrt::xclbin::mem& memory : file.get_mems()) {
    std::printf("%s\"%s\": %llu", between, memory.get_tag().c_str(),
                static_cast<unsigned long long>(memory.get_size_kb()) << 10U);
    between = ", ";
  }
  std::printf("}, \"opencl\": [");
  std::array<cl_device_id, 8> found{};
  cl_uint devices = 0;
  check(clGetDeviceIDs(xilinx(), CL_DEVICE_TYPE_ALL, found.size(), found.data(), &devices));
  for (cl_uint index = 0; index < devices; ++index) {
    cl_ulong bytes = 0;
    check(clGetDeviceInfo(found[index], CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(bytes), &bytes, nullptr));
    std::printf(R"(%s{"name": "%s", "bdf": "%s", "bytes": %llu})", index == 0 ? "" : ", ",
                text_of(found[index], CL_DEVICE_NAME).c_str(),
                text_of(found[index], 0x1120).c_str(),  // CL_DEVICE_PCIE_BDF
                static_cast<unsigned long long>(bytes));
  }
  std::puts("]}");
  return 0;
}
