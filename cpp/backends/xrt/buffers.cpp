#include "buffers.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace isthmus::xrt_native {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);
/// Number of pages that are accessed together, a few MiB.
constexpr std::size_t pages_at_once = 1024;

constexpr const char* own_memory = "alloc_host";
constexpr const char* user_memory = "use_host_ptr";

/// Calls `action(offset, words)` for pieces of `words`, whose words lie a page apart from `offset`.
template <class Word, class Action>
void in_pieces(std::size_t offset, std::span<Word> words, const Action& action) {
  while (!words.empty()) {
    const std::size_t count = std::min(words.size(), pages_at_once);
    action(offset, words.first(count));
    words = words.subspan(count);
    offset += count * page_bytes;
  }
}

std::size_t span_of(std::size_t words) { return (words - 1) * page_bytes + word_bytes; }

xrt::bo make(const Session& session, const OperationSpec& spec, HostBuffer* own) {
  const Contents& contents = session.contents();
  if (spec.memory == reachable_memory) {
    if (!contents.host_memory) {
      throw BackendError("this bitstream gives the device no host memory (HOST[0])");
    }
    return session.make_buffer(spec.bytes, *contents.host_memory, xrt::bo::flags::host_only);
  }
  if (spec.bank() >= contents.banks.size()) {
    throw UsageError("no bank " + std::to_string(spec.bank()) + " here");
  }
  const Bank& bank = contents.banks[spec.bank()];
  return spec.memory == user_memory ? session.make_buffer(own->data(), spec.bytes, bank)
                                    : session.make_buffer(spec.bytes, bank);
}

}  // namespace

/// Copies whole pages from the device to the buffer's host side, calls `visitor`, copies the pages
/// back if it changed them, and restores the host side.
template <class Visit>
void DeviceSide::visit(std::size_t offset, std::size_t bytes, Access access, const Visit& visitor) {
  const std::size_t begin = offset / page_bytes * page_bytes;
  const std::size_t pages = (offset + bytes - begin + page_bytes - 1) / page_bytes;
  const std::size_t size = std::min(pages * page_bytes, bytes_ - begin);
  const std::span host(host_ + begin, size);
  const std::vector<std::byte> before(host.begin(), host.end());
  // Inverted, so that the host's data do not pass as the device's if nothing arrives.
  std::ranges::transform(host, host.begin(), [](std::byte value) { return ~value; });
  buffer_.sync(XCL_BO_SYNC_BO_FROM_DEVICE, size, begin);
  visitor(host_ + offset);
  if (access == Access::change) {
    buffer_.sync(XCL_BO_SYNC_BO_TO_DEVICE, size, begin);
  }
  std::ranges::copy(before, host.begin());
}

void DeviceSide::put(std::size_t offset, std::span<const std::byte> from) {
  visit(offset, from.size(), Access::change,
        [from](std::byte* host) { std::memcpy(host, from.data(), from.size()); });
}

void DeviceSide::get(std::size_t offset, std::span<std::byte> to) {
  visit(offset, to.size(), Access::read,
        [to](const std::byte* host) { std::memcpy(to.data(), host, to.size()); });
}

void DeviceSide::put_words(std::size_t offset, std::span<const std::uint64_t> words) {
  in_pieces(offset, words, [this](std::size_t at, std::span<const std::uint64_t> piece) {
    visit(at, span_of(piece.size()), Access::change, [piece](std::byte* host) {
      for (std::size_t page = 0; page < piece.size(); ++page) {
        std::memcpy(host + page * page_bytes, &piece[page], word_bytes);
      }
    });
  });
}

void DeviceSide::get_words(std::size_t offset, std::span<std::uint64_t> words) {
  in_pieces(offset, words, [this](std::size_t at, std::span<std::uint64_t> piece) {
    visit(at, span_of(piece.size()), Access::read, [piece](const std::byte* host) {
      for (std::size_t page = 0; page < piece.size(); ++page) {
        std::memcpy(&piece[page], host + page * page_bytes, word_bytes);
      }
    });
  });
}

Lane::Lane(const Session& session, const OperationSpec& spec, xclBOSyncDirection direction)
    : direction_(direction),
      own_(spec.memory == own_memory || spec.memory == reachable_memory
               ? nullptr
               : std::make_unique<HostBuffer>(spec.memory == user_memory ? "aligned" : spec.memory,
                                              spec.bytes)),
      buffer_(make(session, spec, own_.get())),
      view_(std::make_unique<HostView>(buffer_.map<std::byte*>(), spec.bytes)),
      device_(std::make_unique<DeviceSide>(buffer_, spec.bytes)),
      staged_(own_ && spec.memory != user_memory ? own_->data() : nullptr),
      bytes_(spec.bytes) {}

Movement Lane::movement() {
  Memory& host = staged_ != nullptr ? static_cast<Memory&>(*own_) : *view_;
  std::vector<Memory*> between;
  if (staged_ != nullptr) {
    between.push_back(view_.get());
  }
  return direction_ == XCL_BO_SYNC_BO_TO_DEVICE
             ? Movement(host, *device_, bytes_, std::move(between))
             : Movement(*device_, host, bytes_, std::move(between));
}

void Lane::to_device() {
  if (staged_ != nullptr) {
    buffer_.write(staged_, bytes_, 0);
  }
  buffer_.sync(XCL_BO_SYNC_BO_TO_DEVICE, bytes_, 0);
}

void Lane::to_host() {
  buffer_.sync(XCL_BO_SYNC_BO_FROM_DEVICE, bytes_, 0);
  if (staged_ != nullptr) {
    buffer_.read(staged_, bytes_, 0);
  }
}

std::vector<std::string> memory_kinds(const Contents& contents) {
  std::vector<std::string> kinds = {own_memory, user_memory};
  std::ranges::copy(HostBuffer::kinds(), std::back_inserter(kinds));
  if (contents.host_memory) {
    kinds.emplace_back(reachable_memory);
  }
  return kinds;
}

}  // namespace isthmus::xrt_native
