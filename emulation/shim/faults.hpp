// Ends the program when the card cannot answer a call, or a kernel crashes.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "isthmus/card/process/kernels.hpp"

namespace isthmus::shim {

/// Writes a line to stderr.
void say(const std::string& text);
/// Writes the line of a mistake of the program's to stderr; with `card exec --fail-on-warning` also
/// to the file of which `card exec` prints the first line.
void say_mistake(const std::string& text);
/// Ends the program by SIGTERM, and after a while by SIGKILL.
[[noreturn]] void end_program();

/// Does an action. An exception is written to stderr and ends the program.
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

/// Enclose the call of a kernel's function: a crash of this thread in between is written to stderr,
/// and ends the program.
void enter_kernel();
void leave_kernel();

}  // namespace isthmus::shim
