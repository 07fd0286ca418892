#include "isthmus/offload.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace isthmus::bindings {
namespace {

/// Where an offload has its vectors: a kind of memory, and the axes' values by name.
using Placement = std::pair<std::string, std::map<std::string, std::string>>;

}  // namespace

void bind_offload(nb::module_& module) {
  bind_error<UnavailableError>(module, "UnavailableError", module.attr("BackendError"));
  nb::class_<PhaseSample>(module, "PhaseSample")
      .def_ro("name", &PhaseSample::name)
      .def_ro("ticks", &PhaseSample::ticks)
      .def_ro("simulated_fs", &PhaseSample::simulated_fs)
      .def_ro("probe", &PhaseSample::probe);
  nb::class_<OffloadRecord>(module, "OffloadRecord")
      .def_ro("first", &OffloadRecord::first)
      .def_ro("again", &OffloadRecord::again)
      .def_ro("reference", &OffloadRecord::reference)
      .def_ro("verified", &OffloadRecord::verified)
      .def_ro("fault", &OffloadRecord::fault)
      .def_ro("steal_s", &OffloadRecord::steal_s)
      .def_ro("wall_s", &OffloadRecord::wall_s);
  module.def(
      "measure_offload",
      [](Backend& backend, const std::string& id, const Options& options, std::size_t bytes,
         const Placement& placement, unsigned again, const std::optional<Placement>& reference) {
        const auto spec = [bytes](const Placement& where) {
          return OperationSpec{
              .name = "offload", .bytes = bytes, .memory = where.first, .axes = where.second};
        };
        const auto offload = backend.offload(id, options, spec(placement));
        return measure_offload(*offload, again,
                               reference ? std::optional(spec(*reference)) : std::nullopt);
      },
      "backend"_a, "id"_a, "options"_a, "bytes"_a, "placement"_a, "again"_a,
      "reference"_a = nb::none(), nb::call_guard<nb::gil_scoped_release>(),
      "Times each phase, once and `again` times more, in turn with the reference if it is given. "
      "Only the first call in a process is cold. A placement is a kind of memory and its axes.");
}

}  // namespace isthmus::bindings
