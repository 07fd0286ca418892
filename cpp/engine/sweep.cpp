#include "isthmus/sweep.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

namespace isthmus {

bool is_bandwidth_kernel(std::string_view name) {
  return std::ranges::find(bandwidth_kernel_names, name) != bandwidth_kernel_names.end();
}

std::vector<OperationInfo> bandwidth_kernels(const std::string& target,
                                             const std::vector<std::string>& memory_kinds,
                                             const std::string& implementation,
                                             unsigned usual_iterations) {
  constexpr std::array directions = {"h2d", "d2h", "both"};
  std::vector<OperationInfo> table;
  table.reserve(directions.size());
  for (std::size_t i = 0; i < directions.size(); ++i) {
    const std::string name(bandwidth_kernel_names.at(i));
    const bool two = i == 2;
    table.push_back(
        {.name = name,
         .parts = {{name, target == "host" ? directions.at(i) : "", "kernel"}},
         .axes = {{.name = "target", .usual = target, .values = {target}},
                  {.name = "implementation", .usual = implementation, .values = {implementation}},
                  {.name = "iterations", .usual = std::to_string(usual_iterations)}},
         .memory_kinds = memory_kinds,
         .device_buffers = two ? 2U : 1U});
  }
  return table;
}

bool KernelSum::arrived(Memory& memory, std::size_t workers, std::uint64_t stamp) const {
  std::vector<std::uint64_t> sums(workers);
  memory.get(0, std::as_writable_bytes(std::span(sums)));
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}) ==
         (sum_ + workers) * key(stamp);
}

bool holds_pattern_by_page(Memory& memory, std::size_t bytes, std::uint64_t seed) {
  std::vector<std::uint64_t> words(bytes / page_bytes);
  if (!words.empty()) {
    memory.get_words(0, words);
  }
  for (std::size_t page = 0; page < words.size(); ++page) {
    if (!has_pattern(std::as_bytes(std::span(&words[page], 1)), seed, page * page_bytes)) {
      return false;
    }
  }
  std::array<std::byte, sizeof(std::uint64_t)> last{};
  const std::span tail = std::span(last).first(std::min(last.size(), bytes));
  memory.get(bytes - tail.size(), tail);
  return has_pattern(tail, seed, bytes - tail.size());
}

SweepOperation::SweepOperation(const OperationSpec& spec)
    : name_(spec.name), bytes_(spec.bytes), sweeps_(spec.count("iterations", published_sweeps)) {}

void SweepOperation::works_on(std::vector<Memory*> memories) {
  memories_ = std::move(memories);
  if (memories_.size() > 1) {
    copied_.emplace_back(*memories_[0], *memories_[1], bytes_);
  }
}

std::uint64_t SweepOperation::moved_bytes(std::size_t /*part*/) const {
  return bytes_ * sweeps_ * buffers(name_);
}

bool SweepOperation::moves_data() const {
  const bool writes = name_ == "write_bandwidth" && bytes_ >= sizeof(std::uint64_t);
  return writes || buffers(name_) > 1;
}

std::vector<Movement>& SweepOperation::movements(std::size_t /*part*/) { return copied_; }

void SweepOperation::arm_fully(std::size_t part, std::uint64_t seed) {
  if (!copied_.empty()) {
    Operation::arm_fully(part, seed);
  } else {
    put_pattern(*memories_[0], bytes_, seed);
  }
}

bool SweepOperation::arrived_fully(std::size_t part, std::uint64_t seed) {
  return copied_.empty() ? every_word_changed(seed) : Operation::arrived_fully(part, seed);
}

void SweepOperation::arm(std::size_t part, std::uint64_t stamp) {
  if (!copied_.empty()) {
    Operation::arm(part, stamp);
  } else if (stamps() > 0) {
    memories_[0]->put_words(0, std::vector<std::uint64_t>(stamps(), stamp));
  }
}

bool SweepOperation::arrived(std::size_t part, std::uint64_t stamp) {
  if (!copied_.empty()) {
    return Operation::arrived(part, stamp);
  }
  std::vector<std::uint64_t> words(stamps());
  if (!words.empty()) {
    memories_[0]->get_words(0, words);
  }
  return std::ranges::find(words, stamp) == words.end();
}

/// Returns the number of pages whose first 8 bytes lie in the buffer; each gets a stamp.
std::size_t SweepOperation::stamps() const {
  return (bytes_ + page_bytes - sizeof(std::uint64_t)) / page_bytes;
}

bool SweepOperation::every_word_changed(std::uint64_t seed) {
  constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  std::vector<std::byte> found(bytes_);
  std::vector<std::byte> before(bytes_);
  memories_[0]->get(0, found);
  fill_pattern(before, seed);
  for (std::size_t at = 0; at + word_bytes <= bytes_; at += word_bytes) {
    if (std::ranges::equal(std::span(found).subspan(at, word_bytes),
                           std::span(before).subspan(at, word_bytes))) {
      return false;
    }
  }
  return true;
}

}  // namespace isthmus
