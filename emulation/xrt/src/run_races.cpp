// Finds runs of kernels that access the same bytes at the same time, without an order.
#include <algorithm>
#include <iterator>

#include "isthmus/card/process/kernels.hpp"

namespace isthmus::card::process {
namespace {

/// Most runs of which a buffer's record keeps the accesses.
constexpr std::size_t most_accesses = 64;

/// Returns the first byte of a range at which two runs of bytes differ and that is in `pieces`; the
/// range's end if there is none.
std::uint64_t first_change(const Pieces& pieces, std::uint64_t begin,
                           std::span<const std::byte> now, std::span<const std::byte> data) {
  const std::uint64_t end = begin + data.size();
  for (std::uint64_t at = begin; at < end;) {
    const Pieces::Stretch part = pieces.stretch(at, end);
    const auto from = static_cast<std::ptrdiff_t>(at - begin);
    const auto to = static_cast<std::ptrdiff_t>(part.end - begin);
    if (part.inside) {
      const auto differs = std::mismatch(now.begin() + from, now.begin() + to, data.begin() + from);
      if (differs.first != now.begin() + to) {
        return begin + static_cast<std::uint64_t>(differs.first - now.begin());
      }
    }
    at = part.end;
  }
  return end;
}

}  // namespace

BufferAccess* Reach::access_to(BufferUse& use, const Buffer* buffer) {
  const bool is_watched = origin_.start != 0 || origin_.number != 0;
  if (!is_watched || order_ == nullptr || buffer == nullptr || !points_into(*buffer, use)) {
    return nullptr;
  }
  const auto mine = std::ranges::find(use.accesses, run_, &BufferAccess::run);
  if (mine != use.accesses.end()) {
    return &*mine;
  }
  const std::optional<NamedArgument> argument = named(buffer);
  if (!argument) {
    return nullptr;
  }
  std::erase_if(use.accesses, [this](const BufferAccess& access) {
    const bool is_read_unseen = access.origin.start != 0 && !access.read.ends().empty();
    return order_->is_past(access.origin.number) && !is_read_unseen;
  });
  if (use.accesses.size() >= most_accesses) {
    use.accesses.erase(use.accesses.begin());
  }
  use.accesses.push_back({.argument = *argument, .run = run_, .origin = origin_});
  return &use.accesses.back();
}

void Reach::check_read(const BufferUse& use, const BufferAccess& mine, std::uint64_t begin,
                       std::uint64_t end) {
  for (const BufferAccess& other : use.accesses) {
    const Pieces::Stretch first = other.written.stretch(begin, end);
    if ((!first.inside && first.end >= end) || order_->has(origin_, other.origin)) {
      continue;
    }
    warnings_->warn(HostFault{.kind = HostFaultKind::reads_beside,
                              .argument = mine.argument,
                              .buffer_bytes = use.bytes,
                              .offset = (first.inside ? begin : first.end) - use.begin,
                              .other = other.argument,
                              .by = run_});
    return;
  }
}

/// A run that leaves the bytes as they are is no mistake: the order then changes nothing.
void Reach::check_change(const BufferUse& use, const BufferAccess& mine, std::uint64_t begin,
                         std::span<const std::byte> data) {
  for (const BufferAccess& other : use.accesses) {
    if (order_->has(origin_, other.origin) || !card_->holds(begin, data.size())) {
      continue;
    }
    const std::span<const std::byte> now = card_->at(begin, data.size());
    const std::uint64_t written = first_change(other.written, begin, now, data);
    const std::uint64_t read = first_change(other.read, begin, now, data);
    const std::uint64_t first = std::min(written, read);
    if (first == begin + data.size()) {
      continue;
    }
    warnings_->warn(HostFault{.kind = HostFaultKind::writes_beside,
                              .argument = mine.argument,
                              .buffer_bytes = use.bytes,
                              .offset = first - use.begin,
                              .other = other.argument,
                              .other_writes = written == first,
                              .by = run_});
    return;
  }
}

}  // namespace isthmus::card::process
