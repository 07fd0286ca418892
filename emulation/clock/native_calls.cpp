// Stands in front of functions of XRT's native API. Notes the program's last call, and has the
// arguments checked that the program gives its kernels.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "host_events.hpp"
#include "last_call.hpp"
#include "leaving.h"
#include "libraries.hpp"
#include "library.hpp"
#include "of_xrt.hpp"
#include "run_checks.hpp"
#include "starts.hpp"

namespace isthmus::card::clock {
namespace {

/// The first fields of libstdc++'s std::string, which is read without the C++ library.
struct Text {
  const char* data;
  std::size_t size;
};

/// Returns whether an XRT object is empty: the shared pointer at its begin is then null.
bool is_null(const void* object) { return *static_cast<const void* const*>(object) == nullptr; }

/// Returns whether code is the program's: XRT's libraries also call these functions.
bool is_of_program(const void* code) { return !in_xrt(code); }

constexpr const char* load_name =
    "_ZN3xrt6device11load_xclbinERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
constexpr const char* kernel_name =
    "_ZN3xrt6kernelC1ERKNS_6deviceERKNS_4uuidERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE"
    "ENS0_14cu_access_modeE";

constinit OfXrt<void*(void*, void*, const Text*)> real_load(load_name);
constinit OfXrt<void(void*, const void*, const void*, const Text*, int)> real_kernel(kernel_name);
constinit OfXrt<void(void*, void*, const void*, const Text*, int)> real_kernel_of_handle(
    "_ZN3xrt6kernelC1EPvRKNS_4uuidERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEENS0_14cu_"
    "access_modeE");
constinit OfXrt<void(void*, const void*)> real_make_run("_ZN3xrt3runC1ERKNS_6kernelE");
constinit OfXrt<void(void*, int, const void*, std::size_t)> real_set_value(
    "_ZN3xrt3run16set_arg_at_indexEiPKvm");
constinit OfXrt<void(void*, int, const void*)> real_set_buffer(
    "_ZN3xrt3run16set_arg_at_indexEiRKNS_2boE");
constinit OfXrt<void(const void*, std::size_t, const void*, std::size_t)> real_set_inside(
    "_ZN8xrt_core10kernel_int16set_arg_at_indexERKN3xrt3runEmPKvm");
constinit OfXrt<void(void*)> real_start("_ZN3xrt3run5startEv");
constinit OfXrt<int(const void*, const void*)> real_wait(
    "_ZNK3xrt3run4waitERKNSt6chrono8durationIlSt5ratioILl1ELl1000EEEE");
constinit OfXrt<int(const void*, const void*)> real_wait2(
    "_ZNK3xrt3run5wait2ERKNSt6chrono8durationIlSt5ratioILl1ELl1000EEEE");
constinit OfXrt<int(const void*)> real_state_of_run("_ZNK3xrt3run5stateEv");
constinit OfXrt<int(void*)> real_abort("_ZN3xrt3run5abortEv");
constinit OfXrt<void(void*)> real_stop("_ZN3xrt3run4stopEv");
constinit OfXrt<void(void*, int, void*, void*)> real_add_callback(
    "_ZN3xrt3run12add_callbackE13ert_cmd_stateSt8functionIFvPKvS1_PvEES5_");
constinit OfXrt<void(const void*, const void*)> real_set_event(
    "_ZNK3xrt3run9set_eventERKSt10shared_ptrINS_10event_implEE");
constinit OfXrt<void*(const void*)> real_packet("_ZNK3xrt3run14get_ert_packetEv");
constinit OfXrt<int(const void*, int)> real_group("_ZNK3xrt6kernel8group_idEi");
constinit OfXrt<void(void*, void*, std::size_t, int, unsigned)> real_buffer(
    "_ZN3xrt2boC1EPvmNS0_5flagsEj");
constinit OfXrt<std::size_t(const void*)> real_size("_ZNK3xrt2bo4sizeEv");
constinit OfXrt<std::uint64_t(const void*)> real_address("_ZNK3xrt2bo7addressEv");
constinit OfXrt<void(void*, int, std::size_t, std::size_t)> real_sync(
    "_ZN3xrt2bo4syncE18xclBOSyncDirectionmm");
constinit OfXrt<void(void*, const void*, std::size_t, std::size_t)> real_write(
    "_ZN3xrt2bo5writeEPKvmm");
constinit OfXrt<void(void*, void*, std::size_t, std::size_t)> real_read("_ZN3xrt2bo4readEPvmm");
constinit OfXrt<void*(void*)> real_map("_ZN3xrt2bo3mapEv");

/// States of a run that has not ended (ert_cmd_state of `ert.h`).
enum : std::uint8_t { is_new = 1, queued = 2, running = 3, submitted = 7, timed_out = 8 };

/// Returns whether a state means that the run has ended.
bool has_ended(int state) {
  return state != is_new && state != queued && state != running && state != submitted &&
         state != timed_out;
}

/// Returns whether a run was started and has not ended, by its packet: `xrt::run::state` would have
/// XRT accept a start that it refuses otherwise.
bool is_under_way(const void* run) {
  const void* const packet = is_null(run) ? nullptr : real_packet(run);
  if (packet == nullptr) {
    return false;
  }
  constexpr std::uint32_t state_mask = 0xf;
  const auto state = static_cast<int>(
      __atomic_load_n(static_cast<const std::uint32_t*>(packet), __ATOMIC_ACQUIRE) & state_mask);
  return state != is_new && !has_ended(state);
}

/// The run that this thread starts, and whether XRT has accepted the start.
struct Start {
  void* run = nullptr;
  bool done = false;
  bool count_again = false;  ///< whether the thread's computing must count again after the start
};
thread_local constinit Start starting{};

void start_now(const void* /*nothing*/) {
  real_start(starting.run);
  starting.done = true;
}

/// The argument that this thread sets to a buffer. Without a run the thread sets none.
struct Setting {
  void* run = nullptr;
  int index = 0;
  const void* buffer = nullptr;
};
thread_local constinit Setting setting{};

void set_now(const void* /*nothing*/) {
  real_set_buffer(setting.run, setting.index, setting.buffer);
}

void leave_setting() { setting = {}; }

void leave_start() {
  end_start();
  if (starting.count_again) {
    program_time.set_computing_counts(true);
  }
  end_starting(starting.run, starting.done);
}

}  // namespace
}  // namespace isthmus::card::clock

