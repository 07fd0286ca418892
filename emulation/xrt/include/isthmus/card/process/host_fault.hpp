// Mistakes of host programs that a board does not report: as data, and as the user's sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "isthmus/card/process/buffer_use.hpp"

namespace isthmus::card::process {

enum class HostFaultKind : std::uint8_t {
  reads_unwritten,    ///< a kernel reads bytes that neither the program nor a kernel wrote
  never_waited,       ///< the program takes a kernel's output and does not know of the run's end
  never_taken,        ///< a kernel wrote a buffer that was never read
  writes_constant,    ///< a kernel writes to an argument that is declared const
  started_while_busy  ///< a program starts a kernel by its register while the kernel runs
};

struct HostFault {
  HostFaultKind kind{};
  NamedArgument argument;  ///< without a name: the instance as a whole
  std::uint64_t buffer_bytes = 0;
  std::uint64_t offset = 0;  ///< of the first byte, in the buffer
  /// The argument that was probably exchanged with this one.
  std::optional<NamedArgument> exchanged{};

  /// Returns a text that is equal for equal mistakes.
  [[nodiscard]] std::string key() const;
  [[nodiscard]] std::string sentence() const;
};

}  // namespace isthmus::card::process
