#include "card.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <set>
#include <sstream>
#include <thread>

#include "clock.hpp"
#include "faults.hpp"
#include "helper.hpp"
#include "isthmus/card/process/environment.hpp"
#include "isthmus/card/process/real_time.hpp"

namespace isthmus::shim {
namespace {

using card::process::CardSlot;
using card::process::Ending;
using card::process::environment;
using card::process::split;
using std::chrono::milliseconds;

constexpr std::uint64_t page_bytes = 4096;
/// Largest buffer in bytes: rounded up to whole pages, its size still fits 64 bits.
constexpr std::size_t most_bytes = std::size_t{1} << 62U;
constexpr std::uint64_t femtoseconds_of_a_millisecond = 1'000'000'000'000;
/// Pause before a waiting thread checks the card again.
constexpr std::chrono::microseconds shortest_nap{20};
constexpr std::chrono::microseconds longest_nap{1000};
/// Most attempts to end kernels that still wait when the program or its bitstream ends.
constexpr int most_looks = 1'000'000;

/// A thread holds this mutex while it works with any card: a kernel of one card may access another
/// card's memory, and users' kernels have static variables.
// These are never destroyed: the helper's thread uses them until the process ends.
// NOLINTBEGIN(bugprone-throwing-static-initialization,cert-err58-cpp)
std::recursive_mutex& all_cards = *new std::recursive_mutex;
std::set<Card*>& cards = *new std::set<Card*>;  // guarded by `all_cards`
// NOLINTEND(bugprone-throwing-static-initialization,cert-err58-cpp)

std::string file_of_card(unsigned index, const char* kind) {
  return environment("ISTHMUS_CARD_SESSION") + "/card" + std::to_string(index) + kind;
}

card::Board board_of(unsigned index) {
  std::ifstream file(file_of_card(index, ".board"));
  if (!file) {
    throw std::runtime_error("no board for card " + std::to_string(index));
  }
  return card::Board::from(card::process::parse_parameters(file));
}

card::process::Description parsed(const std::string& text) {
  std::istringstream lines(text);
  return card::process::Description::parse(lines);
}

card::process::Meter::Place place_of(unsigned index, unsigned loads, const std::string& board) {
  const std::string id = "device" + std::to_string(index) + "_" + std::to_string(loads) + "_" +
                         std::to_string(getpid());
  const std::string events = environment("ISTHMUS_CARD_EVENTS");
  return {.page = environment(card::process::page_variable),
          .events = events.empty() ? "" : events + "/" + id + ".tsv",
          .computing = environment("ISTHMUS_CARD_SESSION") + "/computing.tsv",
          .card = index,
          .program = static_cast<std::uint32_t>(getpid()),
          .board = board};
}

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

/// Returns whether a new buffer gets all pages at once, as from a driver that pins them. A buffer
/// with a large part of the free memory does not, because the program may never touch it.
bool is_populated(std::size_t bytes) {
  constexpr std::size_t always = std::size_t{64} << 20U;
  constexpr std::size_t largest_share = 4;
  return bytes <= always ||
         bytes / page_bytes < static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) / largest_share;
}

/// Has Linux allocate all pages of memory that the program or XRT made for a buffer. Linux before
/// 5.14 does not, and the program pays the page faults at its first accesses.
void populate(std::byte* memory, std::size_t bytes) {
  constexpr int populate_for_writing = 23;  // MADV_POPULATE_WRITE, which older headers lack
  const std::size_t before = reinterpret_cast<std::uintptr_t>(memory) % page_bytes;
  const std::size_t skipped = before == 0 ? 0 : page_bytes - before;
  if (bytes >= skipped + page_bytes && is_populated(bytes)) {
    madvise(memory + skipped, (bytes - skipped) / page_bytes * page_bytes, populate_for_writing);
  }
}

/// Returns whole pages of zeros; null if there is no memory.
std::shared_ptr<void> host_memory(std::size_t bytes) {
  constexpr std::size_t from_heap = std::size_t{64} << 10U;  // mappings are limited in number
  const std::size_t mapped = whole_pages(bytes);
  if (mapped <= from_heap) {
    std::shared_ptr<void> made(std::aligned_alloc(page_bytes, mapped), &std::free);
    if (made) {
      std::memset(made.get(), 0, mapped);
    }
    return made;
  }
  const int populated = is_populated(mapped) ? MAP_POPULATE : 0;
  void* const made = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | populated, -1, 0);
  if (made == MAP_FAILED) {
    return nullptr;
  }
  return {made, [mapped](void* memory) { munmap(memory, mapped); }};
}

