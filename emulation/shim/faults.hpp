// Ends the program when the card cannot answer a call, or a kernel crashes.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "isthmus/card/process/kernels.hpp"

namespace isthmus::shim {

/// Writes a line to stderr.
void say(const std::string& text);
/// Writes a warning about the program to stderr. With `card exec --fail-on-warning` it also writes
/// the warning to a file, whose first line `card exec` prints.
void say_mistake(const std::string& text);
/// Ends the program by SIGTERM, and after 3 s by SIGKILL.
[[noreturn]] void end_program();

/// Does an action. If it throws, the text of the exception goes to stderr, and the program ends.
template <class Action>
auto guarded(const Action& action) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    say("no memory left");
  } catch (const card::process::UnsetArgumentError& error) {
    say_mistake(error.what());
  } catch (const std::exception& error) {
    say(error.what());
  }
  end_program();
}

/// `enter_kernel` and `leave_kernel` enclose the call of a kernel's function. A crash of this
/// thread between them is reported on stderr, and ends the program.
void enter_kernel();
void leave_kernel();

}  // namespace isthmus::shim
