// Converts strings and exceptions' messages from C++ to Python. nanobind/stl/string.h would fail
// for a driver's names of devices that are not UTF-8.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <string>
#include <string_view>

namespace isthmus::bindings {

/// Returns a new Python string of these bytes, with U+FFFD in place of each invalid UTF-8 byte.
inline PyObject* new_text(std::string_view bytes) noexcept {
  return PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace");
}

/// Sets Python's exception, with a message of any bytes: strict decoding would raise
/// UnicodeDecodeError instead.
inline void raise(PyObject* type, std::string_view message) noexcept {
  if (PyObject* text = new_text(message); text != nullptr) {
    PyErr_SetObject(type, text);
    Py_DECREF(text);
  }
}

/// Creates a Python exception class for the C++ class `Error`; the module keeps the reference.
template <typename Error>
nanobind::handle bind_error(nanobind::module_& module, const char* name, nanobind::handle base) {
  nanobind::exception<Error> type(module, name, base);
  nanobind::register_exception_translator(
      [](const std::exception_ptr& thrown, void* known) {
        try {
          std::rethrow_exception(thrown);
        } catch (const Error& error) {
          raise(static_cast<PyObject*>(known), error.what());
        }
      },
      type.ptr());
  return type;
}

}  // namespace isthmus::bindings

namespace nanobind::detail {

template <>
struct type_caster<std::string> {
  NB_TYPE_CASTER(std::string, const_name("str"))

  // NOLINTNEXTLINE(readability-identifier-naming): nanobind's name
  bool from_python(handle source, std::uint32_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
    Py_ssize_t size = 0;
    const char* bytes =
        PyUnicode_Check(source.ptr()) ? PyUnicode_AsUTF8AndSize(source.ptr(), &size) : nullptr;
    if (bytes == nullptr) {
      PyErr_Clear();
      return false;
    }
    value.assign(bytes, static_cast<std::size_t>(size));
    return true;
  }

  static handle from_cpp(const std::string& text, rv_policy /*policy*/,
                         cleanup_list* /*cleanup*/) noexcept {
    return isthmus::bindings::new_text(text);
  }
};

}  // namespace nanobind::detail