/// Writes a line at the first call only, because a program may retry an allocation that failed.
void warn_once(const std::string& text) {
  static std::atomic<bool> has_warned = false;
  if (!has_warned.exchange(true)) {
    say(text);
  }
}

void end_with_program() { Card::end_all(); }

}  // namespace

unsigned count_of_cards() {
  unsigned count = 0;
  while (access(file_of_card(count, ".board").c_str(), F_OK) == 0) {
    ++count;
  }
  return count;
}

std::span<std::byte> HostBuffers::from(std::uint64_t address) const {
  const auto next = buffers_.upper_bound(address);
  if (next != buffers_.begin()) {
    const auto& [begin, memory] = *std::prev(next);
    if (address - begin < memory.size()) {
      return memory.subspan(address - begin);
    }
  }
  return {};
}

void HostBuffers::read(std::uint64_t address, std::span<std::byte> to) {
  const auto memory = from(address);
  if (memory.size() < to.size()) {
    throw card::process::MemoryError(address, to.size(),
                                     "the program gave the card no such host memory");
  }
  std::ranges::copy(memory.first(to.size()), to.begin());
}

void HostBuffers::write(std::uint64_t address, std::span<const std::byte> from_card) {
  const auto memory = from(address);
  if (memory.size() < from_card.size()) {
    throw card::process::MemoryError(address, from_card.size(),
                                     "the program gave the card no such host memory");
  }
  std::ranges::copy(from_card, memory.begin());
}

std::uint64_t HostBuffers::bytes_at(std::uint64_t address, std::uint64_t most) {
  return std::min<std::uint64_t>(from(address).size(), most);
}

