// Functions that each make the classes of one public header known to Python; module.cpp calls all.
#pragma once

#include <nanobind/nanobind.h>

namespace isthmus::bindings {

void bind_clock(nanobind::module_& module);
void bind_stopping(nanobind::module_& module);
void bind_buffer(nanobind::module_& module);
void bind_backend(nanobind::module_& module);
void bind_engine(nanobind::module_& module);
void bind_host_speed(nanobind::module_& module);
void bind_communicator(nanobind::module_& module);
void bind_joint(nanobind::module_& module);
void bind_offload(nanobind::module_& module);

}  // namespace isthmus::bindings
