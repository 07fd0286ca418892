// Replaces AMD's header of this name, if that is absent. Within a kernel a
// stream holds any number of values, as in AMD's C simulation; in a DATAFLOW region as many as on a
// board. A stream that is an argument of the kernel connects it to another kernel.
#pragma once

#include "isthmus_standard.h"

#include <cassert>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hls {

/// Converts a value of T to a word of a stream between kernels, which has only data. ap_axi_sdata.h
/// specialises it for types with sideband signals.
template <class T, class = void>
struct isthmus_word {
  static constexpr std::size_t data_bytes = sizeof(T);
  static constexpr std::size_t sideband_bytes = 0;
  static void pack(const T& value, void* data, void* /*sideband*/) {
    std::memcpy(data, static_cast<const void*>(&value), data_bytes);
  }
  static void unpack(T& value, const void* data, const void* /*sideband*/) {
    std::memcpy(static_cast<void*>(&value), data, data_bytes);
  }
};

class isthmus_outside;

/// Marks functions that access no memory of the card: counting their accesses would take time.
#define ISTHMUS_UNCOUNTED __attribute__((no_sanitize("thread")))

struct isthmus_pipeline;

/// A stream within a DATAFLOW region.
struct isthmus_fifo {
  std::string name;
  unsigned line = 0;       ///< line of the pragma with the depth, else of the declaration
  std::size_t depth = 0;   ///< capacity on a board; 0: any number of words
  std::size_t limit = 0;   ///< capacity here: more than `depth` after a region stood still
  std::size_t count = 0;   ///< words in it
  std::size_t behind = 0;  ///< words in the writer's pipeline, which come next
  std::size_t most = 0;    ///< most words that it held
  std::size_t taken = 0;   ///< words that the reader took since `taken_since`
  unsigned long long taken_since = 0;  ///< `moved` of the reader's pipeline
  isthmus_pipeline* writer = nullptr;  ///< pipeline of the process that wrote last
  isthmus_pipeline* reader = nullptr;  ///< pipeline of the process that read last

  [[nodiscard]] ISTHMUS_UNCOUNTED bool has_room() const { return limit == 0 || count < limit; }
  ISTHMUS_UNCOUNTED void enter() {
    ++count;
    most = count < most ? most : count;
  }
  /// Whether the first word of the writer's pipeline goes to this stream.
  [[nodiscard]] bool is_next() const;
  /// Whether the stream or the writer's pipeline has room for a word.
  [[nodiscard]] bool can_write() const;
  [[nodiscard]] bool can_read() const;
  void put();
  void take();
};

/// The pipeline of a process: words that its code has written, and that are not yet in their
/// streams on a board. The first word waits for room in its stream, all others wait behind it. The
/// process may read meanwhile. A pipeline of N stages that stands still takes at most N words of a
/// stream.
struct isthmus_pipeline {
  /// Consecutive words of one stream.
  struct Words {
    isthmus_fifo* fifo = nullptr;
    std::size_t count = 0;
  };
  std::size_t held = 0;  ///< words in it
  Words first;
  std::deque<Words> others;
  isthmus_fifo* last = nullptr;  ///< stream of the last word
  std::size_t stages = 0;
  /// A number that is new for each process, and each time that words have left the pipeline.
  unsigned long long moved = next();

  ISTHMUS_UNCOUNTED static unsigned long long next() {
    static unsigned long long number = 0;
    return ++number;
  }

  ISTHMUS_UNCOUNTED void add(isthmus_fifo& fifo) {
    if (held == 0) {
      first = {&fifo, 1};
    } else if (last != &fifo) {
      others.push_back({&fifo, 1});
    } else {
      ++(held == first.count ? first : others.back()).count;
    }
    last = &fifo;
    ++fifo.behind;
    ++held;
  }
  /// Moves words into their streams as far as there is room.
  ISTHMUS_UNCOUNTED void advance() {
    while (held != 0 && first.fifo->has_room()) {
      --first.fifo->behind;
      first.fifo->enter();
      moved = next();
      --held;
      if (--first.count == 0 && held != 0) {
        first = others.front();
        others.pop_front();
      }
    }
  }
};

