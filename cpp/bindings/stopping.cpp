#include "isthmus/stopping.hpp"

#include <nanobind/ndarray.h>

#include "bindings.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace isthmus::bindings {

using Samples = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void bind_stopping(nb::module_& module) {
  nb::class_<Interval>(module, "Interval")
      .def_ro("median", &Interval::median)
      .def_ro("low", &Interval::low)
      .def_ro("high", &Interval::high)
      .def_prop_ro("relative_half_width", &Interval::relative_half_width);
  module.def(
      "median_interval",
      [](const Samples& samples, double confidence, double resolution) {
        return median_interval(std::span(samples.data(), samples.size()), confidence, resolution);
      },
      "samples"_a, "confidence"_a = 0.95, "resolution"_a = 0.0,
      "Median and its distribution-free interval (order statistics).");
  module.attr("first_look") = first_look;
  module.def(
      "step_of",
      [](const Samples& samples) { return step_of(std::span(samples.data(), samples.size())); },
      "samples"_a, "Smallest difference between two samples; 0 if all are equal.");
}

}  // namespace isthmus::bindings
