// Records how the program and kernels access a buffer in card memory, to find mistakes in its use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/card/pieces.hpp"
#include "isthmus/card/process/run_order.hpp"

namespace isthmus::card::process {

/// An argument of a kernel's instance, as messages name it.
struct NamedArgument {
  std::string instance;
  std::string name;
  std::size_t index = 0;
};

/// What a run of a kernel has accessed in a buffer.
struct BufferAccess {
  NamedArgument argument;
  std::uint64_t run = 0;  ///< number of the run among those of the card
  RunOrigin origin{};
  Pieces read{};     ///< addresses that the run has read
  Pieces written{};  ///< addresses that the run has written to
};

/// What the latest run that wrote to a buffer has written.
struct BufferOutput {
  NamedArgument writer;
  std::uint64_t run = 0;  ///< number of the run
  RunOrigin origin{};
  std::vector<std::uint64_t> scalars{};  ///< values of the run's arguments that are no buffers
  Pieces written{};                      ///< addresses that the run wrote to
  bool fresh = false;       ///< whether the program has sent data since it last read the buffer
  std::uint32_t since = 0;  ///< HostLooks' count of looks at the run's first write
  Pieces taken{};           ///< addresses that the program has read since the run
  bool passed_on = false;   ///< whether another run has read some of the output since

  [[nodiscard]] std::uint64_t taken_bytes() const { return taken.count(written); }
  [[nodiscard]] bool is_whole_taken() const { return taken_bytes() == written.bytes(); }
};

/// A copy between buffers on the card, of bytes that nobody had written.
struct UnwrittenCopy {
  std::uint64_t begin = 0;  ///< address of the copy's first byte
  std::uint64_t end = 0;
  std::uint64_t source_bytes = 0;  ///< size of the buffer that the program copied from
};

struct BufferUse {
  std::uint64_t begin = 0;  ///< address of the buffer
  std::uint64_t bytes = 0;
  Pieces written{};         ///< addresses that the program or a kernel has written
  std::uint32_t since = 0;  ///< HostLooks' count of looks when the buffer was made
  bool sent = false;        ///< whether the program has written to the buffer
  std::optional<UnwrittenCopy> unwritten_copy{};  ///< the latest that went to the buffer
  /// When the program last sent data while runs waited to start: number of its latest start then,
  /// and the addresses of these data.
  std::uint64_t sent_after = 0;
  Pieces sent_data{};
  /// Runs whose end the program may not have seen, or that may still run beside others.
  std::vector<BufferAccess> accesses{};
  /// Number of the run, among those of the card, that got the buffer to write to it; 0: none.
  std::uint64_t maker = 0;
  std::optional<BufferOutput> output{};
  /// First argument for which a run got the buffer before anybody wrote to the buffer.
  std::optional<NamedArgument> given{};
  std::uint64_t kernel_runs = 0;  ///< number of the card's kernel runs when the buffer was made
  /// Whether the program read the buffer when nobody had written it, and a kernel had run since.
  bool taken_unwritten = false;
  bool is_local_copy = false;   ///< whether XRT made the buffer as a copy in another memory
  bool has_local_copy = false;  ///< whether XRT made such a copy of the buffer
  /// An earlier output of which the program has read some bytes and not all.
  std::optional<BufferOutput> part{};
  bool whole_taken = false;  ///< whether the program has read all bytes of an earlier output
  unsigned runs = 0;         ///< number of runs that wrote to the buffer before that of `output`
  unsigned taken_runs = 0;   ///< of these, runs of whose output the program read something
  unsigned lost_runs = 0;    ///< of these, fresh runs whose output nobody read
  unsigned lost_run = 0;     ///< number of the last lost run
  std::uint64_t sends_at_take = 0;  ///< number of the program's transfers when it last read

  void send(std::uint64_t address, std::uint64_t size) {
    written.add(address, address + size);
    sent = true;
    maker = 0;
  }
  void take(std::uint64_t address, std::uint64_t size, std::uint64_t sends) {
    sends_at_take = sends;
    if (output) {
      output->taken.add(address, address + size);
    }
  }
  void read_by(std::uint64_t reader) {
    if (output && reader != output->run) {
      output->passed_on = true;
    }
  }
  /// Counts the run of `output` among the earlier runs, because another run writes.
  void end_output() {
    if (!output) {
      return;
    }
    ++runs;
    if (output->taken_bytes() > 0) {
      ++taken_runs;
      whole_taken = whole_taken || output->is_whole_taken();
      part = output->is_whole_taken() ? part : output;
    } else if (output->fresh && !output->passed_on) {
      ++lost_runs;
      lost_run = runs;
    }
    output.reset();
  }
};

}  // namespace isthmus::card::process