ISTHMUS_UNCOUNTED inline bool isthmus_fifo::is_next() const {
  return has_room() && (writer == nullptr || writer->held == 0);
}
ISTHMUS_UNCOUNTED inline bool isthmus_fifo::can_write() const {
  return is_next() || (writer != nullptr && behind < writer->stages);
}
ISTHMUS_UNCOUNTED inline bool isthmus_fifo::can_read() const {
  if (reader == nullptr || reader->held == 0) {
    return count > 0;
  }
  return count > 0 && (taken_since == reader->moved ? taken : 0) < reader->stages;
}
ISTHMUS_UNCOUNTED inline void isthmus_fifo::put() {
  if (limit == 0 || writer == nullptr || is_next()) {
    enter();
  } else {
    writer->add(*this);
  }
}
ISTHMUS_UNCOUNTED inline void isthmus_fifo::take() {
  --count;
  if (behind != 0 && writer != nullptr) {
    writer->advance();
  }
  if (reader != nullptr && reader->held != 0) {
    taken = taken_since == reader->moved ? taken + 1 : 1;
    taken_since = reader->moved;
  }
}

/// The event for which a function waits.
struct isthmus_wait {
  bool (*ready)(const void*) = nullptr;  ///< null: the function asks without waiting
  const void* what = nullptr;
  isthmus_outside* outside = nullptr;  ///< the other kernel's end, else null
  isthmus_fifo* fifo = nullptr;        ///< the stream within the kernel, else null
  bool for_room = false;               ///< it waits for room, not for a word
};

/// The end of a stream that leads to another kernel; kernel_call.cpp makes it.
class isthmus_outside {
 public:
  enum how { wait, try_now, look };
  virtual bool read(void* data, std::size_t bytes, void* sideband, std::size_t more, how) = 0;
  virtual bool write(void* data, std::size_t bytes, void* sideband, std::size_t more, how) = 0;
  /// Waits for `this_one` or any of `others`.
  virtual void wait_for(const isthmus_wait& this_one, const std::vector<isthmus_wait>& others) = 0;

 protected:
  ~isthmus_outside() = default;
};

/// Tasks (hls_task.h) and processes, which run beside the function that made them.
class isthmus_tasks {
 public:
  /// Called by that function: lets tasks run until `what` is ready, or until no task goes on.
  /// Returns false if no task ever will. Throws std::runtime_error if tasks go on without end.
  /// Called by a task: lets other tasks run until `what` is ready; if it does not `wait`, only for
  /// a while.
  virtual bool run_until(const isthmus_wait& what, bool wait) = 0;
  /// Returns the pipeline of the calling process; null in a task, or in the function that made
  /// them.
  [[nodiscard]] virtual isthmus_pipeline* pipeline() = 0;

 protected:
  ~isthmus_tasks() = default;
};
inline isthmus_tasks* isthmus_beside = nullptr;  ///< null without tasks and processes
inline unsigned long long isthmus_moved = 0;     ///< words moved by all streams
inline unsigned long long isthmus_crossed = 0;   ///< words moved between kernels
/// Returns the stages of the pipeline of the loop that runs.
inline std::size_t (*isthmus_stages)() = nullptr;

template <class T, int depth = 0>
class stream;

template <class T>
class stream<T, 0> {
 public:
  using isthmus_value = T;

  stream() = default;
  stream(std::string name) { fifo_.name = std::move(name); }
  stream(const char* name) { fifo_.name = name; }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  void isthmus_lead_to(isthmus_outside& outside) { outside_ = &outside; }
  void set_name(std::string name) { fifo_.name = std::move(name); }
  /// Sets the capacity on a board (0: the default) and the stream's name in the code. `line`: line
  /// of the pragma with the depth, else of the declaration.
  void isthmus_limit(std::size_t depth, const std::string& name, unsigned line) {
    constexpr std::size_t usual = 2;  // UG1399, STREAM
    fifo_.depth = depth == 0 ? usual : depth;
    fifo_.limit = fifo_.depth;
    fifo_.name = name;
    fifo_.line = line;
  }
  /// Whether the stream has a word now; no other function runs before.
  [[nodiscard]] bool isthmus_has_one() const {
    T value{};
    return outside_ != nullptr ? reads(value, isthmus_outside::look) : fifo_.count > 0;
  }

