#include "isthmus/host_speed.hpp"

#include "bindings.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace isthmus::bindings {

void bind_host_speed(nb::module_& module) {
  nb::class_<HostSpeed>(module, "HostSpeed")
      .def_ro("system_call_s", &HostSpeed::system_call_s)
      .def_ro("copy_s", &HostSpeed::copy_s)
      .def_ro("arithmetic_s", &HostSpeed::arithmetic_s);
  nb::class_<HostReferences>(module, "HostReferences")
      .def(nb::init<int>(), "descriptor"_a = -1)
      .def("read", &HostReferences::read, nb::call_guard<nb::gil_scoped_release>(),
           "Times each reference: how fast the host is now.");
}

}  // namespace isthmus::bindings
