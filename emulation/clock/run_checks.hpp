// Checks of the arguments that a program sets by XRT's native API.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace isthmus::card::clock {

/// Notes that the program has made a kernel; `kernel` is the xrt::kernel.
void know_kernel(const void* kernel, std::string_view name);
/// Notes that the program has made a run (xrt::run) of the xrt::kernel.
void know_run(const void* run, const void* kernel);
/// Returns the name of a kernel (an xrt::kernel); "?" if it is not known.
std::string_view name_of_kernel(const void* kernel);
/// Returns the name of a run's kernel; "?" if it is not known.
std::string_view kernel_of(const void* run);

/// Notes that the program sets an argument to a value, or to a buffer. Warns if the argument is of
/// the other kind.
void check_value(const void* run, std::uint64_t index, const void* value, std::size_t bytes);
void check_buffer(const void* run, std::uint64_t index, std::uint64_t buffer_bytes);
/// Notes that an argument is set, without a check: XRT's OpenCL checks its arguments.
void note_set(const void* run, std::uint64_t index);
/// Warns, when the program starts a run, of scalar arguments that it has never set.
void check_start(const void* run);
/// Whether no start of the run is known, and the program gets no word of the run's end.
bool is_unstarted(const void* run);
/// Warns that the program waits for a run that it has never started.
void warn_of_unstarted(const void* run);
/// Notes that the start has succeeded, or that the program has waited for the run.
void set_running(const void* run, bool running);
/// Begins a start of the run (`starts.hpp`), unless the program learns of the run's end by itself.
void number_start(const void* run);
/// Notes that the program has seen the run's end.
void see_end_of(const void* run);
/// Notes that the program learns of the run's end without a call: by a callback, an event, or the
/// run's packet.
void note_informed(const void* run);
/// After a failed start, warns if the run still runs: the program has not waited for its end.
void check_failed_start(const void* run);

}  // namespace isthmus::card::clock
