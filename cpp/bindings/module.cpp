#include <array>
#include <csignal>
#include <exception>

#include "bindings.hpp"
#include "text.hpp"

namespace {

/// Translates a vendor's exception whose message is not UTF-8: nanobind would raise
/// UnicodeDecodeError.
void raise_undecodable(const std::exception_ptr& thrown, void* /*unused*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    if (PyObject* text = PyUnicode_FromString(error.what()); text != nullptr) {
      Py_DECREF(text);
      throw;  // nanobind translates every other exception
    }
    PyErr_Clear();
    isthmus::bindings::raise(PyExc_RuntimeError, error.what());
  }
}

/// Defers SIGINT and SIGTERM during its lifetime. nanobind would end the process with a trace if
/// Python's KeyboardInterrupt came while it creates an enumeration.
class DeferredSignals {
 public:
  DeferredSignals() {
    struct sigaction note{};
    note.sa_handler = [](int number) { arrived = number; };
    for (std::size_t i = 0; i < deferred.size(); ++i) {
      sigaction(deferred[i], &note, &before_[i]);
    }
  }
  DeferredSignals(const DeferredSignals&) = delete;
  DeferredSignals& operator=(const DeferredSignals&) = delete;
  ~DeferredSignals() {
    for (std::size_t i = 0; i < deferred.size(); ++i) {
      sigaction(deferred[i], &before_[i], nullptr);
    }
    if (arrived != 0) {
      // Else nanobind would report objects of the half-imported module as leaks.
      nanobind::set_leak_warnings(false);
      std::raise(arrived);
    }
  }

 private:
  static constexpr std::array deferred{SIGINT, SIGTERM};
  static inline volatile std::sig_atomic_t arrived = 0;
  std::array<struct sigaction, deferred.size()> before_{};
};

}  // namespace

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-cstyle-cast): inside nanobind's macro
NB_MODULE(_core, module) {
  const DeferredSignals until_made;
  module.doc() = "The timing engine of Isthmus and the backends it loads.";
  // Nanobind tries the translators below first.
  nanobind::register_exception_translator(raise_undecodable);
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