/// What a card has once a bitstream is loaded.
struct Card::Loaded {
  Loaded(Design of, unsigned index, unsigned loads)
      : design(std::move(of)),
        timing(board_of(index)),
        meter(place_of(index, loads, timing.board().name)),
        device(parsed(design.description), timing, host, meter,
               split(environment("ISTHMUS_CARD_KERNELS")),
               environment("ISTHMUS_CARD_FAIL_ON_WARNING"),
               !environment("ISTHMUS_CARD_AS_HARDWARE").empty(), &looks, &watch,
               split(environment("ISTHMUS_CARD_NOT_NEEDED"))),
        commands(device, meter, design.units) {
    device.ask_for_waits(&clock::misses);
    device.warnings().ask_for_mistakes(&clock::is_mistaken);
    clock::open(meter.slot());
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() { clock::close(meter.slot()); }

  /// Writes the time of the card's next event into the clock's slot.
  void publish() {
    CardSlot& slot = meter.slot();
    const auto next = commands.next();
    slot.done_fs = next.value_or(meter.now() + card::process::far_future_fs);
    slot.pending = commands.any() ? 1 : 0;
  }

  Design design;
  card::process::Timing timing;
  card::process::Meter meter;
  HostBuffers host;
  WatchByHelper watch;
  card::process::HostLooks looks{environment("ISTHMUS_CARD_SESSION") + "/last_call." +
                                 std::to_string(getpid())};
  card::process::Device device;
  Commands commands;
  std::uint64_t latest = 0;  ///< latest time on the card, for a program without a virtual clock
};

Card::Card(unsigned index) : index_(index) {
  std::ifstream file(file_of_card(index, ".card"));
  std::getline(file, name_);
  before_bitstream_.description.assign(std::istreambuf_iterator<char>(file), {});
  for (const auto& memory : parsed(before_bitstream_.description).memories) {
    before_bitstream_.banks.push_back(
        {.address = memory.address, .bytes = memory.bytes, .host = memory.host, .next = 0});
    banks_ += memory.host ? 0 : 1;
    bytes_ += memory.host ? 0 : memory.bytes;
  }
  const std::scoped_lock guard(all_cards);
  cards.insert(this);
}

/// Closes the card; kernels whose runs the program has destroyed still run to their end.
Card::~Card() {
  const std::scoped_lock guard(all_cards);
  finish();
  cards.erase(this);
}

/// Does an action at the calling thread's time, and spends the action's simulated time. Before a
/// bitstream is loaded the card has only memory.
template <class Action>
void Card::call(const Action& action) {
  if (!loaded_) {
    load(before_bitstream_);
  }
  const bool has_clock = clock::is_there();
  const std::uint64_t entered = clock::enter();
  std::uint64_t end = 0;
  guarded([&] {
    const std::scoped_lock guard(all_cards);
    Loaded& here = *loaded_;
    const std::uint64_t began = has_clock ? entered : here.latest;
    here.commands.advance(began);
    here.commands.set_now(began);
    here.device.begin_call();
    action();
    end = here.meter.now();
    here.latest = end;
    here.commands.advance(began);
    here.publish();
  });
  clock::leave(end);
}

int Card::load(Design design) {
  const std::scoped_lock guard(all_cards);
  if (loaded_) {
    if (loaded_->design.uuid == design.uuid) {
      return 0;
    }
    if (open_kernels_ > 0) {
      say("a bitstream is loaded while kernels of another one are open; as on a board that is "
          "refused (device or resource busy)");
      return EBUSY;
    }
    if (!end_kernels(Ending::bitstream)) {
      say("a bitstream is loaded while a kernel of another one runs; that is refused (device or "
          "resource busy): wait for it first");
      return EBUSY;
    }
    loaded_.reset();
  }
  guarded([&] {
    loaded_ = std::make_unique<Loaded>(std::move(design), index_, loads_++);
    loaded_->device.warnings().ask_for_others(
        [this](std::uint64_t address) { return card_sent_to(address); });
    keep_buffers();
  });
  return 0;
}

/// Returns the number of another card to whose buffer at an address the program has sent data.
std::optional<unsigned> Card::card_sent_to(std::uint64_t address) const {
  const auto found = std::ranges::find_if(cards, [&](const Card* other) {
    return other->index_ != index_ && other->loaded_ && other->loaded_->device.was_sent(address);
  });
  return found == cards.end() ? std::nullopt : std::optional((*found)->index_);
}

/// Gives the buffers the same addresses under a new bitstream; their contents on the card are lost.
void Card::keep_buffers() {
  for (const auto& [address, bytes] : used_) {
    note_used(address, bytes);
  }
  for (auto& [number, buffer] : buffers_) {
    if (buffer.place == Place::host) {
      loaded_->host.add(buffer.address, {buffer.host, buffer.bytes});
    } else if (buffer.place != Place::command) {
      const auto memory = loaded_->device.memory(buffer.address, buffer.bytes);
      buffer.host = buffer.place == Place::card_mapped ? memory.data() : buffer.host;
    }
  }
}

/// Starts all queued kernels, and ends those that wait for data or room. Returns whether all
/// kernels have ended.
bool Card::end_kernels(Ending with) {
  Loaded& here = *loaded_;
  here.meter.slot().ending = with;
  for (int look = 0; look < most_looks && here.commands.any(); ++look) {
    guarded([&] {
      if (const auto next = here.commands.next()) {
        here.commands.advance(*next);
      } else {
        here.commands.look();
      }
    });
  }
  return !here.commands.any();
}

void Card::finish() {
  if (loaded_) {
    end_kernels(Ending::program);
    guarded([&] { loaded_->device.warn_of_lost_outputs(); });
    loaded_->publish();
  }
}

void Card::close_kernel() {
  if (open_kernels_ > 0) {
    --open_kernels_;
  }
}

bool Card::is_of_host(unsigned bank) const {
  const auto& banks = loaded_->design.banks;
  return bank < banks.size() && banks[bank].host;
}

/// Returns the address for a new buffer; nothing if there is no room. A buffer in host memory lies
/// in the host's bank, whatever bank the program names.
std::optional<std::uint64_t> Card::place(unsigned bank, std::size_t bytes, bool host) {
  Loaded& here = *loaded_;
  if (host && !is_of_host(bank)) {
    const auto& banks = here.design.banks;
    const auto found = std::ranges::find_if(banks, &Bank::host);
    bank = static_cast<unsigned>(found - banks.begin());
  }
  if (bank >= here.design.banks.size()) {
    return std::nullopt;
  }
  const Bank& in = here.design.banks[bank];
  const std::uint64_t need = whole_pages(std::max<std::size_t>(bytes, 1));
  std::uint64_t at = in.next + need <= in.bytes ? in.address + in.next : in.address;
  auto next = used_.lower_bound(at);
  if (next != used_.begin()) {  // a buffer in a group of banks may extend into this bank
    const auto& [before, length] = *std::prev(next);
    at = std::max(at, before + length);
  }
  for (; next != used_.end() && next->first < at + need; ++next) {
    at = next->first + next->second;
  }
  if (at + need > in.address + in.bytes) {
    return std::nullopt;
  }
  used_[at] = need;
  note_used(at, need);
  return at;
}

/// Notes a buffer's address: later buffers follow it, in each bank or group that contains it.
void Card::note_used(std::uint64_t address, std::uint64_t bytes) {
  for (Bank& bank : loaded_->design.banks) {
    if (address + bytes > bank.address && address < bank.address + bank.bytes) {
      bank.next = std::max(bank.next, std::min(address + bytes - bank.address, bank.bytes));
    }
  }
}

unsigned Card::allocate(std::size_t bytes, unsigned flags, unsigned bank, Place where, void* user) {
  unsigned number = no_buffer;
  const auto make = [&] {
    if (where == Place::card && is_of_host(bank)) {
      where = Place::host;
    }
    Buffer made;
    made.bytes = bytes;
    made.flags = flags;
    made.place = where;
    made.host = static_cast<std::byte*>(user);
    if (user == nullptr && where != Place::card_mapped) {
      made.own = host_memory(bytes);
      if (!made.own) {
        warn_once("this machine has no memory left for a buffer of " + std::to_string(bytes) +
                  " bytes: a buffer takes its size twice, for the host and for the card");
        return;
      }
      made.host = static_cast<std::byte*>(made.own.get());
    } else if (user != nullptr) {
      populate(made.host, bytes);
    }
    if (where != Place::command) {
      const auto address = place(bank, bytes, where == Place::host);
      if (!address) {
        warn_once("memory " + std::to_string(bank) + " of the card has no room for a buffer of " +
                  std::to_string(bytes) + " bytes");
        return;
      }
      made.address = *address;
      made.shared = loaded_->device.allocate(*address, bytes, where == Place::card_mapped);
      if (where == Place::host) {
        loaded_->host.add(*address, {made.host, bytes});
      } else if (where == Place::card_mapped) {
        made.host = loaded_->device.memory(*address, bytes).data();
      }
    }
    number = next_number_++;
    buffers_.emplace(number, std::move(made));
  };
  if (bytes == 0 || bytes > most_bytes) {
    return no_buffer;
  }
  if (where == Place::command) {
    const std::scoped_lock guard(all_cards);
    make();
  } else {
    call(make);
  }
  return number;
}

void Card::free(unsigned number) {
  const Buffer* const found = buffer(number);
  if (found == nullptr) {
    return;
  }
  const bool is_command = found->place == Place::command;
  const auto release = [&] {
    const Buffer* const gone = buffer(number);
    if (gone == nullptr) {  // another thread has freed the buffer meanwhile
      return;
    }
    if (gone->place != Place::command && loaded_) {
      used_.erase(gone->address);
      loaded_->host.remove(gone->address);
      loaded_->device.free(gone->address);
    }
    if (gone->file >= 0) {
      close(gone->file);
    }
    buffers_.erase(number);
  };
  if (is_command) {
    const std::scoped_lock guard(all_cards);
    release();
  } else {
    call(release);
  }
}

Buffer* Card::buffer(unsigned number) {
  const std::scoped_lock guard(all_cards);
  const auto found = buffers_.find(number);
  return found == buffers_.end() ? nullptr : &found->second;
}

std::byte* Card::map(unsigned number) {
  const std::scoped_lock guard(all_cards);
  const Buffer* const here = buffer(number);
  return here == nullptr ? nullptr : here->host;
}

int Card::synchronise(unsigned number, bool to_card, std::size_t bytes, std::size_t offset) {
  Buffer* const here = buffer(number);
  if (here == nullptr || offset > here->bytes || bytes > here->bytes - offset) {
    return EINVAL;
  }
  if (here->place == Place::host || here->place == Place::command) {
    return 0;
  }
  std::byte* const host = map(number) + offset;
  call([&] {
    if (to_card) {
      loaded_->device.copy_to_card(here->address + offset, {host, bytes});
    } else {
      std::ranges::copy(loaded_->device.copy_from_card(here->address + offset, bytes), host);
    }
  });
  return 0;
}

/// Copies a part of a buffer: between two buffers of the card by its copy unit, between cards as a
/// transfer.
int Card::copy(unsigned to, unsigned from, std::size_t bytes, std::size_t to_offset,
               std::size_t from_offset) {
  const Buffer* const target = buffer(to);
  const Buffer* const source = buffer(from);
  const auto holds = [bytes](const Buffer* buffer, std::size_t offset) {
    return buffer != nullptr && buffer->place != Place::command && offset <= buffer->bytes &&
           bytes <= buffer->bytes - offset;
  };
  if (!holds(target, to_offset) || !holds(source, from_offset)) {
    return EINVAL;
  }
  call([&] {
    card::process::Device& device = loaded_->device;
    if (target->file >= 0 || source->file >= 0) {
      const auto data = device.memory(source->address + from_offset, bytes);
      std::ranges::copy(data, device.memory(target->address + to_offset, bytes).begin());
      device.note_taken(source->address + from_offset, bytes);
      device.note_sent(target->address + to_offset, bytes);
      const bool out = target->file >= 0;
      device.spend_on_copy_between_cards(
          out ? card::Direction::d2h : card::Direction::h2d,
          out ? source->address + from_offset : target->address + to_offset, bytes);
      return;
    }
    card::process::LocalCopy copy{
        .to = target->address + to_offset, .from = source->address + from_offset, .bytes = bytes};
    copy.duration = device.copy(copy.to, copy.from, bytes);
    if (clock::sets_argument(copy.kernel, copy.argument)) {
      device.note_local_copy(copy);
    }
  });
  return 0;
}

int Card::share(unsigned number) {
  const std::scoped_lock guard(all_cards);
  const Buffer* const here = buffer(number);
  if (here == nullptr || here->place != Place::card_mapped) {
    return -1;
  }
  return open(here->shared.c_str(), O_RDWR | O_CLOEXEC);
}

unsigned Card::import(int file) {
  struct stat status{};
  const int own = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (own < 0 || fstat(own, &status) != 0) {
    return no_buffer;
  }
  const auto bytes = static_cast<std::size_t>(status.st_size);
  const unsigned number = allocate(bytes, 0, 0, Place::card_mapped, nullptr);
  if (Buffer* const here = number == no_buffer ? nullptr : buffer(number)) {
    here->file = own;
    loaded_->device.import(here->address, here->bytes, own);
    here->host = loaded_->device.memory(here->address, here->bytes).data();
  } else {
    close(own);
  }
  return number;
}

int Card::submit(Command command) {
  if (!loaded_ || command.units.empty() ||
      std::ranges::any_of(command.units, [this](std::size_t unit) {
        return unit >= loaded_->design.units.size();
      })) {
    return EINVAL;
  }
  static const bool ends = std::atexit(end_with_program) == 0;
  static_cast<void>(ends);
  start_helper();
  call([&] {
    command.submitted = loaded_->meter.now();
    command.start = clock::start();
    loaded_->device.note_submitted(command.start);
    loaded_->commands.submit(std::move(command));
  });
  return 0;
}

/// Waits for the end of a command. All is one loop, because other threads may add commands between
/// two looks.
// NOLINTNEXTLINE(readability-function-cognitive-complexity)
int Card::wait(int limit_ms) {
  if (!loaded_) {
    return 0;
  }
  const bool has_clock = clock::is_there();
  const std::uint64_t entered = clock::enter();
  const auto real_limit = card::process::real_time() + milliseconds(limit_ms);
  std::uint64_t now = 0;
  int ended = 0;
  guarded([&] {
    std::unique_lock guard(all_cards);
    Loaded& here = *loaded_;
    ++waiting_;
    now = has_clock ? entered : here.latest;
    const std::uint64_t limit =
        now + static_cast<std::uint64_t>(limit_ms) * femtoseconds_of_a_millisecond;
    auto nap = shortest_nap;
    here.commands.advance(now);
    while ((ended = here.commands.take_ended()) == 0) {
      const auto next = here.commands.next();
      here.publish();
      if (!next) {
        clock::aim_at_nothing();
        here.commands.set_now(now);
        clock::publish(here.meter.slot(), now);
        here.commands.look();
        if (here.commands.any_ended()) {
          continue;
        }
        guard.unlock();
        std::this_thread::sleep_for(here.commands.any() ? nap : longest_nap);
        guard.lock();
        if (card::process::real_time() > real_limit) {
          break;
        }
        nap = std::min(2 * nap, longest_nap);
        continue;
      }
      const bool in_time = !is_before(limit, *next);
      const std::uint64_t goal = in_time ? *next : limit;
      guard.unlock();
      const bool reached = clock::reach_or_aim(goal);
      guard.lock();
      if (!reached) {
        guard.unlock();
        std::this_thread::sleep_for(nap);
        guard.lock();
        nap = std::min(2 * nap, longest_nap);
        continue;
      }
      nap = shortest_nap;
      here.commands.advance(goal, now);
      if (!in_time) {
        // XRT waits in slices: a slice in which no command ends takes time, too.
        here.commands.set_now(now);
        here.meter.spend({.simulated = static_cast<card::Time>(goal - now)});
        now = goal;
        ended = here.commands.take_ended();
        break;
      }
      now = is_before(now, goal) ? goal : now;
    }
    here.latest = now;
    here.publish();
    --waiting_;
  });
  clock::leave(now, true);
  return ended;
}

int Card::write_register(std::size_t unit, std::uint32_t offset, std::uint32_t value) {
  if (!loaded_ || unit >= loaded_->design.units.size()) {
    return EINVAL;
  }
  call([&] {
    loaded_->device.write_registers(loaded_->design.units[unit] + offset,
                                    std::as_bytes(std::span(&value, 1)));
  });
  return 0;
}

int Card::read_register(std::size_t unit, std::uint32_t offset, std::uint32_t& value) {
  if (!loaded_ || unit >= loaded_->design.units.size()) {
    return EINVAL;
  }
  call([&] {
    clock::publish(loaded_->meter.slot(), loaded_->meter.now());
    loaded_->device.read_registers(loaded_->design.units[unit] + offset,
                                   std::as_writable_bytes(std::span(&value, 1)));
  });
  return 0;
}

void Card::write_registers(std::uint64_t address, std::span<const std::byte> data) {
  call([&] { loaded_->device.write_registers(address, data); });
}

void Card::read_registers(std::uint64_t address, std::span<std::byte> to) {
  call([&] {
    clock::publish(loaded_->meter.slot(), loaded_->meter.now());
    loaded_->device.read_registers(address, to);
  });
}

int Card::unit_named(const std::string& name) const {
  if (!loaded_) {
    return -ENODEV;
  }
  std::istringstream lines(loaded_->design.description);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what;
    std::string kernel;
    std::string instance;
    std::uint64_t address = 0;
    if (words >> what >> kernel >> instance >> address && what == "kernel" &&
        kernel.append(":").append(instance) == name) {
      const auto& units = loaded_->design.units;
      const auto found = std::ranges::find(units, address);
      return found == units.end() ? -EINVAL : static_cast<int>(found - units.begin());
    }
  }
  return -EINVAL;
}

