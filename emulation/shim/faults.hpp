// What ends the program: a call that the card cannot answer, and a kernel that crashes.
#pragma once

#include <exception>
#include <new>
#include <string>

namespace isthmus::shim {

/// Tells the user a line.
void say(const std::string& text);
/// Ends the program by SIGTERM, and after a while by SIGKILL.
[[noreturn]] void end_program();

/// Does an action; what it throws is told, and ends the program.
template <class Action>
auto guarded(const Action& action) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    say("no memory left");
  } catch (const std::exception& error) {
    say(error.what());
  }
  end_program();
}

/// Between the two this thread runs a kernel's function: a crash is told and ends the program.
void enter_kernel();
void leave_kernel();

}  // namespace isthmus::shim
