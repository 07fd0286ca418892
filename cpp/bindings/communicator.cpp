#include "isthmus/communicator.hpp"

#include <nanobind/stl/unique_ptr.h>

#include "bindings.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace isthmus::bindings {

void bind_communicator(nb::module_& module) {
  nb::enum_<Activity>(module, "Activity", "Activity of a rank.")
      .value("working", Activity::working)
      .value("exchanging", Activity::exchanging)
      .value("waiting", Activity::waiting);
  nb::class_<Communicator>(module, "Communicator")
      .def_prop_ro("rank", &Communicator::rank)
      .def_prop_ro("size", &Communicator::size)
      .def_prop_ro("activity", [](const Communicator& self) { return self.activity(); });
  module.def("single_process_communicator", &single_process_communicator,
             "A communicator with one rank.");
  module.def("mpi_communicator", &mpi_communicator, "vendor"_a, "handle"_a,
             nb::call_guard<nb::gil_scoped_release>(),
             "A duplicate of a communicator of the MPI that this process has loaded and "
             "initialised, by the value of its handle. Collective over it.");
}

}  // namespace isthmus::bindings