  [[nodiscard]] bool empty() const {
    join(fifo_.reader);
    const bool there = isthmus_has_one();
    return !there && !(others_go_on(&has_one_now, false) && isthmus_has_one());
  }
  [[nodiscard]] bool full() const {
    if (outside_ == nullptr && fifo_.limit == 0) {
      return false;
    }
    join(fifo_.writer);
    const auto is_full = [this] {
      return outside_ != nullptr ? !writes(T{}, isthmus_outside::look) : !fifo_.has_room();
    };
    return is_full() && !(others_go_on(&has_room_now, false, true) && !is_full());
  }
  [[nodiscard]] std::size_t size() const {
    return outside_ != nullptr || empty() ? static_cast<std::size_t>(!empty()) : fifo_.count;
  }
  /// Throws std::runtime_error for an empty stream: on a card the kernel would wait for ever.
  T read() {
    T value{};
    read(value);
    return value;
  }
  void read(T& value) {
    if (outside_ != nullptr) {
      while (!reads(value,
                    isthmus_beside == nullptr ? isthmus_outside::wait : isthmus_outside::try_now)) {
        if (!others_go_on(&has_one_now, true)) {
          reads(value, isthmus_outside::wait);
          return;
        }
      }
      return;
    }
    join(fifo_.reader);
    while (!fifo_.can_read()) {
      if (!others_go_on(&has_one_now, true)) {
        throw std::runtime_error("stream '" + fifo_.name + "' is read while it is empty");
      }
    }
    take(value);
  }
  /// Waits for a word of another process, and does not take it.
  void isthmus_wait() {
    if (outside_ == nullptr && isthmus_beside != nullptr) {
      join(fifo_.reader);
      while (!fifo_.can_read() && others_go_on(&has_one_now, true)) {
      }
    }
  }
  bool read_nb(T& value) {
    if (outside_ != nullptr) {
      return reads(value, isthmus_outside::try_now) ||
             (others_go_on(&has_one_now, false) && reads(value, isthmus_outside::try_now));
    }
    const bool there = !empty();
    if (there) {
      take(value);
    }
    return there;
  }
  void write(const T& value) {
    if (outside_ == nullptr) {
      make_room();
      put(value);
      return;
    }
    while (!writes(value,
                   isthmus_beside == nullptr ? isthmus_outside::wait : isthmus_outside::try_now)) {
      if (!others_go_on(&has_room_now, true, true)) {
        writes(value, isthmus_outside::wait);
        return;
      }
    }
  }
  bool write_nb(const T& value) {
    if (outside_ != nullptr) {
      return writes(value, isthmus_outside::try_now) ||
             (others_go_on(&has_room_now, false, true) && writes(value, isthmus_outside::try_now));
    }
    if (full()) {
      return false;
    }
    write(value);
    return true;
  }
  stream& operator>>(T& value) {
    read(value);
    return *this;
  }
  stream& operator<<(const T& value) {
    write(value);
    return *this;
  }

 private:
  using word = isthmus_word<T>;

