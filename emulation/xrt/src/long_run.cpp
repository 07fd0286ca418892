#include "isthmus/card/process/long_run.hpp"

namespace isthmus::card::process {
std::string long_run(const std::string& instance) {
  return "kernel " + instance + " has computed for " + std::to_string(long_run_seconds) +
         " s of wall time and goes on; it may never end: Ctrl-C ends the program";
}

}  // namespace isthmus::card::process