using namespace isthmus::card::clock;

ISTHMUS_INTERPOSED void* load_xclbin(void* result, void* device, const Text* name) asm(
    "_ZN3xrt6device11load_xclbinERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE");
ISTHMUS_INTERPOSED void
make_kernel(void* kernel, const void* device, const void* uuid, const Text* name, int mode) asm(
    "_ZN3xrt6kernelC1ERKNS_6deviceERKNS_4uuidERKNSt7_"
    "_cxx1112basic_stringIcSt11char_traitsIcESaIcEEEN"
    "S0_14cu_access_modeE");
ISTHMUS_INTERPOSED void
make_kernel_of_handle(void* kernel, void* device, const void* uuid, const Text* name, int mode) asm(
    "_ZN3xrt6kernelC1EPvRKNS_4uuidERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaI"
    "cEEENS0_14cu_access_modeE");
ISTHMUS_INTERPOSED void make_run(void* run, const void* kernel) asm("_ZN3xrt3runC1ERKNS_6kernelE");
ISTHMUS_INTERPOSED void set_value(void* run, int index, const void* value,
                                  std::size_t bytes) asm("_ZN3xrt3run16set_arg_at_indexEiPKvm");
ISTHMUS_INTERPOSED void set_buffer(void* run, int index, const void* buffer) asm(
    "_ZN3xrt3run16set_arg_at_indexEiRKNS_2boE");
ISTHMUS_INTERPOSED void
set_inside(const void* run, std::size_t index, const void* value, std::size_t bytes) asm(
    "_ZN8xrt_core10kernel_int16set_arg_at_"
    "indexERKN3xrt3runEmPKvm");
ISTHMUS_INTERPOSED void start_run(void* run) asm("_ZN3xrt3run5startEv");
ISTHMUS_INTERPOSED int wait_run(const void* run, const void* timeout) asm(
    "_ZNK3xrt3run4waitERKNSt6chrono8durationIlSt5ratioILl1ELl1000EEEE");
ISTHMUS_INTERPOSED int wait_run_in_time(const void* run, const void* timeout) asm(
    "_ZNK3xrt3run5wait2ERKNSt6chrono8durationIlSt5ratioILl1ELl1000EEEE");
ISTHMUS_INTERPOSED int state_of_run(const void* run) asm("_ZNK3xrt3run5stateEv");
ISTHMUS_INTERPOSED int abort_run(void* run) asm("_ZN3xrt3run5abortEv");
ISTHMUS_INTERPOSED void stop_run(void* run) asm("_ZN3xrt3run4stopEv");
/// Adds a callback to a run. `function` is a std::function, which the caller destroys.
ISTHMUS_INTERPOSED void add_callback(void* run, int state, void* function, void* data) asm(
    "_ZN3xrt3run12add_callbackE13ert_cmd_stateSt8functionIFvPKvS1_PvEES5_");
