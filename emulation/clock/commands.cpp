#include "commands.hpp"

#include <array>
#include <atomic>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "calls.hpp"
#include "library.hpp"
#include "lock.hpp"
#include "scheduler.hpp"

namespace isthmus::card::clock {

/// The beginning of XRT 2.13's `xrt_core::command`, so that it can be shared. Not in the namespace
/// below: there compilers know that nothing is derived from it.
class Command : public std::enable_shared_from_this<Command> {
 public:
  virtual ~Command() = default;
  /// Its packet, which begins with its state.
  virtual const volatile std::uint32_t* packet() const = 0;
  virtual const void* card() const = 0;

  [[nodiscard]] bool is_completed() const {
    constexpr std::uint32_t state_bits = 0xF;
    constexpr std::uint32_t completed = 4;
    return (*packet() & state_bits) == completed;
  }
};

namespace {

struct Kept {
  std::shared_ptr<const Command> command;
  Kept* next = nullptr;
};

/// In the order in which they were given: most end so.
constinit Kept* first = nullptr;
constinit Kept* last = nullptr;
constinit std::atomic<bool> locked = false;
constinit std::atomic<bool> known = false;

/// Unlinks the first of which this is true, and returns it; null: none.
template <class Condition>
Kept* take(Condition condition) {
  const Locked lock(locked);
  Kept* before = nullptr;
  for (Kept* kept = first; kept != nullptr; before = std::exchange(kept, kept->next)) {
    if (condition(*kept->command)) {
      (before == nullptr ? first : before->next) = kept->next;
      last = kept == last ? before : last;
      return kept;
    }
  }
  return nullptr;
}

void release(Kept* kept) {
  if (kept != nullptr) {
    kept->~Kept();
    std::free(kept);  // NOLINT(*-no-malloc): `new` needs the C++ library
  }
}

/// Whether it is one of the native API's: OpenCL keeps its own.
bool is_native(const void* command) {
  const void* const* const functions = *static_cast<const void* const* const*>(command);
  return in_scheduler(functions[0]);
}

}  // namespace

void know_commands(const char* library) {
  std::array<char, PATH_MAX> file{};  // behind the links, whose name has the version
  known = realpath(library, file.data()) != nullptr &&
          std::strstr(file.data(), "/libxrt_coreutil.so.2.13.") != nullptr;
}

void keep_command(const void* command) {
  void* const memory = known && is_native(command) ? std::malloc(sizeof(Kept)) : nullptr;
  if (memory == nullptr) {
    return;
  }
  auto* const kept =
      new (memory) Kept{.command = static_cast<const Command*>(command)->weak_from_this().lock()};
  if (kept->command == nullptr) {
    release(kept);
    return;
  }
  const Locked lock(locked);
  (first == nullptr ? first : last->next) = kept;
  last = kept;
}

void drop_command(const void* command) {
  release(take([command](const Command& kept) { return &kept == command; }));
}

bool release_completed() {
  Kept* const kept = take([](const Command& command) { return command.is_completed(); });
  if (kept != nullptr) {
    stamps.put(kept->command.get(), xrt_scheduler.last_end);
  }
  release(kept);
  return kept != nullptr;
}

unsigned commands_left(const void* card) {
  const Locked lock(locked);
  unsigned left = 0;
  for (const Kept* kept = first; kept != nullptr; kept = kept->next) {
    const bool of_card = card == nullptr || kept->command->card() == card;
    left += of_card && !kept->command->is_completed() ? 1 : 0;
  }
  return left;
}

void forget_commands() {
  locked = false;
  first = nullptr;
  last = nullptr;
}

}  // namespace isthmus::card::clock
