// Faults that the stand-in of an OpenCL runtime makes on demand.
#pragma once

#include <cstddef>

extern "C" {

/// From now on, commands of this kind move nothing: `map`, `unmap`, `kernel`, or `read` and `write`
/// that do not block. Empty: every command moves its data.
void isthmus_stand_in_idles(const char* command);
/// The n-th call from now on that enqueues or flushes fails; 0: none.
void isthmus_stand_in_fails_at(long call);
/// Number of buffers that were released while a command still used them, since the last call.
std::size_t isthmus_stand_in_released_in_use();
}
