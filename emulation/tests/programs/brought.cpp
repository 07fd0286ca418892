// Kernels as others bring them: several instances, memories by the linker's configuration.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <numeric>

#include "on_card.hpp"

namespace {

constexpr int words = 64;
constexpr int elements = 16 * words;

xrt::bo made(Card& card, const xrt::kernel& kernel, int argument, bool host) {
  const auto kind = host ? xrt::bo::flags::host_only : xrt::bo::flags::normal;
  xrt::bo buffer(card.device, elements * sizeof(int), kind, kernel.group_id(argument));
  int* const values = buffer.map<int*>();
  std::iota(values, values + elements, 1);
  buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  return buffer;
}

/// out[i] = in[i] + 3, for numbers from 1 on.
int wrong(xrt::bo out) {
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const int* const values = out.map<int*>();
  int wrong = 0;
  for (int i = 0; i < elements; ++i) {
    wrong += values[i] != i + 4 ? 1 : 0;
  }
  return wrong;
}

void all(const Arguments& arguments) {
  Card card(arguments[0]);
  for (const std::string side : {"left", "right"}) {
    xrt::kernel work(card.device, card.uuid, "work:{" + side + "}");
    xrt::bo in = made(card, work, 0, false);  // "left": a normal buffer in a bank of the host's
    xrt::bo out = made(card, work, 1, side == "left");
    work(in, out, words).wait();
    tell(side, wrong(out));
    tell(side + "_group", work.group_id(1));
    work(in, out, 0).wait();
    work(in, out, 0).wait();
    out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    tell(side + "_asked", *out.map<int*>());
  }
  xrt::kernel pairs(card.device, card.uuid, "pairs");
  xrt::bo out(card.device, elements * sizeof(long), pairs.group_id(0));
  std::fill_n(out.map<long*>(), elements, -1);
  out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  pairs(out, elements / 4).wait();
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  tell("pairs", std::accumulate(out.map<long*>(), out.map<long*>() + elements, 0.0));
}

void beside(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel copy(card.device, card.uuid, "copy");
  xrt::bo in = made(card, copy, 0, false);
  xrt::bo out = made(card, copy, 1, false);
  copy(in, out, elements).wait();
  tell("in_group", copy.group_id(0));
  tell("out_group", copy.group_id(1));
  tell("wrong", wrong(out));
}

void spanning(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel copy(card.device, card.uuid, "copy");
  constexpr std::size_t page = 4096;
  constexpr std::size_t bank = std::size_t{256} << 20U;
  xrt::bo large(card.device, bank + page, copy.group_id(0));  // ends in the second pseudo-channel
  xrt::bo out(card.device, page, copy.group_id(1));           // which this one has to itself
  const std::vector<int> words(page / sizeof(int), 7);
  large.write(words.data(), page, bank);
  large.sync(XCL_BO_SYNC_BO_TO_DEVICE, page, bank);
  xrt::bo end(large, page, bank);
  copy(end, out, static_cast<int>(words.size())).wait();
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  tell("in_group", copy.group_id(0));
  tell("out_group", copy.group_id(1));
  tell("overlap", out.address() < large.address() + large.size() ? 1 : 0);
  tell("last", out.map<int*>()[words.size() - 1]);
}

}  // namespace

int main(int count, char** given) {
  return act(count, given, {{"all", all}, {"beside", beside}, {"spanning", spanning}});
}
