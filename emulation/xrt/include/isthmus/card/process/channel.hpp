// Sockets to the program: its calls, and the way to its own memory.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isthmus/card/process/wire.hpp"

namespace isthmus::card::process {

/// A connection to a socket that the program listens at.
class Channel {
 public:
  /// Throws std::runtime_error when nobody listens in time.
  Channel(const std::string& path, std::chrono::milliseconds patience);
  explicit Channel(int descriptor) : descriptor_(descriptor) {}
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&&) = delete;
  ~Channel();

  /// The process that listened at the socket.
  [[nodiscard]] pid_t listener() const;

  /// Fills `to`; false at the end of what the other side sends. Throws WireError if that is within.
  [[nodiscard]] bool receive(std::span<std::byte> to) const;
  /// False when the other side is gone.
  bool send(std::span<const std::byte> first, std::span<const std::byte> second = {});

 private:
  int descriptor_ = -1;
};

/// Host memory that the program gave to the card, reached by asking the program.
class ProgramMemory {
 public:
  explicit ProgramMemory(std::string socket) : socket_(std::move(socket)) {}

  /// Throw WireError or std::runtime_error where the program does not answer, and MemoryError where
  /// it says that nothing is there.
  void read(std::uint64_t address, std::span<std::byte> to);
  void write(std::uint64_t address, std::span<const std::byte> from);
  /// What a buffer has from an address on, `most` at most; the same errors.
  std::uint64_t bytes_at(std::uint64_t address, std::uint64_t most);
  /// Tells the program's side to end, which waits for it.
  void close();

 private:
  Channel& channel();
  Message ask(MessageWriter& request, Call call, std::span<const std::byte> data);

  std::string socket_;
  std::optional<Channel> channel_;
  std::vector<std::byte> answer_;
};

}  // namespace isthmus::card::process
