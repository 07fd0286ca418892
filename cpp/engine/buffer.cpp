#include "isthmus/buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string_view>

namespace isthmus {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20U;

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

/// Returns N of a kind of memory `prefix`N such as "offset64", if N is below `limit`, else nothing.
std::optional<std::size_t> numbered(const std::string& kind, std::string_view prefix,
                                    std::size_t limit) {
  if (!kind.starts_with(prefix)) {
    return std::nullopt;
  }
  std::size_t number = 0;
  const char* begin = kind.data() + prefix.size();
  const char* end = kind.data() + kind.size();
  const auto [rest, error] = std::from_chars(begin, end, number);
  if (error != std::errc{} || rest != end || number >= limit) {
    return std::nullopt;
  }
  return number;
}

std::optional<std::size_t> page_offset(const std::string& kind) {
  return numbered(kind, "offset", page_bytes);
}

void* allocate_pages(std::size_t bytes) {
  void* block = nullptr;
  return posix_memalign(&block, page_bytes, round_up(bytes, page_bytes)) == 0 ? block : nullptr;
}

/// A kind of memory in `HostBuffer::allocators`: its name, and functions to allocate and free it.
struct Allocator {
  std::string_view name;
  void* (*allocate)(std::size_t bytes);
  void (*release)(void*);
};

template <std::size_t Alignment>
void* by_posix_memalign(std::size_t bytes) {
  void* block = nullptr;
  return posix_memalign(&block, Alignment, bytes) == 0 ? block : nullptr;
}
template <std::size_t Alignment>
void* by_aligned_alloc(std::size_t bytes) {
  return std::aligned_alloc(Alignment, round_up(bytes, Alignment));
}
template <std::size_t Alignment>
void* by_new(std::size_t bytes) {
  return ::operator new(bytes, std::align_val_t(Alignment));
}
template <std::size_t Alignment>
void delete_aligned(void* block) {
  ::operator delete(block, std::align_val_t(Alignment));
}

constexpr std::array<Allocator, 6> allocators_by_name = {{
    {"posix_memalign64", by_posix_memalign<64>, std::free},
    {"posix_memalign4096", by_posix_memalign<4096>, std::free},
    {"aligned_alloc64", by_aligned_alloc<64>, std::free},
    {"aligned_alloc4096", by_aligned_alloc<4096>, std::free},
    {"new64", by_new<64>, delete_aligned<64>},
    {"new4096", by_new<4096>, delete_aligned<4096>},
}};

}  // namespace

bool HostMemory::in_place(std::size_t /*bytes*/, Access /*access*/,
                          const std::function<void(std::byte*)>& work) {
  work(data_);
  return true;
}

void HostMemory::put(std::size_t offset, std::span<const std::byte> from) {
  std::memcpy(data_ + offset, from.data(), from.size());
}

void HostMemory::get(std::size_t offset, std::span<std::byte> to) {
  std::memcpy(to.data(), data_ + offset, to.size());
}

std::vector<std::string> HostBuffer::kinds() { return {"aligned", "pageable", "hugepage"}; }

std::vector<std::string> HostBuffer::allocators() {
  std::vector<std::string> names = {"mmap", "hugetlb", "mlock"};
  for (const Allocator& allocator : allocators_by_name) {
    names.emplace_back(allocator.name);
  }
  return names;
}

bool HostBuffer::knows(const std::string& kind) {
  const auto known = kinds();
  const auto more = allocators();
  return std::ranges::find(known, kind) != known.end() ||
         std::ranges::find(more, kind) != more.end() || page_offset(kind) || node(kind);
}

std::optional<int> HostBuffer::node(const std::string& kind) {
  const auto found = numbered(kind, "node", most_nodes);
  return found ? std::optional(static_cast<int>(*found)) : std::nullopt;
}

HostBuffer::HostBuffer(const std::string& kind, std::size_t bytes) : HostMemory(nullptr, bytes) {
  const std::size_t wanted = std::max<std::size_t>(bytes, 1);
  const auto* const named =
      std::ranges::find(allocators_by_name, std::string_view(kind), &Allocator::name);
  if (named != allocators_by_name.end()) {
    take(named->allocate(wanted), named->release);
  } else if (kind == "pageable") {
    take(std::malloc(wanted), std::free);
  } else if (kind == "mmap") {
    map(wanted, 0);
  } else if (kind == "hugetlb") {
    map(round_up(wanted, huge_page_bytes), MAP_HUGETLB);
  } else if (kind == "hugepage") {
    map(round_up(wanted, huge_page_bytes) + huge_page_bytes, 0);
    const auto address = reinterpret_cast<std::uintptr_t>(block_);
    place(block_ + (round_up(address, huge_page_bytes) - address));
    madvise(data(), round_up(wanted, huge_page_bytes), MADV_HUGEPAGE);
  } else if (kind == "mlock") {
    map(wanted, 0);
    if (mlock(block_, mapped_) != 0) {
      munmap(block_, mapped_);
      throw MemoryLimitError(
          "the limit on locked memory is too low: ulimit -l unlimited (as root)");
    }
  } else if (const std::optional<int> on = node(kind)) {
    if (memory_nodes().size() == 1) {
      throw MemoryLimitError("this machine has one NUMA node");
    }
    map(round_up(wanted, page_bytes), 0);
    try {
      place_on_node({block_, mapped_}, *on);
    } catch (const MemoryLimitError&) {
      munmap(block_, mapped_);
      throw;
    }
  } else if (const auto offset =
                 kind == "aligned" ? std::optional<std::size_t>(0) : page_offset(kind)) {
    take(allocate_pages(wanted + *offset), std::free);
    place(block_ + *offset);
  } else {
    throw std::invalid_argument("unknown host memory kind '" + kind + "'");
  }
}

void HostBuffer::take(void* block, void (*release)(void*)) {
  if (block == nullptr) {
    throw std::bad_alloc();
  }
  block_ = static_cast<std::byte*>(block);
  place(block_);
  release_ = release;
}

void HostBuffer::map(std::size_t bytes, int flags) {
  void* block =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (block == MAP_FAILED && flags == MAP_HUGETLB) {
    constexpr std::size_t buffers = 4;  // an offload has three vectors, and the host a result
    const std::size_t pages = bytes / huge_page_bytes;
    throw MemoryLimitError("too few huge pages of 2 MiB are free (" + std::to_string(pages) +
                           " for each buffer): sysctl vm.nr_hugepages=" +
                           std::to_string(std::max(std::size_t{1024}, buffers * pages)) +
                           " (as root)");
  }
  if (block == MAP_FAILED) {
    throw std::bad_alloc();
  }
  block_ = static_cast<std::byte*>(block);
  place(block_);
  mapped_ = bytes;
}

HostBuffer::~HostBuffer() {
  if (mapped_ > 0) {
    munmap(block_, mapped_);
  } else {
    release_(block_);
  }
}

}  // namespace isthmus
