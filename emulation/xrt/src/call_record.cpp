#include "isthmus/card/process/call_record.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace isthmus::card::process {

HostLooks::~HostLooks() {
  if (record_ != nullptr) {
    munmap(const_cast<CallRecord*>(record_), sizeof(CallRecord));  // NOLINT(*-const-cast)
  }
}

const CallRecord* HostLooks::record() {
  if (record_ != nullptr) {
    return record_;
  }
  const int file = open(file_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return nullptr;
  }
  struct stat status{};
  if (fstat(file, &status) == 0 && status.st_size == sizeof(CallRecord)) {
    void* memory = mmap(nullptr, sizeof(CallRecord), PROT_READ, MAP_SHARED, file, 0);
    record_ = memory == MAP_FAILED ? nullptr : static_cast<const CallRecord*>(memory);
  }
  close(file);
  return record_;
}

std::uint32_t HostLooks::count() {
  const CallRecord* found = record();
  return found == nullptr ? 0 : found->looks.load();
}

std::vector<HostLook> HostLooks::after(std::uint32_t since) {
  const CallRecord* found = record();
  if (found == nullptr) {
    return {};
  }
  std::vector<HostLook> looks;
  const std::uint32_t end = found->looks;
  const auto most = static_cast<std::uint32_t>(CallRecord::most_looks);
  for (std::uint32_t look = std::max(since, end - std::min(end, most)); look < end; ++look) {
    looks.push_back(
        {.address = found->looked_at[look % most], .bytes = found->looked_bytes[look % most]});
  }
  return looks;
}

bool HostLooks::has(std::uint64_t address, std::uint64_t bytes, std::uint32_t since) {
  return std::ranges::any_of(after(since), [address, bytes](const HostLook& look) {
    return look.address - address < bytes;
  });
}

bool HostLooks::uses_opencl() {
  const CallRecord* found = record();
  return found != nullptr && found->opencl != 0;
}

}  // namespace isthmus::card::process
