#include "isthmus/joint.hpp"

#include <nanobind/stl/map.h>

#include "bindings.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace isthmus::bindings {

void bind_joint(nb::module_& module) {
  nb::class_<JointSeries>(module, "JointSeries")
      .def(
          "__init__",
          [](JointSeries* self, Device& device, std::string operation, std::size_t bytes,
             std::string memory, std::map<std::string, std::string> axes,
             const SeriesOptions& options, Communicator& communicator) {
            new (self) JointSeries(device,
                                   {.name = std::move(operation),
                                    .bytes = bytes,
                                    .memory = std::move(memory),
                                    .axes = std::move(axes)},
                                   options, communicator);
          },
          "device"_a, "operation"_a, "bytes"_a, "memory"_a, "axes"_a, "options"_a, "communicator"_a,
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 8>())
      .def("measure", &JointSeries::measure, "most_seconds"_a,
           nb::call_guard<nb::gil_scoped_release>(),
           "One visit by all ranks together; part 0 of the block is the slowest rank of each "
           "sample, part 1 + r is rank r.")
      .def_prop_ro("state", &JointSeries::state);
}

}  // namespace isthmus::bindings
