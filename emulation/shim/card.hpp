// An emulated card in the program's process, for the shim. It uses no type of XRT.
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
  std::uint64_t next = 0;  ///< address behind all buffers so far
};

/// The parts of an xclbin that a shim needs.
struct Design {
  std::array<unsigned char, 16> uuid{};
  std::string description;  ///< the section BITSTREAM, which describes the card
  std::vector<Bank> banks;
  std::vector<std::uint64_t> units;  ///< addresses of compute units, by XRT's index
};

/// Where a buffer lies.
enum class Place : std::uint8_t {
  card,         ///< in card memory, with a copy in host memory
  card_mapped,  ///< in card memory, which the program maps (P2P)
  host,         ///< in host memory, which the card accesses
  command       ///< in host memory: a packet for the command queue
};

struct Buffer {
  std::uint64_t address = 0;  ///< address on the card; 0 for a command
  std::size_t bytes = 0;
  unsigned flags = 0;
  Place place = Place::card;
  std::byte* host = nullptr;
  std::shared_ptr<void> own;  ///< host memory of the shim; null for memory of the program
  std::string shared;         ///< name of the file of card memory that the program maps
  int file = -1;              ///< file of the other card's memory, for an imported buffer
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

/// A card. Each call takes simulated time: it returns when the program's clock has reached its end.
/// A call that the card cannot do ends the program with a line (`faults.hpp`).
class Card {
 public:
  static constexpr unsigned no_buffer = ~0U;

  explicit Card(unsigned index);
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;
  ~Card();

  /// Loads a bitstream. Returns 0, or EBUSY if kernels of the loaded bitstream are open or run.
  int load(Design design);
  void open_kernel() { ++open_kernels_; }
  void close_kernel();

  /// Makes a buffer; returns its number, or no_buffer. `user`: memory of the program, or null. A
  /// buffer with Place::card lies in host memory if its bank is the host's.
  unsigned allocate(std::size_t bytes, unsigned flags, unsigned bank, Place where, void* user);
  void free(unsigned number);
  /// Returns the buffer with that number, or null.
  Buffer* buffer(unsigned number);
  /// Returns a buffer's memory on the host; null without such memory.
  std::byte* map(unsigned number);
  int synchronise(unsigned number, bool to_card, std::size_t bytes, std::size_t offset);
  int copy(unsigned to, unsigned from, std::size_t bytes, std::size_t to_offset,
           std::size_t from_offset);
  /// Returns a file descriptor of a buffer in Place::card_mapped; -1 for other buffers.
  int share(unsigned number);
  unsigned import(int file);

  int submit(Command command);
  /// Returns XRT's index of the unit "kernel:instance", or a negative error number.
  [[nodiscard]] int unit_named(const std::string& name) const;
  /// Waits until a command has ended. Returns the number of ended commands; 0 after `limit_ms`.
  int wait(int limit_ms);

  int write_register(std::size_t unit, std::uint32_t offset, std::uint32_t value);
  int read_register(std::size_t unit, std::uint32_t offset, std::uint32_t& value);
  /// Writes at an address of the card: older programs access registers and memory in this way.
  void write_registers(std::uint64_t address, std::span<const std::byte> data);
  void read_registers(std::uint64_t address, std::span<std::byte> to);
  void write_memory(std::uint64_t address, std::span<const std::byte> data);
  void read_memory(std::uint64_t address, std::span<std::byte> to);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] unsigned banks() const { return banks_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t now_fs();

  /// Ends all kernels at the end of the program.
  static void end_all();
  /// Does the due events of cards for which no thread waits; the helper calls it every 2 ms.
  static void look();
  /// Before a fork: keeps other threads from the cards, so that the child gets a consistent state.
  static void hold_all();
  static void release_all();
  static void release_all_in_child();

 private:
  struct Loaded;

  template <class Action>
  void call(const Action& action);
  bool end_kernels(card::process::Ending with);
  /// At the program's end: ends kernels, and warns of outputs that the program never read.
  void finish();
  void keep_buffers();
  [[nodiscard]] bool is_of_host(unsigned bank) const;
  void note_used(std::uint64_t address, std::uint64_t bytes);
  std::optional<std::uint64_t> place(unsigned bank, std::size_t bytes, bool host);

  unsigned index_;
  std::string name_;
  Design before_bitstream_;  ///< the board's memories, for buffers before a bitstream is loaded
  unsigned banks_ = 0;
  std::uint64_t bytes_ = 0;  ///< size of all banks
  unsigned open_kernels_ = 0;
  unsigned loads_ = 0;
  std::unique_ptr<Loaded> loaded_;
  std::unordered_map<unsigned, Buffer> buffers_;
  unsigned next_number_ = 1;
  std::map<std::uint64_t, std::uint64_t> used_;  ///< sizes of buffers by address on the card
  int waiting_ = 0;                              ///< number of threads in `wait`
};

/// Returns the number of the session's cards.
unsigned count_of_cards();

}  // namespace isthmus::shim
