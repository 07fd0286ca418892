// Replaces AMD's header of this name, if that is absent: streams of one writer
// and several readers, or of several writers and one reader.
#pragma once

#include "isthmus_standard.h"

#include <hls_stream.h>
#include <hls_task.h>

#include <cstddef>

namespace hls {

/// Moves words from `in` to each stream of `out` in turn.
template <class T, int count>
struct isthmus_split {
  stream<T> in;
  stream<T> out[count];

 private:
  int next_ = 0;
  isthmus_turns turns_{[this] {
    out[next_].write(in.read());
    next_ = (next_ + 1) % count;
  }};
};

/// Moves words from the streams of `in` to `out`: from each in turn if `patient`, else from the
/// next that is not empty.
template <class T, int count, bool patient>
struct isthmus_merge {
  stream<T> in[count];
  stream<T> out;

 private:
  static bool has_one(const void* which) {
    const auto& self = *static_cast<const isthmus_merge*>(which);
    for (const stream<T>& one : self.in) {
      if (one.isthmus_has_one()) {
        return true;
      }
    }
    return false;
  }

  int next_ = 0;
  isthmus_turns turns_{[this] {
    if (!patient) {
      while (!has_one(this)) {
        isthmus_beside->run_until({&has_one, this}, true);
      }
      while (!in[next_].isthmus_has_one()) {
        next_ = (next_ + 1) % count;
      }
    }
    out.write(in[next_].read());
    next_ = (next_ + 1) % count;
  }};
};

// Depths have no effect here. Readers and writers get words in turn, so all are equally busy.
namespace split {
template <class T, int count, int depth = 2, int inner_depth = 0>
using round_robin = isthmus_split<T, count>;
template <class T, int count, int depth = 2, int inner_depth = 0>
using load_balance = isthmus_split<T, count>;
}  // namespace split
namespace merge {
template <class T, int count, int depth = 2, int inner_depth = 0>
using round_robin = isthmus_merge<T, count, true>;
template <class T, int count, int depth = 2, int inner_depth = 0>
using load_balance = isthmus_merge<T, count, false>;
}  // namespace merge

}  // namespace hls
