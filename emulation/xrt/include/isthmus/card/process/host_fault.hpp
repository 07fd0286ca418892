// Mistakes of host programs that a board does not report, as data and as texts for the user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "isthmus/card/process/buffer_use.hpp"

namespace isthmus::card::process {

enum class HostFaultKind : std::uint8_t {
  reads_unwritten,    ///< a kernel reads bytes that neither the program nor a kernel wrote
  overwritten,        ///< the program writes what a run reads whose end it does not know
  never_waited,       ///< the program takes a kernel's output and does not know of the run's end
  never_written,      ///< the program reads a buffer that a kernel got and nobody wrote
  reads_beside,       ///< a run reads what another run may write at the same time
  writes_beside,      ///< a run changes what another run may read or write at the same time
  never_taken,        ///< a kernel wrote a buffer that was never read
  run_not_taken,      ///< the program read what other runs wrote to the buffer, but not this run's
  partly_taken,       ///< the program read a part of a kernel's output
  writes_constant,    ///< a kernel writes to an argument that is declared const
  started_while_busy  ///< a program starts a kernel by its register while the kernel runs
};

/// Returns a text like "argument in (number 0)".
std::string text_of(const NamedArgument& argument);

/// The interface that a program uses; unknown if nothing notes its calls.
enum class HostApi : std::uint8_t { unknown, native, opencl };

struct HostFault {
  HostFaultKind kind{};
  NamedArgument argument;  ///< an argument without a name means the whole instance
  std::uint64_t buffer_bytes = 0;
  std::uint64_t offset = 0;  ///< position of the first wrong byte in the buffer
  /// The argument with which the program probably exchanged this one.
  std::optional<NamedArgument> exchanged{};
  NamedArgument other{};      ///< the argument by which another run accesses the same bytes
  bool other_writes = false;  ///< whether that run writes them
  /// The card to whose buffer at the same address the program has sent data.
  std::optional<unsigned> sent_elsewhere{};
  /// Size of the buffer, never written, from which the program copied the bytes on the card.
  std::optional<std::uint64_t> copied_from_bytes{};
  std::uint64_t by = 0;            ///< number of the kernel's run among those of the card
  std::uint64_t maker = 0;         ///< the run that should have written the bytes; 0: none
  std::uint64_t output_bytes = 0;  ///< bytes that the run wrote
  std::uint64_t taken_bytes = 0;   ///< bytes of the output that the program read
  unsigned run = 0;                ///< which of the runs that wrote to the buffer, by number
  std::uint64_t start = 0;         ///< number of the program's start of the run; 0: not watched
  bool is_missed = false;          ///< whether the program did not wait for that run
  bool follows = false;            ///< whether a mistake reported before may be the cause
  HostApi api = HostApi::unknown;  ///< whose calls the text names; unknown: those of both

  /// Returns whether the kernel's results are wrong, so that further mistakes may follow.
  [[nodiscard]] bool has_consequences() const {
    return exchanged || kind == HostFaultKind::writes_constant ||
           kind == HostFaultKind::started_while_busy;
  }
  /// Returns whether the mistake is an output that the program does not read.
  [[nodiscard]] bool is_of_output() const {
    return kind == HostFaultKind::never_taken || kind == HostFaultKind::run_not_taken ||
           kind == HostFaultKind::partly_taken;
  }
  /// Returns a text that is equal for mistakes of which one warning is enough.
  [[nodiscard]] std::string key() const;
  [[nodiscard]] std::string sentence() const;
};

}  // namespace isthmus::card::process
