// Runs kernels with bursts, tasks, typedefs and arrays of two dimensions, each twice, for their
// state stays.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_kernel.h>

#include <numeric>

#include "on_card.hpp"

namespace {

struct By {
  short times, more;
};

/// The sum of what a kernel wrote.
double sum(xrt::bo& buffer, int elements) {
  buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const int* const values = buffer.map<int*>();
  return std::accumulate(values, values + elements, 0.0);
}

xrt::bo counted(Card& card, const xrt::kernel& kernel, int argument, int elements) {
  xrt::bo buffer(card.device, elements * sizeof(int), kernel.group_id(argument));
  std::iota(buffer.map<int*>(), buffer.map<int*>() + elements, 0);
  buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  return buffer;
}

void alone(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel features(card.device, card.uuid, "features", xrt::kernel::cu_access_mode::exclusive);
  xrt::bo in = counted(card, features, 0, 16);
  xrt::bo out = counted(card, features, 1, 16);
  for (const char* const run : {"first", "second"}) {
    auto started = features(in, out, By{2, 100}, 4);
    started.wait();
    tell(run, sum(out, 16));
    tell(std::string(run) + "_largest", features.read_register(0x38));
  }
}

void streams(const Arguments& arguments) {
  constexpr int words = 100;
  Card card(arguments[0]);
  xrt::kernel source(card.device, card.uuid, "source");
  xrt::kernel sink(card.device, card.uuid, "sink");
  xrt::bo in = counted(card, source, 0, words);
  xrt::bo out = counted(card, sink, 1, words);
  for (const char* const run : {"first", "second"}) {
    auto sunk = xrt::run(sink);
    sunk.set_arg(1, out);
    sunk.set_arg(2, words);
    sunk.start();
    auto sent = xrt::run(source);
    sent.set_arg(0, in);
    sent.set_arg(2, words);
    sent.start();
    sent.wait();
    sunk.wait();
    tell(run, sum(out, words));
  }
}

}  // namespace

int main(int count, char** given) {
  return act(count, given, {{"alone", alone}, {"streams", streams}});
}
