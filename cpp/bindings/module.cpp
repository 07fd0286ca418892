#include <exception>

#include "bindings.hpp"
#include "text.hpp"

namespace {

/// A vendor's exception whose message is no UTF-8: nanobind would raise UnicodeDecodeError.
void raise_undecodable(const std::exception_ptr& thrown, void* /*unused*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    if (PyObject* text = PyUnicode_FromString(error.what()); text != nullptr) {
      Py_DECREF(text);
      throw;  // nanobind knows its type
    }
    PyErr_Clear();
    isthmus::bindings::raise(PyExc_RuntimeError, error.what());
  }
}

}  // namespace

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-cstyle-cast): inside nanobind's macro
NB_MODULE(_core, module) {
  module.doc() = "The timing engine of Isthmus and the backends it loads.";
  nanobind::register_exception_translator(raise_undecodable);  // tried after those that follow
  isthmus::bindings::bind_clock(module);
  isthmus::bindings::bind_stopping(module);
  isthmus::bindings::bind_buffer(module);
  isthmus::bindings::bind_backend(module);
  isthmus::bindings::bind_engine(module);
  isthmus::bindings::bind_host_speed(module);
  isthmus::bindings::bind_communicator(module);
  isthmus::bindings::bind_joint(module);
  isthmus::bindings::bind_offload(module);
}
