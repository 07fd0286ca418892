#include "environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "lock.hpp"

namespace isthmus::card::clock {
namespace {

constinit std::atomic<bool> locked = false;
/// The list if it is ours, with its room for entries and the null behind them.
constinit std::span<char*> own;

/// All that was ever made here: nothing is freed, and what looks for leaks is to find it.
struct Kept {
  Kept* before;
};
constinit Kept* kept = nullptr;

/// Zeroed memory; null where there is none.
void* keep(std::size_t bytes) {
  auto* const made = static_cast<Kept*>(std::calloc(1, sizeof(Kept) + bytes));
  if (made == nullptr) {
    return nullptr;
  }
  made->before = std::exchange(kept, made);
  return made + 1;
}

/// "name=value"; null where there is no memory.
char* entry_of(std::string_view name, std::string_view value) {
  auto* const entry = static_cast<char*>(keep(name.size() + value.size() + 2));
  if (entry != nullptr) {
    char* const end = std::ranges::copy(name, entry).out;
    *end = '=';
    std::ranges::copy(value, end + 1);
  }
  return entry;
}

bool is_of(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
}

/// A list with the same entries and room for as many more; empty where there is no memory.
std::span<char*> longer(std::span<char*> entries) {
  const std::size_t room = 2 * entries.size() + 2;
  auto** const list = static_cast<char**>(keep(room * sizeof(char*)));
  if (list == nullptr) {
    return {};
  }
  std::ranges::copy(entries, list);
  return {list, room};
}

int no_memory() {
  errno = ENOMEM;
  return -1;
}

}  // namespace

int set_variable(const char* name, const char* value, bool overwrite) {
  const Locked lock(locked);
  std::size_t count = 0;
  while (environ != nullptr && environ[count] != nullptr) {
    ++count;
  }
  const std::span<char*> entries(environ, count);
  const auto found =
      std::ranges::find_if(entries, [name](const char* entry) { return is_of(entry, name); });
  if (found != entries.end() &&
      (!overwrite || std::string_view(*found).substr(std::strlen(name) + 1) == value)) {
    return 0;
  }
  char* const entry = entry_of(name, value);
  if (entry == nullptr) {
    return no_memory();
  }
  if (found != entries.end()) {
    __atomic_store_n(&*found, entry, __ATOMIC_RELEASE);
    return 0;
  }
  if (environ != own.data() || count + 1 >= own.size()) {
    const std::span<char*> list = longer(entries);
    if (list.empty()) {
      return no_memory();
    }
    own = list;
  }
  own[count + 1] = nullptr;
  __atomic_store_n(&own[count], entry, __ATOMIC_RELEASE);
  __atomic_store_n(&environ, own.data(), __ATOMIC_RELEASE);
  return 0;
}

void forget_environment_lock() { locked = false; }

}  // namespace isthmus::card::clock
