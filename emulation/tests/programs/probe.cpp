// A kernel that was made by `isthmus card kernel build`, by what it does and where its buffers lie.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_kernel.h>

#include <numeric>

#include "on_card.hpp"

namespace {

constexpr int elements = 1024;

xrt::bo filled(xrt::bo buffer) {
  int* const values = buffer.map<int*>();
  std::iota(values, values + buffer.size() / sizeof(int), 1);
  buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  return buffer;
}

void run(Card& card, xrt::bo in, xrt::bo out, int what) {
  xrt::kernel kernel(card.device, card.uuid, "probe");
  kernel(in, out, what, elements).wait();
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const int* const values = out.map<int*>();
  tell("sum", std::accumulate(values, values + elements, 0.0));
}

void apart(const Arguments& arguments) {
  Card card(arguments[0]);
  const auto buffer = [&] { return filled(xrt::bo(card.device, elements * sizeof(int), 0)); };
  run(card, buffer(), buffer(), std::stoi(arguments[1]));
}

void host_only(const Arguments& arguments) {
  Card card(arguments[0]);
  const auto buffer = [&] {
    return filled(xrt::bo(card.device, elements * sizeof(int), xrt::bo::flags::host_only, 1));
  };
  run(card, buffer(), buffer(), std::stoi(arguments[1]));
}

/// Of which the kernel touches little.
void large(const Arguments& arguments, bool host) {
  Card card(arguments[0]);
  const auto kind = host ? xrt::bo::flags::host_only : xrt::bo::flags::normal;
  const auto buffer = [&] { return filled(xrt::bo(card.device, 4 << 20, kind, host ? 1 : 0)); };
  xrt::bo out = buffer();
  run(card, buffer(), out, std::stoi(arguments[1]));
  const int* const values = out.map<int*>();
  int changed = 0;
  for (int i = 0; i < 1 << 20; ++i) {
    changed += values[i] != i + 1 ? 1 : 0;
  }
  tell("changed", changed);
  tell("first", values[0]);
  tell("last", values[768000]);
  tell("text", values[900000]);
}

/// The output's buffer is gone before the kernel starts.
void freed(const Arguments& arguments) {
  Card card(arguments[0]);
  const auto buffer = [&] { return filled(xrt::bo(card.device, elements * sizeof(int), 0)); };
  xrt::bo in = buffer();
  xrt::run run(xrt::kernel(card.device, card.uuid, "probe"));
  run.set_arg(0, in);
  run.set_arg(1, buffer());
  run.set_arg(2, std::stoi(arguments[1]));
  run.set_arg(3, elements);
  run.start();
  run.wait();
}

/// The output is the second half of the input's buffer.
void parts(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::bo whole = filled(xrt::bo(card.device, 2 * elements * sizeof(int), 0));
  run(card, whole, xrt::bo(whole, elements * sizeof(int), elements * sizeof(int)),
      std::stoi(arguments[1]));
}

}  // namespace

int main(int count, char** given) {
  return act(count, given,
             {{"apart", apart},
              {"large", [](const Arguments& given) { large(given, false); }},
              {"large_host_only", [](const Arguments& given) { large(given, true); }},
              {"freed", freed},
              {"host_only", host_only},
              {"parts", parts}});
}
