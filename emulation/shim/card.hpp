// An emulated card in the program's process, as the shim uses it; no type of XRT occurs.
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

/// A bank of card or host memory; the order is that of the xclbin's memory topology.
struct Bank {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool host = false;
  std::uint64_t next = 0;  ///< offset in the bank at which the next buffer is tried
};

/// The parts of an xclbin that the shim uses.
struct Design {
  std::array<unsigned char, 16> uuid{};
  std::string description;  ///< text of the section BITSTREAM, which describes the card
  std::vector<Bank> banks;
  std::vector<std::uint64_t> units;  ///< address of each compute unit; the index is XRT's
};

/// Where a buffer's data are.
enum class Place : std::uint8_t {
  card,         ///< card memory, with a copy in host memory
  card_mapped,  ///< card memory that the program maps (P2P)
  host,         ///< host memory that the card accesses
  command       ///< host memory: a packet for the command queue
};

struct Buffer {
  std::uint64_t address = 0;  ///< card address; 0 for a command
  std::size_t bytes = 0;
  unsigned flags = 0;
  Place place = Place::card;
  std::byte* host = nullptr;
  std::shared_ptr<void> own;  ///< host memory that the shim allocated; null if the program did
  std::string shared;         ///< name of the file of card memory that the program can map
  int file = -1;              ///< descriptor of the other card's memory, for an imported buffer
};

/// The buffers of one card that lie in host memory.
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

/// A card. Each call returns when the program's clock has reached the call's simulated end. If the
/// card cannot do a call, a line on stderr says so and the program ends (`faults.hpp`).
class Card {
 public:
  static constexpr unsigned no_buffer = ~0U;

  explicit Card(unsigned index);
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;
  ~Card();

  /// Loads a bitstream. Returns 0, or EBUSY while kernels of the previous bitstream are open or
  /// run.
  int load(Design design);
  void open_kernel() { ++open_kernels_; }
  void close_kernel();

  /// Makes a buffer; returns its number, or no_buffer. `user` is the program's memory for it, or
  /// null. With Place::card and a bank of host memory, the buffer lies in host memory.
  unsigned allocate(std::size_t bytes, unsigned flags, unsigned bank, Place where, void* user);
  void free(unsigned number);
  /// Returns the buffer with this number, or null.
  Buffer* buffer(unsigned number);
  /// Returns the host memory of a buffer; null if it has none.
  std::byte* map(unsigned number);
  int synchronise(unsigned number, bool to_card, std::size_t bytes, std::size_t offset);
  int copy(unsigned to, unsigned from, std::size_t bytes, std::size_t to_offset,
           std::size_t from_offset);
  /// Returns a file descriptor of card memory that the program maps; -1 for other buffers.
  int share(unsigned number);
  unsigned import(int file);

  int submit(Command command);
  /// Returns XRT's index of the compute unit "kernel:instance", or a negative error number.
  [[nodiscard]] int unit_named(const std::string& name) const;
  /// Waits for the end of a command. Returns how many commands have ended; 0 after `limit_ms`.
  int wait(int limit_ms);

  int write_register(std::size_t unit, std::uint32_t offset, std::uint32_t value);
  int read_register(std::size_t unit, std::uint32_t offset, std::uint32_t& value);
  /// Writes to an address on the card, as older programs access registers and memory.
  void write_registers(std::uint64_t address, std::span<const std::byte> data);
  void read_registers(std::uint64_t address, std::span<std::byte> to);
  void write_memory(std::uint64_t address, std::span<const std::byte> data);
  void read_memory(std::uint64_t address, std::span<std::byte> to);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] unsigned banks() const { return banks_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t now_fs();

  /// Ends the kernels of all cards at the program's end.
  static void end_all();
  /// Does what is due on cards for which no thread waits; the helper calls it every 2 ms.
  static void look();
  /// Keeps other threads from the cards during a fork, so that the child gets a consistent state.
  static void hold_all();
  static void release_all();
  static void release_all_in_child();

 private:
  struct Loaded;

  template <class Action>
  void call(const Action& action);
  bool end_kernels(card::process::Ending with);
  /// Ends the card's kernels at the program's end, and warns of outputs that were never read.
  void finish();
  void keep_buffers();
  [[nodiscard]] std::optional<unsigned> card_sent_to(std::uint64_t address) const;
  [[nodiscard]] bool is_of_host(unsigned bank) const;
  void note_used(std::uint64_t address, std::uint64_t bytes);
  std::optional<std::uint64_t> place(unsigned bank, std::size_t bytes, bool host);

  unsigned index_;
  std::string name_;
  /// The board's memories, for buffers that are made before a bitstream is loaded.
  Design before_bitstream_;
  unsigned banks_ = 0;
  std::uint64_t bytes_ = 0;  ///< size of all banks of card memory
  unsigned open_kernels_ = 0;
  unsigned loads_ = 0;
  std::unique_ptr<Loaded> loaded_;
  std::unordered_map<unsigned, Buffer> buffers_;
  unsigned next_number_ = 1;
  /// Bytes of each buffer, by its address on the card.
  std::map<std::uint64_t, std::uint64_t> used_;
  int waiting_ = 0;  ///< number of threads that wait for a command
};

/// Returns how many cards the session has.
unsigned count_of_cards();

}  // namespace isthmus::shim
