#include "isthmus/card/pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace isthmus::card {
namespace {

std::size_t mapped(std::size_t bytes) { return std::max<std::size_t>(bytes, 1); }

}  // namespace

PagePool::~PagePool() { clear(); }

void PagePool::clear() {
  for (std::byte* data : spare_) {
    munmap(data, mapped(bytes_));
  }
  spare_.clear();
}

std::byte* PagePool::take(std::size_t bytes) {
  if (bytes != bytes_) {
    clear();
    bytes_ = bytes;
  }
  if (!spare_.empty()) {
    std::byte* data = spare_.back();
    spare_.pop_back();
    return data;
  }
  void* data = mmap(nullptr, mapped(bytes), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    throw std::bad_alloc();
  }
  madvise(data, mapped(bytes), MADV_HUGEPAGE);  // fewer page faults; Linux may refuse
  return static_cast<std::byte*>(data);
}

void PagePool::give_back(std::byte* data, std::size_t bytes) {
  if (bytes == bytes_) {
    spare_.push_back(data);
  } else {
    munmap(data, mapped(bytes));
  }
}

}  // namespace isthmus::card
