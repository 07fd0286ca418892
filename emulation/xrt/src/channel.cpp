#include "isthmus/card/process/channel.hpp"

#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "isthmus/card/process/memory.hpp"

namespace isthmus::card::process {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds pause{1};
constexpr milliseconds host_memory_patience{20'000};
constexpr milliseconds farewell_patience{2'000};
/// Larger pieces are no faster, and the program copies each several times.
constexpr std::size_t portion_bytes = std::size_t{1} << 20U;

int connect_once(const sockaddr_un& address) {
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) {
    throw std::runtime_error(std::string("no socket: ") + std::strerror(errno));
  }
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return descriptor;
  }
  close(descriptor);
  return -1;
}

}  // namespace

Channel::Channel(const std::string& path, milliseconds patience) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    throw std::runtime_error("the socket's name is too long: " + path);
  }
  std::ranges::copy(path, &address.sun_path[0]);
  const auto end = std::chrono::steady_clock::now() + patience;
  while ((descriptor_ = connect_once(address)) < 0) {
    if (std::chrono::steady_clock::now() > end) {
      throw std::runtime_error("nobody listens at " + path);
    }
    std::this_thread::sleep_for(pause);
  }
}

Channel::Channel(Channel&& other) noexcept : descriptor_(other.descriptor_) {
  other.descriptor_ = -1;
}

Channel::~Channel() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

pid_t Channel::listener() const {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  const bool known = getsockopt(descriptor_, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0;
  return known ? credentials.pid : 0;
}

bool Channel::receive(std::span<std::byte> to) const {
  bool begun = false;
  while (!to.empty()) {
    const ssize_t got = ::read(descriptor_, to.data(), to.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      if (begun) {
        throw WireError("the program went away within a message");
      }
      return false;
    }
    begun = true;
    to = to.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

bool Channel::send(std::span<const std::byte> first, std::span<const std::byte> second) {
  while (!first.empty() || !second.empty()) {
    // The call only reads, but has one type for both ways.
    // NOLINTBEGIN(cppcoreguidelines-pro-type-const-cast)
    std::array<iovec, 2> parts = {{{const_cast<std::byte*>(first.data()), first.size()},
                                   {const_cast<std::byte*>(second.data()), second.size()}}};
    // NOLINTEND(cppcoreguidelines-pro-type-const-cast)
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t sent = sendmsg(descriptor_, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent < 0) {
      return false;
    }
    const auto of_first = std::min(first.size(), static_cast<std::size_t>(sent));
    first = first.subspan(of_first);
    second = second.subspan(static_cast<std::size_t>(sent) - of_first);
  }
  return true;
}

Channel& RemoteMemory::channel() {
  if (!channel_) {
    channel_.emplace(socket_, host_memory_patience);
  }
  return *channel_;
}

Message RemoteMemory::ask(MessageWriter& request, Call call, std::span<const std::byte> data) {
  // Here, and only here, an answer's header is as long as a request's.
  std::array<std::byte, request_header_bytes> header{};
  if (!channel().send(request.request(call), data) || !channel().receive(header)) {
    throw WireError("the program no longer answers for its memory");
  }
  answer_.resize(static_cast<std::size_t>(parse_request_header(header).bytes));
  if (!channel().receive(answer_)) {
    throw WireError("the program's answer for its memory ends with its header");
  }
  return Message(answer_);
}

void RemoteMemory::read(std::uint64_t address, std::span<std::byte> to) {
  while (!to.empty()) {
    const auto piece = to.first(std::min(to.size(), portion_bytes));
    MessageWriter request;
    request.number(1, address).number(2, piece.size());
    const Message answer = ask(request, Call::read_host_memory, {});
    if (answer.number(1) == 0 || answer.bytes(2).size() != piece.size()) {
      throw MemoryError(address, piece.size(), "the program gave the card no such host memory");
    }
    std::ranges::copy(answer.bytes(2), piece.begin());
    to = to.subspan(piece.size());
    address += piece.size();
  }
}

std::uint64_t RemoteMemory::bytes_at(std::uint64_t address, std::uint64_t most) {
  // The program does not tell; it refuses what begins in a buffer and ends behind it.
  std::vector<std::byte> scratch(portion_bytes);
  const auto has = [&](std::uint64_t at, std::uint64_t bytes) {
    try {
      read(address + at, std::span(scratch).first(static_cast<std::size_t>(bytes)));
      return true;
    } catch (const MemoryError&) {
      return false;
    }
  };
  std::uint64_t found = 0;
  while (has(found, portion_bytes)) {
    found += portion_bytes - 1;  // by one less, so that one goes across the end
    if (found >= most) {
      return most;
    }
  }
  std::uint64_t lacks = portion_bytes;
  for (std::uint64_t bytes = 0; lacks - bytes > 1;) {
    const std::uint64_t middle = bytes + (lacks - bytes) / 2;
    (has(found, middle) ? bytes : lacks) = middle;
  }
  return found + lacks - 1;
}

void RemoteMemory::write(std::uint64_t address, std::span<const std::byte> from) {
  while (!from.empty()) {
    const auto piece = from.first(std::min(from.size(), portion_bytes));
    MessageWriter request;
    request.number(1, address).number(2, piece.size()).announce(3, piece.size());
    if (ask(request, Call::write_host_memory, piece).number(1) == 0) {
      throw MemoryError(address, piece.size(), "the program gave the card no such host memory");
    }
    from = from.subspan(piece.size());
    address += piece.size();
  }
}

void RemoteMemory::close() {
  if (!channel_) {
    // Where it was never used the program still waits for somebody to come.
    channel_.emplace(socket_, farewell_patience);
  }
  MessageWriter request;
  channel_->send(request.request(Call::close));
  channel_.reset();
}

}  // namespace isthmus::card::process
