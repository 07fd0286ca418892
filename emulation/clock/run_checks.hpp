// Checks the arguments that a program sets, and the runs that it starts, by XRT's native API.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace isthmus::card::clock {

/// Notes that the program has made `kernel`, an xrt::kernel.
void know_kernel(const void* kernel, std::string_view name);
/// Notes that the program has made `run`, an xrt::run, of `kernel`.
void know_run(const void* run, const void* kernel);
/// Returns the name of an xrt::kernel, or "?" if unknown.
std::string_view name_of_kernel(const void* kernel);
/// Returns the name of the kernel of an xrt::run, or "?" if unknown.
std::string_view kernel_of(const void* run);

/// Note that the program sets an argument to a value, or to a buffer. Warn if the kernel's argument
/// is of the other kind.
void check_value(const void* run, std::uint64_t index, const void* value, std::size_t bytes);
void check_buffer(const void* run, std::uint64_t index, std::uint64_t buffer_bytes);
/// Notes that an argument is set, and checks nothing, because XRT's OpenCL checks it.
void note_set(const void* run, std::uint64_t index);
/// Warns of each scalar argument that the program has not set when it starts a run.
void check_start(const void* run);
/// Returns whether the run was never started, and the program does not learn of its end otherwise.
bool is_unstarted(const void* run);
/// Warns that the program waits for a run that it has never started.
void warn_of_unstarted(const void* run);
/// Notes that the program has waited for the run's end.
void note_waited(const void* run);
/// Begins a start of the run (`starts.hpp`), unless the program learns of the run's end without a
/// call.
void number_start(const void* run);
/// Notes that the program has seen the end of the run.
void see_end_of(const void* run);
/// Notes that the program learns of the run's end without a call: by a callback, an event or the
/// run's packet.
void note_informed(const void* run);
/// Begins a start of the run, before XRT does. `is_under_way` says that XRT's state of the run is
/// that of a run that has not ended. Warns if the program starts a run that runs, or that another
/// thread starts: XRT then throws, and in a thread's function nothing catches that.
void begin_starting(const void* run, bool is_under_way);
/// Ends the start; `done` says that XRT accepted it. If not, warns if the program has not waited
/// for the run's end.
void end_starting(const void* run, bool done);

}  // namespace isthmus::card::clock
