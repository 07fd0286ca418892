// Ends the program with a message if the card cannot do a call, or a kernel crashes.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "isthmus/card/process/kernels.hpp"

namespace isthmus::shim {

/// Writes a line to stderr.
void say(const std::string& text);
/// Writes a warning about the program to stderr. With `card exec --fail-on-warning` also to a file,
/// whose first line `card exec` prints at the end.
void say_mistake(const std::string& text);
/// Ends the program by SIGTERM, and 3 s later by SIGKILL.
[[noreturn]] void end_program();

/// Does an action. If it throws, writes the exception's text to stderr and ends the program.
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

/// Call these before and after a kernel's function. If this thread crashes between, the crash is
/// reported on stderr and the program ends.
void enter_kernel();
void leave_kernel();

}  // namespace isthmus::shim