  ISTHMUS_UNCOUNTED static bool has_one_now(const void* which) {
    const auto& one = *static_cast<const stream*>(which);
    return one.outside_ != nullptr ? one.isthmus_has_one() : one.fifo_.can_read();
  }
  ISTHMUS_UNCOUNTED static bool has_room_now(const void* which) {
    const auto& one = *static_cast<const stream*>(which);
    if (one.outside_ != nullptr) {
      return one.writes(T{}, isthmus_outside::look);
    }
    return one.fifo_.can_write();
  }
  bool others_go_on(bool (*ready)(const void*), bool wait, bool for_room = false) const {
    return isthmus_beside != nullptr &&
           isthmus_beside->run_until(
               {ready, this, outside_, outside_ == nullptr ? &fifo_ : nullptr, for_room}, wait);
  }
  /// Waits for room in a limited stream. Otherwise lets other tasks run now and then.
  ISTHMUS_UNCOUNTED void make_room() {
    constexpr std::size_t many = 65536;
    if (isthmus_beside == nullptr) {
      return;
    }
    if (fifo_.limit == 0) {
      if (fifo_.count >= many) {
        others_go_on(&has_room_now, false, true);
      }
      return;
    }
    join(fifo_.writer);
    if (fifo_.is_next()) {
      return;
    }
    if (fifo_.writer != nullptr) {
      fifo_.writer->stages = isthmus_stages == nullptr ? 0 : isthmus_stages();
    }
    while (!fifo_.can_write() && others_go_on(&has_room_now, true, true)) {
    }
  }
  /// Notes the process that runs as the reader or the writer of the stream.
  ISTHMUS_UNCOUNTED void join(isthmus_pipeline*& end) const {
    if (fifo_.limit != 0 && isthmus_beside != nullptr) {
      end = isthmus_beside->pipeline();
    }
  }
  void put(const T& value) {
    ++isthmus_moved;
    const std::size_t held = fifo_.count + fifo_.behind;
    if (held == room_) {
      grow();
    }
    words_[(first_ + held) & (room_ - 1)] = value;
    fifo_.put();
  }
  void take(T& value) {
    ++isthmus_moved;
    value = words_[first_];
    first_ = (first_ + 1) & (room_ - 1);
    fifo_.take();
  }
  void grow() {
    constexpr std::size_t least = 16;
    const std::size_t room = room_ == 0 ? least : 2 * room_;
    std::unique_ptr<T[]> words(new T[room]);
    for (std::size_t n = 0; n < room_; ++n) {  // all places are in use
      words[n] = words_[(first_ + n) & (room_ - 1)];
    }
    words_ = std::move(words);
    room_ = room;
    first_ = 0;
  }

  bool reads(T& value, isthmus_outside::how how) const {
    unsigned char data[word::data_bytes];
    unsigned char sideband[word::sideband_bytes + 1];
    if constexpr (word::sideband_bytes > 0) {
      word::pack(value, data, sideband);  // fields that the other side lacks keep their values
    }
    const bool done =
        moved(outside_->read(data, word::data_bytes, sideband, word::sideband_bytes, how), how);
    if (done && how != isthmus_outside::look) {
      word::unpack(value, data, sideband);
    }
    return done;
  }
  bool writes(const T& value, isthmus_outside::how how) const {
    unsigned char data[word::data_bytes];
    unsigned char sideband[word::sideband_bytes + 1];
    word::pack(value, data, sideband);
    return moved(outside_->write(data, word::data_bytes, sideband, word::sideband_bytes, how), how);
  }
  static bool moved(bool done, isthmus_outside::how how) {
    const int words = done && how != isthmus_outside::look ? 1 : 0;
    isthmus_moved += words;
    isthmus_crossed += words;
    return done;
  }

  mutable isthmus_fifo fifo_;
  std::unique_ptr<T[]> words_;  ///< a ring, of a power of two
  std::size_t room_ = 0;
  std::size_t first_ = 0;
  isthmus_outside* outside_ = nullptr;
};

/// A stream with a depth, which counts only in a DATAFLOW region.
template <class T, int depth>
class stream : public stream<T, 0> {
 public:
  using stream<T, 0>::stream;
  /// As above; the pragma's depth, if there is one, replaces the type's depth.
  void isthmus_limit(std::size_t said, const std::string& name, unsigned line) {
    stream<T, 0>::isthmus_limit(said == 0 ? depth : said, name, line);
  }
};

}  // namespace hls
