// Kernels that are connected by streams, started in any order. Prints one JSON object.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <thread>

#include "on_card.hpp"

namespace {

constexpr int count = 5000;

/// The kernel `name` with the arguments that its name stands for.
struct Stage {
  xrt::kernel kernel;
  xrt::run run;
  xrt::bo buffer;

  Stage(Card& card, const std::string& name) : kernel(card.device, card.uuid, name), run(kernel) {
    if (name == "source") {
      take(card, 0);
    } else if (name == "sink") {
      take(card, 1);
    }
    run.set_arg(2, count);
  }
  void take(Card& card, int argument) {
    buffer = xrt::bo(card.device, count * sizeof(int), kernel.group_id(argument));
    int* const data = buffer.map<int*>();
    std::iota(data, data + count, argument == 0 ? 1 : 0);
    buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    run.set_arg(argument, buffer);
  }
};

/// Starts the stages in the order in which they are named, so often; the last sum of the sink, and
/// how long each round took.
void rounds(const Arguments& arguments) {
  Card card(arguments[0]);
  std::map<std::string, Stage> stages;
  const Arguments names(arguments.begin() + 2, arguments.end());
  for (const std::string& name : names) {
    stages.try_emplace(name, card, name);
  }
  for (int round = 0; round < std::stoi(arguments[1]); ++round) {
    const double took = lasted([&] {
      for (const std::string& name : names) {
        stages.at(name).run.start();
      }
      for (const std::string& name : names) {
        stages.at(name).run.wait();
      }
    });
    tell("round " + std::to_string(round), 1e6 * took);
  }
  if (const auto sink = stages.find("sink"); sink != stages.end()) {
    sink->second.buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    const int* const data = sink->second.buffer.map<int*>();
    tell("sum", std::accumulate(data, data + count, 0.0));
  }
}

/// The sink alone for a while, whose state is asked for; then the source.
void late(const Arguments& arguments) {
  Card card(arguments[0]);
  Stage sink(card, "sink");
  Stage source(card, "source");
  sink.run.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  tell("runs", sink.run.state() == ERT_CMD_STATE_COMPLETED ? 0 : 1);
  source.run.start();
  tell("waited", lasted([&] { sink.run.wait(); }));
  tell("over", source.run.wait() == ERT_CMD_STATE_COMPLETED ? 1 : 0);
}

/// A thread waits for the sink; the source is started when somebody writes to a file.
void asked(const Arguments& arguments) {
  Card card(arguments[0]);
  Stage sink(card, "sink");
  Stage source(card, "source");
  sink.run.start();
  std::thread waiting([&] { sink.run.wait(); });
  std::ifstream(arguments[1]).get();
  source.run.start();
  source.run.wait();
  waiting.join();
  sink.buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  tell("runs", 2);
}

/// Writes to the sink's buffer while the sink waits.
void beside(const Arguments& arguments) {
  Card card(arguments[0]);
  Stage sink(card, "sink");
  Stage source(card, "source");
  sink.run.start();
  int* const data = sink.buffer.map<int*>();
  std::fill_n(data, count, 7);
  sink.buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  source.run.start();
  sink.run.wait();
  source.run.wait();
  sink.buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  tell("first", data[0]);
  tell("between", std::accumulate(data + 1, data + count - 1, 0.0));
  tell("last", data[count - 1]);
}

/// A sink that nobody feeds, which is left running. It has begun: a start takes less than 1 ms.
void left(const Arguments& arguments) {
  Card card(arguments[0]);
  Stage sink(card, "sink");
  sink.run.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  tell("runs", 1);
  print();
  std::fflush(stdout);
  std::_Exit(0);
}

/// Runs that are destroyed while their kernels wait: of a sink that goes on later, and then two of
/// one that does not.
void dropped(const Arguments& arguments) {
  Card card(arguments[0]);
  const auto started = [&] {
    Stage sink(card, "sink");
    sink.run.start();
    return sink.buffer;
  };
  xrt::bo buffer = started();
  Stage source(card, "source");
  source.run.start();
  source.run.wait();
  buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const int* const data = buffer.map<int*>();
  tell("sum", std::accumulate(data, data + count, 0.0));
  static const xrt::bo other = started();
  static const xrt::bo behind = started();
}

/// The same before another bitstream is loaded: a run that ends, two that wait. Then the sum of
/// kernels of the other one.
void replaced(const Arguments& arguments) {
  Card card(arguments[0]);
  std::vector<xrt::bo> buffers;
  for (const char* name : {"source", "sink", "sink", "sink"}) {
    Stage stage(card, name);
    stage.run.start();
    buffers.push_back(stage.buffer);
  }
  card.uuid = card.device.load_xclbin(arguments[1]);
  Stage source(card, "source");
  Stage sink(card, "sink");
  sink.run.start();
  source.run.start();
  sink.run.wait();
  sink.buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const int* const data = sink.buffer.map<int*>();
  tell("sum", std::accumulate(data, data + count, 0.0));
}

}  // namespace

int main(int count, char** given) {
  return act(count, given,
             {{"rounds", rounds},
              {"late", late},
              {"beside", beside},
              {"left", left},
              {"dropped", dropped},
              {"replaced", replaced},
              {"asked", asked}});
}
