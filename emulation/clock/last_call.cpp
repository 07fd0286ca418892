#include "last_call.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "isthmus/card/process/call_record.hpp"
#include "library.hpp"

namespace isthmus::card::clock {
namespace {

constexpr auto count = static_cast<std::size_t>(ApiCall::count);
/// Text of each ApiCall, in which the call's text replaces `{text}` and its first number `{0}`.
constexpr std::array<const char*, count> forms = {
    "xrt::device::load_xclbin(\"{text}\")",
    "xrt::kernel(device, uuid, \"{text}\")",
    "xrt::kernel::group_id({0}) of kernel {text}",
    "xrt::run(kernel {text})",
    "xrt::run::set_arg({0}, value of {1} bytes) of kernel {text}",
    "xrt::run::set_arg({0}, buffer of {1} bytes) of kernel {text}",
    "xrt::run::start() of kernel {text}",
    "xrt::run::wait() of kernel {text}",
    "xrt::bo(device, size {0}, flags {1}, group {2})",
    "xrt::bo::sync(XCL_BO_SYNC_BO_TO_DEVICE, size {0}, offset {1})",
    "xrt::bo::sync(XCL_BO_SYNC_BO_FROM_DEVICE, size {0}, offset {1})",
    "xrt::bo::write(source, size {0}, offset {1})",
    "xrt::bo::read(target, size {0}, offset {1})",
    "xrt::bo::map()",
    "clCreateBuffer(context, flags {0}, size {1}, ...)",
    "clSetKernelArg(kernel, {0}, size {1}, value)",
    "clEnqueueTask(queue, kernel, ...)",
    "clEnqueueNDRangeKernel(queue, kernel, dimensions {0}, ...)",
    "clEnqueueMigrateMemObjects(queue, {0} buffers, flags {1}, ...)",
    "clEnqueueWriteBuffer(queue, buffer, blocking {0}, offset {1}, size {2}, ...)",
    "clEnqueueReadBuffer(queue, buffer, blocking {0}, offset {1}, size {2}, ...)",
    "clEnqueueMapBuffer(queue, buffer, blocking {0}, offset {1}, size {2}, ...)",
    "clFinish(queue)",
    "clWaitForEvents({0} events, ...)",
};

using process::CallRecord;
static_assert(count <= CallRecord::most_forms);

constinit std::atomic<CallRecord*> record = nullptr;
constinit std::atomic<bool> was_made = false;

/// Makes the record's file for this process and maps it; null without a session or if that fails.
CallRecord* made() {
  const char* const session = std::getenv("ISTHMUS_CARD_SESSION");
  std::array<char, PATH_MAX> name{};
  const int length = session == nullptr ? 0
                                        : std::snprintf(name.data(), name.size(), "%s/last_call.%d",
                                                        session, getpid());
  if (length <= 0 || !std::cmp_less(length, name.size())) {
    return nullptr;
  }
  const int file = ::open(name.data(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  void* memory = MAP_FAILED;
  if (file >= 0 && ftruncate(file, sizeof(CallRecord)) == 0) {
    memory = mmap(nullptr, sizeof(CallRecord), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (file >= 0) {
    ::close(file);
  }
  if (memory == MAP_FAILED) {
    return nullptr;
  }
  auto* const record = static_cast<CallRecord*>(memory);  // a new file contains zeros
  for (std::size_t index = 0; index < count; ++index) {
    std::strncpy(record->form[index].data(), forms[index], CallRecord::form_bytes - 1);
  }
  record->forms = count;
  record->version = process::call_record_version;
  return record;
}

CallRecord* of_this_process() {
  if (!was_made.exchange(true)) {
    record = made();
  }
  return record;
}

}  // namespace

void note_look(std::uint64_t address, std::uint64_t bytes) {
  CallRecord* const here = of_this_process();
  if (here == nullptr) {
    return;
  }
  const std::uint32_t look = here->looks;
  here->looked_at[look % CallRecord::most_looks] = address;
  here->looked_bytes[look % CallRecord::most_looks] = bytes;
  here->looks = look + 1;
}

void note_call(ApiCall call, std::string_view text, std::uint64_t first, std::uint64_t second,
               std::uint64_t third) {
  CallRecord* const here = of_this_process();
  if (here == nullptr) {
    return;
  }
  if (call >= ApiCall::cl_create_buffer) {
    here->opencl = 1;
  }
  here->number[0] = first;
  here->number[1] = second;
  here->number[2] = third;
  const std::size_t length = std::min(text.size(), CallRecord::text_bytes - 1);
  std::ranges::copy(text.substr(0, length), here->text.begin());
  here->text[length] = '\0';
  here->thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  here->call = static_cast<std::uint32_t>(call) + 1;
}

}  // namespace isthmus::card::clock
