// Places memory on NUMA nodes and finds the nodes of pages, by Linux system calls.
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "isthmus/buffer.hpp"

namespace isthmus {
namespace {

constexpr std::size_t word_bits = sizeof(unsigned long) * CHAR_BIT;
/// Most pages in one system call.
constexpr std::size_t pages_at_once = 4096;

/// Removes the decimal number at the front of `text` and returns it; nothing if there is none.
std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return value;
}

std::string listed(const std::vector<int>& nodes) {
  std::string text;
  for (const int node : nodes) {
    text += (text.empty() ? "" : ", ") + std::to_string(node);
  }
  return text;
}

}  // namespace

std::vector<int> numbers_in(std::string_view ranges) {
  std::vector<int> numbers;
  while (const auto first = take_number(ranges)) {
    auto last = first;
    if (ranges.starts_with('-')) {
      ranges.remove_prefix(1);
      last = take_number(ranges);
    }
    for (int number = *first; last && number <= *last; ++number) {
      numbers.push_back(number);
    }
    ranges.remove_prefix(std::min<std::size_t>(ranges.size(), 1));
  }
  return numbers;
}

std::vector<int> memory_nodes() {
  std::ifstream file("/sys/devices/system/node/has_memory");
  std::string text;
  std::getline(file, text);
  std::vector<int> nodes = numbers_in(text);
  return nodes.empty() ? std::vector<int>{0} : nodes;
}

void place_on_node(std::span<std::byte> pages, int node) {
  const std::vector<int> nodes = memory_nodes();
  if (std::ranges::find(nodes, node) == nodes.end()) {
    throw MemoryLimitError("no memory on NUMA node " + std::to_string(node) +
                           ": this machine has it on " + listed(nodes));
  }
  std::array<unsigned long, most_nodes / word_bits> mask{};
  const auto bit = static_cast<std::size_t>(node);
  mask.at(bit / word_bits) = 1UL << bit % word_bits;
  if (syscall(SYS_mbind, pages.data(), pages.size(), MPOL_BIND, mask.data(), most_nodes, 0) != 0) {
    const int code = errno;
    throw MemoryLimitError("memory cannot be placed on NUMA node " + std::to_string(node) + ": " +
                           std::strerror(code) +
                           (code == EPERM ? " (containers: --cap-add SYS_NICE)" : ""));
  }
}

std::vector<int> nodes_of(std::span<const std::byte> data) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data.data()) / page_bytes * page_bytes;
  const auto end = reinterpret_cast<std::uintptr_t>(data.data()) + data.size();
  std::vector<int> found;
  std::vector<void*> pages;
  std::vector<int> status;
  for (std::uintptr_t at = begin; at < end;) {
    pages.clear();
    for (; at < end && pages.size() < pages_at_once; at += page_bytes) {
      pages.push_back(reinterpret_cast<void*>(at));  // NOLINT(performance-no-int-to-ptr)
    }
    status.assign(pages.size(), -1);
    if (syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, status.data(), 0) != 0) {
      return {};
    }
    found.insert(found.end(), status.begin(), status.end());
  }
  std::ranges::sort(found);
  const auto twice = std::ranges::unique(found);
  found.erase(twice.begin(), twice.end());
  return found;
}

}  // namespace isthmus
