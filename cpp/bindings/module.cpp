#include "bindings.hpp"

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-cstyle-cast): inside nanobind's macro
NB_MODULE(_core, module) {
  module.doc() = "The timing engine of Isthmus and the backends it loads.";
  isthmus::bindings::bind_clock(module);
  isthmus::bindings::bind_stopping(module);
  isthmus::bindings::bind_buffer(module);
  isthmus::bindings::bind_backend(module);
  isthmus::bindings::bind_engine(module);
  isthmus::bindings::bind_host_speed(module);
  isthmus::bindings::bind_communicator(module);
  isthmus::bindings::bind_joint(module);
  isthmus::bindings::bind_offload(module);
}
