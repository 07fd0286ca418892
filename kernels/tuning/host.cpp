// Runs one job by one of several ways of calls, to time what a change of the program gains:
// host FILE.xclbin KERNEL WAY ITEMS BYTES SWEEPS
#include <isthmus/region.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Job {
  xrt::device device;
  xrt::kernel kernel;
  std::string way;
  unsigned items;
  unsigned bytes;
  unsigned sweeps;
};

// Buffers and run of one item. Way `copied` keeps the program's data outside of the buffers.
class Set {
 public:
  explicit Set(const Job& job)
      : copied_(job.way == "copied"),
        in_(buffer(job, 0)),
        out_(buffer(job, 1)),
        run_(job.kernel),
        from_(job.bytes / sizeof(unsigned)),
        to_(from_.size()) {
    mapped_in_ = in_.map<unsigned*>();
    mapped_out_ = out_.map<unsigned*>();
    run_.set_arg(0, in_);
    run_.set_arg(1, out_);
    run_.set_arg(2, job.bytes);
    run_.set_arg(3, job.sweeps);
    for (std::size_t i = 0; i < from_.size(); ++i) {
      mapped_in_[i] = from_[i] = static_cast<unsigned>(i);
    }
  }

  void send(unsigned item) {
    (copied_ ? from_.data() : mapped_in_)[0] = item;
    if (copied_) {
      in_.write(from_.data());
    }
    in_.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    item_ = item;
  }
  void start() { run_.start(); }
  void begin(unsigned item) {
    send(item);
    start();
  }
  void wait() { run_.wait(); }
  // Waits for the kernel and gets the result; returns whether it is right.
  bool end() {
    wait();
    out_.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    if (copied_) {
      out_.read(to_.data());
    }
    return (copied_ ? to_.data() : mapped_out_)[0] == item_ + 1;
  }

 private:
  static xrt::bo buffer(const Job& job, int argument) {
    const auto kind = job.way == "host" ? xrt::bo::flags::host_only : xrt::bo::flags::normal;
    return {job.device, job.bytes, kind, job.kernel.group_id(argument)};
  }

  bool copied_;
  xrt::bo in_;
  xrt::bo out_;
  xrt::run run_;
  std::vector<unsigned> from_;
  std::vector<unsigned> to_;
  unsigned* mapped_in_ = nullptr;
  unsigned* mapped_out_ = nullptr;
  unsigned item_ = 0;
};

// One thread with one set: each step waits for the previous step.
bool serial(std::vector<std::unique_ptr<Set>>& sets, unsigned items) {
  bool right = true;
  for (unsigned item = 0; item < items; ++item) {
    sets[0]->begin(item);
    right = sets[0]->end() && right;
  }
  return right;
}

// One thread with two sets: an item's data move while the kernel works on the previous item.
bool doubled(std::vector<std::unique_ptr<Set>>& sets, unsigned items) {
  bool right = true;
  sets[0]->begin(0);
  for (unsigned item = 1; item < items; ++item) {
    sets[item % 2]->begin(item);
    right = sets[(item - 1) % 2]->end() && right;
  }
  return sets[(items - 1) % 2]->end() && right;
}

// One thread with two sets: the next item's input moves while a kernel works, its start comes late.
bool late(std::vector<std::unique_ptr<Set>>& sets, unsigned items) {
  bool right = true;
  sets[0]->send(0);
  for (unsigned item = 0; item < items; ++item) {
    sets[item % 2]->start();
    if (item + 1 < items) {
      sets[(item + 1) % 2]->send(item + 1);
    }
    right = sets[item % 2]->end() && right;
  }
  return right;
}

// One thread with two sets: moves both inputs, runs both kernels, then moves both outputs.
bool in_batches(std::vector<std::unique_ptr<Set>>& sets, unsigned items) {
  bool right = true;
  for (unsigned item = 0; item < items; item += 2) {
    sets[0]->send(item);
    sets[1]->send(item + 1);
    sets[0]->start();
    sets[1]->start();
    sets[0]->wait();
    sets[1]->wait();
    right = sets[0]->end() && sets[1]->end() && right;
  }
  return right;
}

// A thread for each set; each thread takes the next item when it has finished one.
bool threaded(std::vector<std::unique_ptr<Set>>& sets, unsigned items) {
  std::atomic<unsigned> next = 0;
  std::atomic<bool> right = true;
  std::vector<std::thread> threads;
  for (const auto& set : sets) {
    threads.emplace_back([&next, &right, &set, items] {
      for (unsigned item = next++; item < items; item = next++) {
        set->begin(item);
        right = set->end() && right;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return right;
}

bool run(const Job& job) {
  std::vector<std::unique_ptr<Set>> sets;
  bool right = true;
  const bool has_one = job.way == "serial" || job.way == "host" || job.way == "copied";
  for (int n = 0; n < (has_one ? 1 : 2); ++n) {
    sets.push_back(std::make_unique<Set>(job));
    sets.back()->begin(0);  // not timed: the first use of kernel and buffers takes longer
    right = sets.back()->end() && right;
  }
  const auto begin = std::chrono::steady_clock::now();
  ISTHMUS_REGION("items");
  const auto pass = job.way == "double"    ? doubled
                    : job.way == "late"    ? late
                    : job.way == "batches" ? in_batches
                    : job.way == "threads" ? threaded
                                           : serial;
  right = pass(sets, job.items) && right;
  ISTHMUS_REGION("end");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("{\"item_s\": %.9f}\n", took.count() / job.items);
  return right;
}

}  // namespace

int main(int count, char** given) {
  if (count != 7) {
    std::fprintf(
        stderr,
        "usage: %s FILE.xclbin KERNEL serial|double|late|batches|threads|host|copied ITEMS BYTES "
        "SWEEPS\n",
        given[0]);
    return 2;
  }
  try {
    xrt::device device(0);
    const auto uuid = device.load_xclbin(std::string(given[1]));
    const auto number = [given](int n) { return static_cast<unsigned>(std::stoul(given[n])); };
    const bool right = run(
        {device, xrt::kernel(device, uuid, given[2]), given[3], number(4), number(5), number(6)});
    std::fputs(right ? "" : "FAIL: wrong data\n", stderr);
    return right ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failed: %s\n", error.what());
    return 1;
  }
}
