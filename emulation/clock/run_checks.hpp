// What a program sets of its kernels' arguments by XRT's native API, and mistakes in that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace isthmus::card::clock {

/// The program has made a kernel; `kernel` is the xrt::kernel.
void know_kernel(const void* kernel, std::string_view name);
/// The program has made a run, the xrt::run, of the xrt::kernel.
void know_run(const void* run, const void* kernel);
/// Name of a run's kernel, "?" where it is not known.
std::string_view kernel_of(const void* run);

/// The program sets an argument to a value, or to a buffer. Tells of one of the other kind.
void check_value(const void* run, std::uint64_t index, const void* value, std::size_t bytes);
void check_buffer(const void* run, std::uint64_t index, std::uint64_t buffer_bytes);
/// The same, unchecked: by XRT's OpenCL, which checks its arguments.
void note_set(const void* run, std::uint64_t index);
/// Warns, when the program starts a run, of values that were never set.
void check_start(const void* run);
/// The start has succeeded, or the program has waited for the run.
void set_running(const void* run, bool running);
/// The start has failed: tells the user if the run was started before, and nobody has waited.
void check_failed_start(const void* run);

}  // namespace isthmus::card::clock
