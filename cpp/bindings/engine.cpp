#include "isthmus/engine.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace isthmus::bindings {

void bind_engine(nb::module_& module) {
  nb::enum_<Verified>(module, "Verified")
      .value("yes", Verified::yes)
      .value("no", Verified::no)
      .value("na", Verified::na);
  nb::class_<Probe>(module, "Probe")
      .def_ro("steal_s", &Probe::steal_s)
      .def_ro("voluntary_switches", &Probe::voluntary_switches)
      .def_ro("involuntary_switches", &Probe::involuntary_switches)
      .def_ro("minor_faults", &Probe::minor_faults)
      .def_ro("major_faults", &Probe::major_faults);
  nb::class_<PartSamples>(module, "PartSamples")
      .def_ro("ticks", &PartSamples::ticks)
      .def_ro("empty_ticks", &PartSamples::empty_ticks)
      .def_ro("device_seconds", &PartSamples::device_seconds)
      .def_ro("simulated_fs", &PartSamples::simulated_fs)
      .def_ro("cold", &PartSamples::cold)
      .def_ro("moved_bytes", &PartSamples::moved_bytes);
  nb::class_<Block>(module, "Block")
      .def_ro("parts", &Block::parts)
      .def_ro("batch", &Block::batch)
      .def_ro("intervals", &Block::intervals)
      .def_ro("verified", &Block::verified)
      .def_ro("remarks", &Block::remarks)
      .def_ro("fault", &Block::fault)
      .def_ro("probe", &Block::probe)
      .def_ro("setup_s", &Block::setup_s)
      .def_ro("block_s", &Block::block_s)
      .def_ro("state", &Block::state);
  nb::class_<SeriesOptions>(module, "SeriesOptions")
      .def(nb::init<>())
      .def_rw("precision", &SeriesOptions::precision)
      .def_rw("confidence", &SeriesOptions::confidence)
      .def_rw("least_block_s", &SeriesOptions::least_block_s)
      .def_rw("most_seconds", &SeriesOptions::most_seconds)
      .def_rw("most_samples", &SeriesOptions::most_samples)
      .def_rw("batch_below_s", &SeriesOptions::batch_below_s)
      .def_rw("least_batch_s", &SeriesOptions::least_batch_s)
      .def_rw("loop_s", &SeriesOptions::loop_s)
      .def_rw("most_loop", &SeriesOptions::most_loop);
  nb::class_<Series>(module, "Series")
      .def(
          "__init__",
          [](Series* self, Device& device, std::string operation, std::size_t bytes,
             std::string memory, std::map<std::string, std::string> axes,
             const SeriesOptions& options) {
            new (self) Series(device,
                              {.name = std::move(operation),
                               .bytes = bytes,
                               .memory = std::move(memory),
                               .axes = std::move(axes)},
                              options);
          },
          "device"_a, "operation"_a, "bytes"_a = 0, "memory"_a = "",
          "axes"_a = std::map<std::string, std::string>{}, "options"_a = SeriesOptions{},
          nb::keep_alive<1, 2>())
      .def("measure", &Series::measure, "most_seconds"_a, nb::call_guard<nb::gil_scoped_release>(),
           "One visit of at most about `most_seconds`; see Block.")
      .def_prop_ro("state", &Series::state);
}

}  // namespace isthmus::bindings
