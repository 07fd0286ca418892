#include "isthmus/buffer.hpp"

#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace isthmus::bindings {

void bind_buffer(nb::module_& module) {
  module.def("host_memory_kinds", &HostBuffer::kinds,
             "Kinds of host memory that every backend with host buffers offers.");
  module.def("knows_host_memory", &HostBuffer::knows, "kind"_a,
             "Whether `kind` is one of host_memory_kinds, offset<N> or node<N>.");
  module.def("memory_nodes", &memory_nodes, "NUMA nodes of this machine that have memory.");
}

}  // namespace isthmus::bindings
