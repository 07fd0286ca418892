#include "isthmus/backend.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace isthmus::bindings {

void bind_backend(nb::module_& module) {
  bind_error<UsageError>(module, "UsageError", PyExc_ValueError);
  const auto backend_error = bind_error<BackendError>(module, "BackendError", PyExc_RuntimeError);
  bind_error<DeviceLostError>(module, "DeviceLostError", backend_error);

  nb::enum_<ClockDomain>(module, "ClockDomain")
      .value("host", ClockDomain::host)
      .value("device", ClockDomain::device)
      .value("simulated", ClockDomain::simulated)
      .value("hybrid", ClockDomain::hybrid);
  nb::class_<PartInfo>(module, "PartInfo")
      .def_ro("name", &PartInfo::name)
      .def_ro("direction", &PartInfo::direction)
      .def_ro("initiator", &PartInfo::initiator);
  nb::class_<AxisInfo>(module, "AxisInfo")
      .def_ro("name", &AxisInfo::name)
      .def_ro("usual", &AxisInfo::usual)
      .def_ro("values", &AxisInfo::values)
      .def_ro("buffers", &AxisInfo::buffers)
      .def_ro("most", &AxisInfo::most);
  nb::class_<OperationInfo>(module, "OperationInfo")
      .def_ro("name", &OperationInfo::name)
      .def_ro("parts", &OperationInfo::parts)
      .def_ro("sized", &OperationInfo::sized)
      .def_ro("axes", &OperationInfo::axes)
      .def_ro("memory_kinds", &OperationInfo::memory_kinds)
      .def_ro("device_buffers", &OperationInfo::device_buffers)
      .def_ro("most_bytes", &OperationInfo::most_bytes)
      .def_ro("unit_bytes", &OperationInfo::unit_bytes)
      .def_ro("joint", &OperationInfo::joint)
      .def_ro("api", &OperationInfo::api);
  nb::class_<DeviceInfo>(module, "DeviceInfo")
      .def_ro("id", &DeviceInfo::id)
      .def_ro("name", &DeviceInfo::name)
      .def_ro("platform", &DeviceInfo::platform)
      .def_ro("api", &DeviceInfo::api)
      .def_ro("max_buffer_bytes", &DeviceInfo::max_buffer_bytes)
      .def_ro("memory_bytes", &DeviceInfo::memory_bytes)
      .def_ro("memory_kinds", &DeviceInfo::memory_kinds)
      .def_ro("operations", &DeviceInfo::operations)
      .def_ro("lacks", &DeviceInfo::lacks)
      .def_ro("properties", &DeviceInfo::properties)
      .def_ro("clock", &DeviceInfo::clock)
      .def_ro("offloads", &DeviceInfo::offloads);
  nb::class_<Device>(module, "Device").def_prop_ro("info", &Device::info, nb::rv_policy::copy);
  nb::class_<Backend>(module, "Backend")
      .def("devices", &Backend::devices, nb::call_guard<nb::gil_scoped_release>())
      .def("open", &Backend::open, "id"_a, "options"_a = Options{},
           nb::call_guard<nb::gil_scoped_release>());
  module.def("load_backend", &load_backend, "path"_a,
             "Loads a backend's shared object. Raises BackendError if it cannot.");
}

}  // namespace isthmus::bindings