ISTHMUS_INTERPOSED void set_event(const void* run, const void* event) asm(
    "_ZNK3xrt3run9set_eventERKSt10shared_ptrINS_10event_implEE");
ISTHMUS_INTERPOSED void* packet_of_run(const void* run) asm("_ZNK3xrt3run14get_ert_packetEv");
ISTHMUS_INTERPOSED int group_of_argument(const void* kernel,
                                         int argument) asm("_ZNK3xrt6kernel8group_idEi");
ISTHMUS_INTERPOSED void make_buffer(void* buffer, void* device, std::size_t bytes, int flags,
                                    unsigned group) asm("_ZN3xrt2boC1EPvmNS0_5flagsEj");
ISTHMUS_INTERPOSED void
sync_buffer(void* buffer, int direction, std::size_t bytes, std::size_t offset) asm(
    "_ZN3xrt2bo4syncE18xclBOSyncDirection"
    "mm");
ISTHMUS_INTERPOSED void write_buffer(void* buffer, const void* source, std::size_t bytes,
                                     std::size_t offset) asm("_ZN3xrt2bo5writeEPKvmm");
ISTHMUS_INTERPOSED void read_buffer(void* buffer, void* target, std::size_t bytes,
                                    std::size_t offset) asm("_ZN3xrt2bo4readEPvmm");
ISTHMUS_INTERPOSED void* map_buffer(void* buffer) asm("_ZN3xrt2bo3mapEv");

ISTHMUS_INTERPOSED void* load_xclbin(void* result, void* device, const Text* name) {
  note_call(ApiCall::load_xclbin, {name->data, name->size});
  return real_load(result, device, name);
}

ISTHMUS_INTERPOSED void make_kernel(void* kernel, const void* device, const void* uuid,
                                    const Text* name, int mode) {
  if (is_of_program(__builtin_return_address(0))) {
    note_call(ApiCall::open_kernel, {name->data, name->size});
  }
  real_kernel(kernel, device, uuid, name, mode);
  know_kernel(kernel, {name->data, name->size});
}

ISTHMUS_INTERPOSED void make_kernel_of_handle(void* kernel, void* device, const void* uuid,
                                              const Text* name, int mode) {
  real_kernel_of_handle(kernel, device, uuid, name, mode);
  know_kernel(kernel, {name->data, name->size});
}

ISTHMUS_INTERPOSED void make_run(void* run, const void* kernel) {
  real_make_run(run, kernel);
  know_run(run, kernel);
  if (is_of_program(__builtin_return_address(0))) {
    note_call(ApiCall::make_run, kernel_of(run));
  }
}

ISTHMUS_INTERPOSED void set_value(void* run, int index, const void* value, std::size_t bytes) {
  const auto place = static_cast<std::uint64_t>(index);
  note_call(ApiCall::set_value, kernel_of(run), place, bytes);
  check_value(run, place, value, bytes);
  real_set_value(run, index, value, bytes);
}

ISTHMUS_INTERPOSED void set_buffer(void* run, int index, const void* buffer) {
  const auto place = static_cast<std::uint64_t>(index);
  const std::size_t bytes = is_null(buffer) ? 0 : real_size(buffer);
  note_call(ApiCall::set_buffer, kernel_of(run), place, bytes);
  check_buffer(run, place, bytes);
  setting = {.run = run, .index = index, .buffer = buffer};
  isthmus_call(set_now, nullptr, leave_setting);
}

/// Returns the name of the kernel if the calling thread sets an argument to a buffer, and the
/// argument's number; null if it does not. The shim asks for this when XRT copies a buffer.
ISTHMUS_INTERPOSED const char* isthmus_clock_sets_argument(std::uint64_t* number) {
  if (setting.run == nullptr) {
    return nullptr;
  }
  *number = static_cast<std::uint64_t>(setting.index);
  return kernel_of(setting.run).data();
}

/// Sets an argument; XRT's OpenCL uses this function.
ISTHMUS_INTERPOSED void set_inside(const void* run, std::size_t index, const void* value,
                                   std::size_t bytes) {
  note_set(run, index);
  real_set_inside(run, index, value, bytes);
}

ISTHMUS_INTERPOSED void start_run(void* run) {
  if (!is_of_program(__builtin_return_address(0))) {
    real_start(run);
    return;
  }
  note_call(ApiCall::start_run, kernel_of(run));
  check_start(run);
  begin_starting(run, is_under_way(run));
  starting = {.run = run};
  number_start(run);
  // The first launch computes no time: a board's `driver.first_launch_ns` stands for its cold code.
  static constinit std::atomic<bool> has_started = false;
  starting.count_again = !has_started.exchange(true) && program_time.set_computing_counts(false);
  isthmus_call(start_now, nullptr, leave_start);
}

