#include "isthmus/card/process/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <sstream>
#include <utility>

namespace isthmus::card::process {
namespace {

constexpr std::uint64_t page_bytes = 4096;

std::uint64_t whole_pages(std::uint64_t bytes) {
  return (bytes / page_bytes + (bytes % page_bytes != 0 || bytes == 0 ? 1 : 0)) * page_bytes;
}

std::string message(std::uint64_t address, std::uint64_t bytes, const std::string& why) {
  std::ostringstream text;
  text << bytes << " bytes at 0x" << std::hex << address << ": " << why;
  return text.str();
}

}  // namespace

MemoryError::MemoryError(std::uint64_t address, std::uint64_t bytes, const std::string& why)
    : std::runtime_error(message(address, bytes, why)) {}

CardMemory::~CardMemory() {
  for (const auto& [address, region] : regions_) {
    release(region);
  }
}

void CardMemory::release(const Region& region) {
  munmap(region.data, region.mapped);
  if (region.descriptor >= 0) {
    close(region.descriptor);
  }
}

CardMemory::Region& CardMemory::add(std::uint64_t address, std::uint64_t bytes, bool shared) {
  free_all(address, bytes);
  Region region{.data = nullptr, .bytes = bytes, .mapped = whole_pages(bytes), .descriptor = -1};
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (shared) {
    flags = MAP_SHARED;
    region.descriptor = memfd_create("isthmus-card", MFD_CLOEXEC);
  }
  void* data = MAP_FAILED;
  if (!shared || (region.descriptor >= 0 &&
                  ftruncate(region.descriptor, static_cast<off_t>(region.mapped)) == 0)) {
    data = mmap(nullptr, region.mapped, PROT_READ | PROT_WRITE, flags, region.descriptor, 0);
  }
  if (data == MAP_FAILED) {
    if (region.descriptor >= 0) {
      close(region.descriptor);
    }
    throw std::bad_alloc();
  }
  region.data = static_cast<std::byte*>(data);
  return regions_.emplace(address, std::move(region)).first->second;
}

std::string CardMemory::allocate(std::uint64_t address, std::uint64_t bytes, bool shared) {
  Region& region = add(address, bytes, shared);
  if (shared) {
    return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(region.descriptor);
  }
  region.use = BufferUse{.begin = address, .bytes = bytes};
  return "";
}

void CardMemory::free(std::uint64_t address) {
  if (const auto found = regions_.find(address); found != regions_.end()) {
    release(found->second);
    regions_.erase(found);
  }
}

void CardMemory::free_all(std::uint64_t address, std::uint64_t bytes) {
  auto found = regions_.lower_bound(address);
  if (found != regions_.begin() &&
      address - std::prev(found)->first < std::prev(found)->second.bytes) {
    --found;
  }
  while (found != regions_.end() && (found->first <= address || found->first - address < bytes)) {
    release(found->second);
    found = regions_.erase(found);
  }
}

void CardMemory::import(std::uint64_t address, std::uint64_t bytes, int descriptor) {
  const auto found = regions_.find(address);
  if (found == regions_.end() || bytes > found->second.mapped) {
    throw MemoryError(address, bytes, "not allocated, so nothing can be imported there");
  }
  Region& region = found->second;
  region.use.reset();
  if (mmap(region.data, region.mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor,
           0) == MAP_FAILED) {
    throw MemoryError(address, bytes, "the file of the other card cannot be mapped");
  }
}

bool CardMemory::vacant(std::uint64_t address, std::uint64_t bytes) const {
  const auto next = regions_.lower_bound(address);
  if (next != regions_.end() && next->first - address < bytes) {
    return false;
  }
  return next == regions_.begin() ||
         address - std::prev(next)->first >= std::prev(next)->second.bytes;
}

bool CardMemory::holds(std::uint64_t address, std::uint64_t bytes) const {
  const auto next = regions_.upper_bound(address);
  if (next == regions_.begin()) {
    return false;
  }
  const std::uint64_t offset = address - std::prev(next)->first;
  const std::uint64_t room = std::prev(next)->second.bytes;
  return offset <= room && bytes <= room - offset;
}

std::span<std::byte> CardMemory::reach(std::uint64_t address, std::uint64_t bytes) {
  const auto next = regions_.upper_bound(address);
  if (next != regions_.begin()) {
    const auto& [start, region] = *std::prev(next);
    if (address - start < region.bytes) {
      const std::uint64_t offset = address - start;
      return {region.data + offset,
              static_cast<std::size_t>(std::min(bytes, region.bytes - offset))};
    }
  }
  const std::uint64_t vacant = next == regions_.end() ? bytes : next->first - address;
  add(address, std::min(bytes, vacant), false);
  return at(address, std::min(bytes, vacant));
}

BufferUse* CardMemory::use_of(std::uint64_t address) {
  const auto next = regions_.upper_bound(address);
  if (next == regions_.begin()) {
    return nullptr;
  }
  auto& [begin, region] = *std::prev(next);
  return address - begin < region.bytes && region.use ? &*region.use : nullptr;
}

std::vector<BufferUse*> CardMemory::uses() {
  std::vector<BufferUse*> found;
  for (auto& [address, region] : regions_) {
    if (region.use) {
      found.push_back(&*region.use);
    }
  }
  return found;
}

std::uint64_t CardMemory::allocated_at(std::uint64_t address) const {
  const auto found = regions_.find(address);
  return found == regions_.end() ? 0 : found->second.bytes;
}

std::uint64_t CardMemory::bytes_at(std::uint64_t address) const {
  const auto next = regions_.upper_bound(address);
  if (next == regions_.begin()) {
    return 0;
  }
  const std::uint64_t end = std::prev(next)->first + std::prev(next)->second.bytes;
  return end > address ? end - address : 0;
}

std::span<std::byte> CardMemory::at(std::uint64_t address, std::uint64_t bytes) const {
  auto found = regions_.upper_bound(address);
  if (found == regions_.begin()) {
    throw MemoryError(address, bytes, "nothing is allocated on the card there");
  }
  --found;
  const std::uint64_t offset = address - found->first;
  const std::uint64_t room = found->second.bytes;
  if (offset > room || bytes > room - offset) {
    throw MemoryError(address, bytes, "not all of it is allocated on the card");
  }
  return {found->second.data + offset, static_cast<std::size_t>(bytes)};
}

}  // namespace isthmus::card::process
