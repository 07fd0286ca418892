// What transfers and kernels take on an emulated card, alone and beside each other. Prints one JSON
// object.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "on_card.hpp"

namespace {

constexpr std::size_t MiB = std::size_t{1} << 20U;

/// A kernel of so many buffers of so many MiB, each in its bank: seconds from its start to its end,
/// and whether the second half of the buffers has what the first half had.
void ports(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, arguments[1]);
  const int count = std::stoi(arguments[2]);
  const std::size_t bytes = std::stoul(arguments[3]) * MiB;
  std::vector<xrt::bo> buffers;
  xrt::run run(kernel);
  for (int i = 0; i < count; ++i) {
    xrt::bo& buffer = buffers.emplace_back(card.device, bytes, kernel.group_id(i));
    int* const data = buffer.map<int*>();
    std::iota(data, data + bytes / sizeof(int), i < count / 2 ? i : -1);
    buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    run.set_arg(i, buffer);
  }
  run.set_arg(count, static_cast<std::int64_t>(bytes));
  run.set_arg(count + 1, std::int64_t{1});
  tell("seconds", lasted([&] {
         run.start();
         run.wait();
       }));
  int wrong = 0;
  for (int i = count / 2; i < count; ++i) {
    buffers[i].sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    wrong += std::memcmp(buffers[i].map<char*>(), buffers[i - count / 2].map<char*>(), bytes) != 0;
  }
  tell("wrong", wrong);
}

/// Threads that each do so many transfers, one after another: pairs of arguments after the xclbin,
/// "h2d" or "d2h" with bytes, then how many each. Seconds until all are done, and of each thread.
void transfers(const Arguments& arguments) {
  Card card(arguments[0]);
  struct Work {
    xclBOSyncDirection direction;
    xrt::bo buffer;
    int count = 0;
    double took = 0;
  };
  std::vector<Work> works;
  for (std::size_t i = 1; i + 2 < arguments.size(); i += 3) {
    works.push_back({arguments[i] == "h2d" ? XCL_BO_SYNC_BO_TO_DEVICE : XCL_BO_SYNC_BO_FROM_DEVICE,
                     xrt::bo(card.device, std::stoul(arguments[i + 1]), 0),
                     std::stoi(arguments[i + 2])});
    works.back().buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }
  const auto work = [](Work& own) {
    own.took = lasted([&own] {
      for (int i = 0; i < own.count; ++i) {
        own.buffer.sync(own.direction);
      }
    });
  };
  tell("seconds", lasted([&] {
         std::vector<std::thread> threads;
         for (Work& own : works) {
           threads.emplace_back(work, std::ref(own));
         }
         for (std::thread& thread : threads) {
           thread.join();
         }
       }));
  for (const Work& own : works) {
    tell("thread_" + std::to_string(told.size()), own.took);
  }
}

/// Seconds that a buffer of so many bytes takes to be made.
void allocating(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::bo buffer;
  tell("seconds", lasted([&] { buffer = xrt::bo(card.device, std::stoul(arguments[1]), 0); }));
}

}  // namespace

int main(int count, char** given) {
  return act(count, given,
             {{"ports", ports}, {"transfers", transfers}, {"allocating", allocating}});
}
