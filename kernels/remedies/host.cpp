// Runs a kernel several times, to time what a change of its source gains:
// host FILE.xclbin KERNEL ITEMS ARGUMENT ... ; an argument is in=BYTES, out=BYTES or a number.
// Prints a sum over the outputs, so that two sources can be compared.
#include <isthmus/region.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

namespace {

// Small whole numbers in float, so that sums are exact in any order, or numbers that spread.
void fill(xrt::bo& buffer, bool is_float) {
  if (is_float) {
    auto* words = buffer.map<float*>();
    for (std::size_t i = 0; i < buffer.size() / sizeof(float); ++i) {
      words[i] = static_cast<float>(i % 17);
    }
    return;
  }
  auto* words = buffer.map<std::uint32_t*>();
  for (std::size_t i = 0; i < buffer.size() / sizeof(std::uint32_t); ++i) {
    words[i] = static_cast<std::uint32_t>(i) * 2654435761U;
  }
}

void timed(const std::string& file, const std::string& name, int items,
           const std::vector<std::string>& arguments) {
  xrt::device device(0);
  const xrt::kernel kernel(device, device.load_xclbin(file), name);
  xrt::run run(kernel);
  std::vector<xrt::bo> in;
  std::vector<xrt::bo> out;
  for (int n = 0; n < static_cast<int>(arguments.size()); ++n) {
    const std::string& given = arguments[n];
    const std::size_t at = given.find('=');
    if (at == std::string::npos) {
      run.set_arg(n, std::stoi(given));
      continue;
    }
    const bool is_in = given.compare(0, at, "in") == 0;
    xrt::bo buffer(device, std::stoul(given.substr(at + 1)), kernel.group_id(n));
    std::memset(buffer.map<void*>(), 0, buffer.size());
    if (is_in) {
      fill(buffer, name.compare(0, 3, "fir") == 0);
    }
    run.set_arg(n, buffer);
    (is_in ? in : out).push_back(buffer);
  }
  const auto item = [&] {
    for (xrt::bo& buffer : in) {
      buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    }
    for (xrt::bo& buffer : out) {  // histograms add to what is there
      buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    }
    run.start();
    run.wait();
    for (xrt::bo& buffer : out) {
      buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    }
  };
  item();  // not timed: the first use of kernel and buffers takes longer
  const auto begin = std::chrono::steady_clock::now();
  ISTHMUS_REGION("items");
  for (int n = 0; n < items; ++n) {
    item();
  }
  ISTHMUS_REGION("end");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::uint64_t sum = 0;
  for (xrt::bo& buffer : out) {
    const auto* bytes = buffer.map<const unsigned char*>();
    for (std::size_t i = 0; i < buffer.size(); ++i) {
      sum = sum * 31 + bytes[i];
    }
  }
  std::printf("{\"item_s\": %.9f, \"sum\": %llu}\n", took.count() / items,
              static_cast<unsigned long long>(sum));
}

}  // namespace

int main(int count, char** given) {
  if (count < 5) {
    std::fprintf(stderr, "usage: %s FILE.xclbin KERNEL ITEMS in=BYTES|out=BYTES|NUMBER ...\n",
                 given[0]);
    return 2;
  }
  try {
    timed(given[1], given[2], std::stoi(given[3]), {given + 4, given + count});
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failed: %s\n", error.what());
    return 1;
  }
}
