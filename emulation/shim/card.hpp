// An emulated card within the program's own process, as a shim of XRT uses it. No type of XRT's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "commands.hpp"
#include "isthmus/card/process/device.hpp"

namespace isthmus::shim {

/// A bank of the xclbin's memory topology, in its order.
struct Bank {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool host = false;
  std::uint64_t next = 0;  ///< behind all buffers that were ever placed
};

/// What an xclbin tells a shim.
struct Design {
  std::array<unsigned char, 16> uuid{};
  std::string description;  ///< section BITSTREAM
  std::vector<Bank> banks;
  std::vector<std::uint64_t> units;  ///< their addresses, by XRT's index
};

/// Where a buffer lies.
enum class Place : std::uint8_t {
  card,         ///< with a copy in the host's memory
  card_mapped,  ///< the program maps the card's memory (P2P)
  host,         ///< in the host's memory, which the card reaches
  command       ///< in the host's memory: a packet for the command queue
};

struct Buffer {
  std::uint64_t address = 0;  ///< on the card; 0 for a command
  std::size_t bytes = 0;
  unsigned flags = 0;
  Place place = Place::card;
  std::byte* host = nullptr;
  std::shared_ptr<void> own;  ///< the host's memory, unless the program gave it
  std::string shared;         ///< file behind memory that the program maps
  int file = -1;              ///< of another card's memory, which was imported
};

/// The host's memory of one card: its buffers there.
class HostBuffers : public card::process::ProgramMemory {
 public:
  void add(std::uint64_t address, std::span<std::byte> memory) { buffers_[address] = memory; }
  void remove(std::uint64_t address) { buffers_.erase(address); }
  void read(std::uint64_t address, std::span<std::byte> to) override;
  void write(std::uint64_t address, std::span<const std::byte> from) override;
  std::uint64_t bytes_at(std::uint64_t address, std::uint64_t most) override;

 private:
  [[nodiscard]] std::span<std::byte> from(std::uint64_t address) const;
  std::map<std::uint64_t, std::span<std::byte>> buffers_;
};

/// Calls of a card. Each takes its simulated time: it returns when the program's clock is there.
/// What the card cannot do ends the program with a line (`faults.hpp`).
class Card {
 public:
  static constexpr unsigned no_buffer = ~0U;

  explicit Card(unsigned index);
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;
  ~Card();

  /// Loads a bitstream: 0, or EBUSY where one is loaded whose kernels are open or run on.
  int load(Design design);
  void open_kernel() { ++open_kernels_; }
  void close_kernel();

  /// The new buffer's number, or no_buffer. `user` is memory of the program, or null. A buffer for
  /// the card lies in the host's memory where its bank is the host's.
  unsigned allocate(std::size_t bytes, unsigned flags, unsigned bank, Place where, void* user);
  void free(unsigned number);
  /// Null where there is no such buffer.
  Buffer* buffer(unsigned number);
  /// The host's side of a buffer; null where there is none.
  std::byte* map(unsigned number);
  int synchronise(unsigned number, bool to_card, std::size_t bytes, std::size_t offset);
  int copy(unsigned to, unsigned from, std::size_t bytes, std::size_t to_offset,
           std::size_t from_offset);
  /// A file descriptor of a buffer that the program maps; -1 for others.
  int share(unsigned number);
  unsigned import(int file);

  int submit(Command command);
  /// XRT's index of a unit that is called "kernel:instance"; a negative error number without one.
  [[nodiscard]] int unit_named(const std::string& name) const;
  /// Waits until a command has ended: how many have, 0 after the time.
  int wait(int limit_ms);

  int write_register(std::size_t unit, std::uint32_t offset, std::uint32_t value);
  int read_register(std::size_t unit, std::uint32_t offset, std::uint32_t& value);
  /// At an address of the card's, as older programs reach its registers and its memory.
  void write_registers(std::uint64_t address, std::span<const std::byte> data);
  void read_registers(std::uint64_t address, std::span<std::byte> to);
  void write_memory(std::uint64_t address, std::span<const std::byte> data);
  void read_memory(std::uint64_t address, std::span<std::byte> to);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] unsigned banks() const { return banks_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t now_fs();

  /// All kernels are to end: the program does.
  static void end_all();
  /// Does what is due on cards for which no thread waits; called now and then.
  static void look();
  /// Around a fork: no other thread works with a card meanwhile, so that the child finds all whole.
  static void hold_all();
  static void release_all();
  static void release_all_in_child();

 private:
  struct Loaded;

  template <class Action>
  void call(const Action& action);
  bool end_kernels(card::process::Ending with);
  /// Ends kernels with the program, and warns of outputs that the program never read.
  void finish();
  void keep_buffers();
  [[nodiscard]] bool is_of_host(unsigned bank) const;
  void note_used(std::uint64_t address, std::uint64_t bytes);
  std::optional<std::uint64_t> place(unsigned bank, std::size_t bytes, bool host);

  unsigned index_;
  std::string name_;
  Design before_bitstream_;  ///< the board's memories alone, for buffers made so early
  unsigned banks_ = 0;
  std::uint64_t bytes_ = 0;  ///< of all banks
  unsigned open_kernels_ = 0;
  unsigned loads_ = 0;
  std::unique_ptr<Loaded> loaded_;
  std::unordered_map<unsigned, Buffer> buffers_;
  unsigned next_number_ = 1;
  std::map<std::uint64_t, std::uint64_t> used_;  ///< bytes by address, on the card
  int waiting_ = 0;                              ///< threads in `wait`
};

/// How many cards the session has.
unsigned count_of_cards();

}  // namespace isthmus::shim