/// Warns of a wait without a limit for a run that was never started. `timeout`: milliseconds, 0 for
/// no limit.
void check_endless_wait(const void* run, const void* timeout) {
  // A start by a run list changes the state, too.
  if (*static_cast<const long*>(timeout) == 0 && is_unstarted(run) &&
      real_state_of_run(run) == is_new) {
    warn_of_unstarted(run);
  }
}

ISTHMUS_INTERPOSED int wait_run(const void* run, const void* timeout) {
  if (is_of_program(__builtin_return_address(0))) {
    note_call(ApiCall::wait_run, kernel_of(run));
    check_endless_wait(run, timeout);
  }
  const int state = real_wait(run, timeout);
  if (has_ended(state)) {
    note_waited(run);
    see_end_of(run);
  }
  return state;
}

/// Waits for a run with a timeout, in XRT 2.16 and later.
ISTHMUS_INTERPOSED int wait_run_in_time(const void* run, const void* timeout) {
  if (is_of_program(__builtin_return_address(0))) {
    note_call(ApiCall::wait_run, kernel_of(run));
    check_endless_wait(run, timeout);
  }
  const int status = real_wait2(run, timeout);  // the result is a std::cv_status
  if (status == 0) {
    note_waited(run);
    see_end_of(run);
  }
  return status;
}

ISTHMUS_INTERPOSED int state_of_run(const void* run) {
  const int state = real_state_of_run(run);
  if (has_ended(state)) {
    note_waited(run);
    see_end_of(run);
  }
  return state;
}

ISTHMUS_INTERPOSED int abort_run(void* run) {
  const int state = real_abort(run);
  see_end_of(run);
  return state;
}

ISTHMUS_INTERPOSED void stop_run(void* run) {
  real_stop(run);
  see_end_of(run);
}

ISTHMUS_INTERPOSED void add_callback(void* run, int state, void* function, void* data) {
  note_informed(run);
  real_add_callback(run, state, function, data);
}

ISTHMUS_INTERPOSED void set_event(const void* run, const void* event) {
  note_informed(run);
  real_set_event(run, event);
}

ISTHMUS_INTERPOSED void* packet_of_run(const void* run) {
  if (is_of_program(__builtin_return_address(0))) {
    note_informed(run);
  }
  return real_packet(run);
}

ISTHMUS_INTERPOSED int group_of_argument(const void* kernel, int argument) {
  if (is_of_program(__builtin_return_address(0))) {
    note_call(ApiCall::group_id, name_of_kernel(kernel), static_cast<std::uint64_t>(argument));
  }
  return real_group(kernel, argument);
}

ISTHMUS_INTERPOSED void make_buffer(void* buffer, void* device, std::size_t bytes, int flags,
                                    unsigned group) {
  if (is_of_program(__builtin_return_address(0))) {
    note_call(ApiCall::make_buffer, {}, bytes, static_cast<std::uint64_t>(flags), group);
  }
  real_buffer(buffer, device, bytes, flags, group);
}

ISTHMUS_INTERPOSED void sync_buffer(void* buffer, int direction, std::size_t bytes,
                                    std::size_t offset) {
  constexpr int to_card = 0;
  if (is_of_program(__builtin_return_address(0))) {
    note_call(direction == to_card ? ApiCall::sync_to_card : ApiCall::sync_from_card, {}, bytes,
              offset);
  }
  real_sync(buffer, direction, bytes, offset);
}

ISTHMUS_INTERPOSED void write_buffer(void* buffer, const void* source, std::size_t bytes,
                                     std::size_t offset) {
  if (is_of_program(__builtin_return_address(0))) {
    note_call(ApiCall::write_buffer, {}, bytes, offset);
  }
  const HostCopy copy(bytes);
  real_write(buffer, source, bytes, offset);
}

ISTHMUS_INTERPOSED void read_buffer(void* buffer, void* target, std::size_t bytes,
                                    std::size_t offset) {
  if (is_of_program(__builtin_return_address(0)) && !is_null(buffer)) {
    note_call(ApiCall::read_buffer, {}, bytes, offset);
    note_look(real_address(buffer) + offset, bytes);
  }
  const HostCopy copy(bytes);
  real_read(buffer, target, bytes, offset);
}

ISTHMUS_INTERPOSED void* map_buffer(void* buffer) {
  if (is_of_program(__builtin_return_address(0)) && !is_null(buffer)) {
    note_call(ApiCall::map_buffer, {});
    note_look(real_address(buffer), 0);
  }
  return real_map(buffer);
}
