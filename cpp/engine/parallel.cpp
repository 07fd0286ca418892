#include "parallel.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "isthmus/buffer.hpp"

namespace isthmus {
namespace {

/// Fewest bytes for a thread: to fill 4 MiB takes ten times as long as a thread's start and end (50
/// us).
constexpr std::size_t least_part_bytes = std::size_t{4} << 20U;
/// Most threads for one piece of work: further threads do not make memory faster.
constexpr std::size_t most_threads = 16;

/// Returns the processors of this thread's NUMA node on which the thread may run.
cpu_set_t processors_near() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
    return allowed;
  }
  unsigned processor = 0;
  unsigned node = 0;
  if (getcpu(&processor, &node) != 0) {
    return allowed;
  }
  std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
  std::string list;
  if (!std::getline(file, list)) {
    return allowed;  // Linux without NUMA: every processor is equally near to memory
  }
  cpu_set_t on_node;
  CPU_ZERO(&on_node);
  for (const int processor : numbers_in(list)) {
    if (processor < CPU_SETSIZE) {
      CPU_SET(processor, &on_node);
    }
  }
  cpu_set_t both;
  CPU_AND(&both, &allowed, &on_node);
  return both;
}

std::size_t threads_on(const cpu_set_t& processors, std::size_t worth) {
  return std::clamp<std::size_t>(CPU_COUNT(&processors), 1, worth);
}

}  // namespace

std::size_t bytes_for_all() {
  return threads_on(processors_near(), most_threads) * least_part_bytes;
}

void in_parts(std::size_t bytes, const std::function<void(std::size_t, std::size_t)>& work) {
  const std::size_t worth = std::min(most_threads, bytes / least_part_bytes);
  if (worth < 2) {
    work(0, bytes);
    return;
  }
  const cpu_set_t near = processors_near();
  const std::size_t threads = threads_on(near, worth);
  const std::size_t pages = least_part_bytes;  // parts end at boundaries of large pages
  const std::size_t each = (bytes / threads + pages - 1) / pages * pages;
  std::vector<std::jthread> others;
  for (std::size_t begin = each; begin < bytes; begin += each) {
    others.emplace_back([&work, &near, begin, end = std::min(begin + each, bytes)] {
      // If Linux refuses, the thread runs on any processor.
      sched_setaffinity(0, sizeof(near), &near);
      work(begin, end);
    });
  }
  work(0, std::min(each, bytes));
}

}  // namespace isthmus
