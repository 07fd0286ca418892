// What the stand-in of an OpenCL runtime is told to do wrong.
#pragma once

#include <cstddef>

extern "C" {

/// From now on a command of this kind moves nothing: `map`, `unmap`, `kernel`, or `read` and
/// `write` that do not block. Empty: all move.
void isthmus_stand_in_idles(const char* command);
/// The n-th call from now on that enqueues or flushes fails; 0: none.
void isthmus_stand_in_fails_at(long call);
/// Buffers that were released, since the last question, while a command still used them.
std::size_t isthmus_stand_in_released_in_use();
}
