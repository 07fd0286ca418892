// Variables of the environment that XRT's shim sets when it loads a bitstream, while a thread of
// its own reads them. The C library then frees the list that the thread goes through, and the
// program dies by a signal: so it does once in some thousand programs on a busy machine.
#pragma once

namespace isthmus::card::clock {

/// As setenv, for names that it would take. No list is freed, nor is an entry, for somebody may
/// be reading it: what is set again to the same value costs no memory. Not beside a setenv of the
/// C library's.
int set_variable(const char* name, const char* value, bool overwrite);
/// In the child of a fork.
void forget_environment_lock();

}  // namespace isthmus::card::clock