void Card::write_memory(std::uint64_t address, std::span<const std::byte> data) {
  call([&] {
    loaded_->device.note_sent(address, data.size());
    std::ranges::copy(data, loaded_->device.memory(address, data.size()).begin());
  });
}

void Card::read_memory(std::uint64_t address, std::span<std::byte> to) {
  call([&] {
    loaded_->device.note_taken(address, to.size());
    std::ranges::copy(loaded_->device.memory(address, to.size()), to.begin());
  });
}

std::uint64_t Card::now_fs() {
  const std::scoped_lock guard(all_cards);
  return loaded_ ? loaded_->meter.now() : 0;
}

void Card::end_all() {
  const std::scoped_lock guard(all_cards);
  for (Card* card : cards) {  // OpenCL never closes its cards, so their destructors do not run
    card->finish();
  }
}

void Card::look() {
  std::unique_lock guard(all_cards, std::try_to_lock);
  if (!guard) {
    return;
  }
  for (const Card* card : cards) {
    if (!card->loaded_ || card->waiting_ > 0) {
      continue;
    }
    Loaded& here = *card->loaded_;
    const auto next = here.commands.next();
    const bool has_clock = clock::is_there();
    if (!next || (has_clock && !clock::is_next(*next))) {
      continue;
    }
    guarded([&] {
      here.commands.advance(*next, has_clock ? *next : here.latest);
      here.latest = *next;
      here.publish();
    });
  }
}

void Card::hold_all() { all_cards.lock(); }
void Card::release_all() { all_cards.unlock(); }
/// Replaces the mutex, whose owner is a thread of the parent, so that the child cannot unlock it.
void Card::release_all_in_child() { new (&all_cards) std::recursive_mutex; }

}  // namespace isthmus::shim
