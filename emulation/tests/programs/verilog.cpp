// Works with the module `moody` and a kernel in C++ that reads from it. Prints one JSON object.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_kernel.h>

#include <cctype>
#include <numeric>

#include "on_card.hpp"

namespace {

constexpr int elements = 4096;
constexpr int words = 50;

/// Starts (f, m, s) and waits for (F, M, S) the feed, the module and the sink, as `steps` says.
void act_on(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel module(card.device, card.uuid, "moody");
  xrt::kernel sink(card.device, card.uuid, "sink");
  xrt::bo written(card.device, elements * sizeof(int), module.group_id(4));
  xrt::bo read(card.device, elements * sizeof(int), sink.group_id(1));
  xrt::run moody(module);
  moody.set_arg(2, std::stoi(arguments[1]));
  moody.set_arg(3, std::stoi(arguments[2]));
  moody.set_arg(4, written);
  xrt::run sinking(sink);
  sinking.set_arg(1, read);
  sinking.set_arg(2, words);
  xrt::run feeding(xrt::kernel(card.device, card.uuid, "feed"));
  feeding.set_arg(1, words);
  const std::map<char, xrt::run*> runs = {{'f', &feeding}, {'m', &moody}, {'s', &sinking}};
  int round = 0;
  const double lasts = lasted([&] {
    for (const char step : arguments[3]) {
      if (std::islower(step) != 0) {
        runs.at(step)->start();
      } else {
        runs.at(static_cast<char>(std::tolower(step)))->wait();
      }
      if (step == 'S') {
        read.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
        const int* const data = read.map<int*>();
        tell("sum " + std::to_string(round++), std::accumulate(data, data + words, 0.0));
      }
    }
  });
  tell("lasts", 1e6 * lasts);
}

}  // namespace

int main(int count, char** given) { return act(count, given, {{"act", act_on}}); }
