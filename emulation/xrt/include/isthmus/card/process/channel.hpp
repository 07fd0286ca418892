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

#include "isthmus/card/process/memory.hpp"
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

/// The memory of a program that is another process: reached by asking that program.
class RemoteMemory : public ProgramMemory {
 public:
  explicit RemoteMemory(std::string socket) : socket_(std::move(socket)) {}

  /// These throw WireError or std::runtime_error, too, where the program does not answer.
  void read(std::uint64_t address, std::span<std::byte> to) override;
  void write(std::uint64_t address, std::span<const std::byte> from) override;
  std::uint64_t bytes_at(std::uint64_t address, std::uint64_t most) override;
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
