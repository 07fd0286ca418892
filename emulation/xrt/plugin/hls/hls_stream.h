// Replaces AMD's header of this name, if that is absent: streams. Within a kernel a stream holds
// any number of values, as in AMD's C simulation; in a DATAFLOW region as many as on a board. An
// argument of the kernel that is a stream leads to another kernel.
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

/// Converts values of T to words of a stream between kernels, with data alone. ap_axi_sdata.h
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

/// For functions that access no memory of the card: counting their accesses would only take time.
#define ISTHMUS_UNCOUNTED __attribute__((no_sanitize("thread")))

struct isthmus_pipeline;

/// The state of a stream within a DATAFLOW region.
struct isthmus_fifo {
  std::string name;
  unsigned line = 0;      ///< line of the pragma with the depth, else of the declaration
  std::size_t depth = 0;  ///< words that it holds on a board; 0: any number
  /// Words that it holds here: more than `depth` after a region stood still.
  std::size_t limit = 0;
  std::size_t count = 0;   ///< words that it holds now
  std::size_t behind = 0;  ///< its words in the writer's pipeline, which come next
  std::size_t most = 0;    ///< most words that it has held so far
  /// Words that the reader took since its pipeline's `moved` was `taken_since`.
  std::size_t taken = 0;
  /// Value of the reader's `moved` at the first of the `taken` words.
  unsigned long long taken_since = 0;
  isthmus_pipeline* writer = nullptr;  ///< pipeline of the last process that wrote
  isthmus_pipeline* reader = nullptr;  ///< pipeline of the last process that read

  [[nodiscard]] ISTHMUS_UNCOUNTED bool has_room() const { return limit == 0 || count < limit; }
  ISTHMUS_UNCOUNTED void enter() {
    ++count;
    most = count < most ? most : count;
  }
  /// Returns whether the first word of the writer's pipeline goes to this stream.
  [[nodiscard]] bool is_next() const;
  /// Returns whether the stream or the writer's pipeline has room for a word.
  [[nodiscard]] bool can_write() const;
  [[nodiscard]] bool can_read() const;
  void put();
  void take();
};

/// The pipeline of a process: words that its code has written and that are not yet in their streams
/// on a board. The first word waits for room in its stream, all others wait behind it. The process
/// may read meanwhile. A pipeline of N stages that stands still takes at most N words of a stream.
struct isthmus_pipeline {
  /// Consecutive words of one stream.
  struct Words {
    isthmus_fifo* fifo = nullptr;
    std::size_t count = 0;
  };
  std::size_t held = 0;  ///< words in the pipeline
  Words first;
  std::deque<Words> others;
  isthmus_fifo* last = nullptr;  ///< stream of the last word in the pipeline
  std::size_t stages = 0;
  /// A number that differs between processes, and changes when words leave the pipeline.
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
  /// Moves words to their streams, as far as these have room.
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

/// What a function waits for.
struct isthmus_wait {
  /// Returns whether the wait is over; null: the function only asks.
  bool (*ready)(const void*) = nullptr;
  const void* what = nullptr;
  isthmus_outside* outside = nullptr;  ///< end at another kernel, else null
  isthmus_fifo* fifo = nullptr;        ///< stream within the kernel, else null
  bool for_room = false;               ///< waits for room, not for a word
};

/// A stream's end at another kernel, made by kernel_call.cpp.
class isthmus_outside {
 public:
  enum how { wait, try_now, look };
  virtual bool read(void* data, std::size_t bytes, void* sideband, std::size_t more, how) = 0;
  virtual bool write(void* data, std::size_t bytes, void* sideband, std::size_t more, how) = 0;
  /// Waits for `this_one` or any of `others` and returns when one is ready.
  virtual void wait_for(const isthmus_wait& this_one, const std::vector<isthmus_wait>& others) = 0;

 protected:
  ~isthmus_outside() = default;
};

/// The tasks (hls_task.h) and processes that run beside the function which made them.
class isthmus_tasks {
 public:
  /// Called by the function that made them: lets tasks run until `what` is ready or no task goes
  /// on; returns false if no task ever will. Throws std::runtime_error if tasks go on without end.
  ///
  /// Called by a task: lets other tasks run until `what` is ready; without `wait` only for a while.
  virtual bool run_until(const isthmus_wait& what, bool wait) = 0;
  /// Returns the pipeline of the calling process; null for a task, and for the function that made
  /// them.
  [[nodiscard]] virtual isthmus_pipeline* pipeline() = 0;

 protected:
  ~isthmus_tasks() = default;
};
inline isthmus_tasks* isthmus_beside = nullptr;  ///< null without tasks and processes
inline unsigned long long isthmus_moved = 0;     ///< words moved by all streams
inline unsigned long long isthmus_crossed = 0;   ///< words moved between kernels
/// Returns how many stages the pipeline of the running loop has.
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
  /// Sets the stream's depth on a board (0: the default) and its name in the code. `line` is the
  /// line of the pragma with the depth, else of the declaration.
  void isthmus_limit(std::size_t depth, const std::string& name, unsigned line) {
    constexpr std::size_t usual = 2;  // words: UG1399, STREAM
    fifo_.depth = depth == 0 ? usual : depth;
    fifo_.limit = fifo_.depth;
    fifo_.name = name;
    fifo_.line = line;
  }
  /// Returns whether the stream has a word now, without letting other tasks run.
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
  /// Reads a word. Throws std::runtime_error if the stream stays empty: on a card the kernel would
  /// wait for ever.
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
  /// Waits until another process has written a word, and leaves it in the stream.
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
  /// Waits for room if the stream is limited, else lets other tasks run now and then.
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
  /// Makes the running process the reader or writer (`end`) of the stream.
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
    for (std::size_t n = 0; n < room_; ++n) {  // every place of the ring is in use
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
  std::unique_ptr<T[]> words_;  ///< a ring, whose size is a power of two
  std::size_t room_ = 0;
  std::size_t first_ = 0;
  isthmus_outside* outside_ = nullptr;
};

/// A stream whose type has a depth, which matters only in a DATAFLOW region.
template <class T, int depth>
class stream : public stream<T, 0> {
 public:
  using stream<T, 0>::stream;
  /// Sets the depth as in the base class; without a pragma's depth (0) the type's depth counts.
  void isthmus_limit(std::size_t said, const std::string& name, unsigned line) {
    stream<T, 0>::isthmus_limit(said == 0 ? depth : said, name, line);
  }
};

}  // namespace hls
