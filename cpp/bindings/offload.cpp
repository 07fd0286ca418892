#include "isthmus/offload.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace isthmus::bindings {

void bind_offload(nb::module_& module) {
  const nb::exception<UnavailableError> unavailable(module, "UnavailableError",
                                                    module.attr("BackendError"));
  nb::class_<PhaseSample>(module, "PhaseSample")
      .def_ro("name", &PhaseSample::name)
      .def_ro("ticks", &PhaseSample::ticks)
      .def_ro("simulated_fs", &PhaseSample::simulated_fs)
      .def_ro("probe", &PhaseSample::probe);
  nb::class_<OffloadRecord>(module, "OffloadRecord")
      .def_ro("first", &OffloadRecord::first)
      .def_ro("again", &OffloadRecord::again)
      .def_ro("verified", &OffloadRecord::verified)
      .def_ro("fault", &OffloadRecord::fault)
      .def_ro("steal_s", &OffloadRecord::steal_s)
      .def_ro("wall_s", &OffloadRecord::wall_s);
  module.def(
      "measure_offload",
      [](Backend& backend, const std::string& id, const Options& options, std::size_t bytes,
         std::string memory, std::map<std::string, std::string> axes, unsigned again) {
        const auto offload = backend.offload(id, options,
                                             {.name = "offload",
                                              .bytes = bytes,
                                              .memory = std::move(memory),
                                              .axes = std::move(axes)});
        return measure_offload(*offload, again);
      },
      "backend"_a, "id"_a, "options"_a, "bytes"_a, "memory"_a, "axes"_a, "again"_a,
      nb::call_guard<nb::gil_scoped_release>(),
      "Phase by phase, once and `again` times more; only the first call in a process is cold.");
}

}  // namespace isthmus::bindings
