// Runs of kernels that XRT's scheduler has not seen to end. It keeps no more than their addresses:
// a program that destroys a run whose kernel still runs would leave it with memory of something
// else. A board's driver has a copy; here such a run lives on until its kernel has ended.
#pragma once

namespace isthmus::card::clock {

/// Commands are kept from now on: the library, at this path, is XRT 2.13's, whose layout is known.
void know_commands(const char* library);
/// The scheduler is to be given this, an `xrt_core::command`.
void keep_command(const void* command);
/// It was not given it.
void drop_command(const void* command);
/// Of those that the scheduler has marked as completed the first is kept no longer; false where
/// there is none.
bool release_completed();
/// How many are not completed, of this `xrt_core::device`; null: of all.
unsigned commands_left(const void* card);
/// In the child of a fork, which has none.
void forget_commands();

}  // namespace isthmus::card::clock
