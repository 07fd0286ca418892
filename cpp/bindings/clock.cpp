#include "isthmus/clock.hpp"

#include "bindings.hpp"
#include "text.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {

void bind_clock(nb::module_& module) {
  nb::class_<ClockInfo>(module, "ClockInfo")
      .def_ro("source", &ClockInfo::source)
      .def_ro("reason", &ClockInfo::reason)
      .def_ro("seconds_per_tick", &ClockInfo::seconds_per_tick)
      .def_ro("uncertainty", &ClockInfo::uncertainty)
      .def_ro("resolution_s", &ClockInfo::resolution_s)
      .def_ro("empty_pair_s", &ClockInfo::empty_pair_s);
  module.def(
      "host_clock", [] { return HostClock::instance().info(); },
      "The calibrated clock of this process (calibrates at first call, about 10 ms).");
}

}  // namespace isthmus::bindings
