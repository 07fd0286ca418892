// The null backend's device with a series, for the engine's tests.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "isthmus/backend.hpp"
#include "isthmus/engine.hpp"

class NullDevice {
 public:
  static NullDevice with(const isthmus::Options& options) {
    NullDevice null;
    null.backend_ = isthmus::load_backend(NULL_BACKEND);
    null.device_ = null.backend_->open("", options);
    return null;
  }

  [[nodiscard]] isthmus::Series series(const std::string& operation,
                                       const isthmus::SeriesOptions& options,
                                       std::size_t bytes = 64) const {
    return {*device_, {.name = operation, .bytes = bytes, .memory = "aligned"}, options};
  }

 private:
  NullDevice() = default;
  std::unique_ptr<isthmus::Backend> backend_;
  std::unique_ptr<isthmus::Device> device_;
};
