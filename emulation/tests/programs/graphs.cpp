// A graph of transfers and a kernel in XRT's event queue, whose threads begin before main does.
// Prints one JSON object.
#include <experimental/xrt_enqueue.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_kernel.h>

#include <numeric>

#include "on_card.hpp"

namespace {

xrt::event_queue queue;
const xrt::event_handler first(queue);
const xrt::event_handler second(queue);

void chain(const Arguments& arguments) {
  constexpr int count = 1000;
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, "vadd");
  std::vector<xrt::bo> buffers;
  for (int argument = 0; argument < 3; ++argument) {
    buffers.emplace_back(card.device, count * sizeof(int), kernel.group_id(argument));
    std::iota(buffers.back().map<int*>(), buffers.back().map<int*>() + count, 1);
  }
  xrt::run run(kernel);
  const auto sync = [](xrt::bo& buffer, xclBOSyncDirection way) { buffer.sync(way); };
  auto to = XCL_BO_SYNC_BO_TO_DEVICE;
  auto from = XCL_BO_SYNC_BO_FROM_DEVICE;
  int size = count;
  const auto a = queue.enqueue(sync, buffers[0], to);
  const auto b = queue.enqueue(sync, buffers[1], to);
  const auto sums =
      queue.enqueue_with_waitlist(run, {a, b}, buffers[0], buffers[1], buffers[2], size);
  queue.enqueue_with_waitlist(sync, {sums}, buffers[2], from).wait();
  const int* const data = buffers[2].map<int*>();
  tell("sum", std::accumulate(data, data + count, 0.0));
}

}  // namespace

int main(int count, char** given) { return act(count, given, {{"chain", chain}}); }
