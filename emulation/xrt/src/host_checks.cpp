// Finds mistakes of the host program when kernels access its buffers.
#include <algorithm>
#include <iterator>

#include "isthmus/card/process/host_fault.hpp"
#include "isthmus/card/process/kernels.hpp"
#include "isthmus/card/process/output_checks.hpp"

namespace isthmus::card::process {

/// Returns whether `use` is the argument's own buffer: past its end a kernel accesses other
/// buffers.
bool Reach::points_into(const Buffer& argument, const BufferUse& use) {
  return argument.begin >= use.begin && argument.begin - use.begin < use.bytes;
}

std::optional<NamedArgument> Reach::named(const Buffer* buffer) const {
  if (buffer == nullptr || buffer->begin == 0) {
    return std::nullopt;
  }
  return NamedArgument{.instance = unit_->instance, .name = *buffer->name, .index = buffer->index};
}

Pieces::Stretch Reach::written(std::uint64_t address, std::uint64_t bytes) const {
  const BufferUse* use = card_->use_of(address);
  const std::uint64_t end = address + bytes;
  if (use == nullptr) {
    return {.end = end, .inside = true};
  }
  const std::uint64_t end_of_buffer = use->begin + use->bytes;
  Pieces::Stretch found = use->written.stretch(address, std::min(end, end_of_buffer));
  if (found.end == end_of_buffer && found.inside) {  // no buffer follows in this memory
    found.end = end;
  }
  return found;
}

/// Returns an argument that the program has probably exchanged with `read`: it sent that argument's
/// buffer, although the kernel may write to it.
std::optional<NamedArgument> Reach::exchanged_with(const Buffer& read) const {
  if (!read.constant) {
    return std::nullopt;
  }
  for (const Buffer& other : buffers_) {
    const BufferUse* use = other.constant ? nullptr : card_->use_of(other.begin);
    if (use != nullptr && use->sent && !use->output) {
      return named(&other);
    }
  }
  return std::nullopt;
}

void Reach::reads_unwritten(std::uint64_t address) {
  const Buffer* buffer = buffer_of(address);
  const std::optional<NamedArgument> argument = named(buffer);
  const BufferUse* use = card_->use_of(address);
  if (!argument || use == nullptr || !points_into(*buffer, *use)) {
    return;
  }
  const std::optional<UnwrittenCopy>& copy = use->unwritten_copy;
  const bool is_copied =
      copy && !use->is_local_copy && copy->begin <= address && address < copy->end;
  warnings_->warn(
      HostFault{.kind = HostFaultKind::reads_unwritten,
                .argument = *argument,
                .buffer_bytes = use->bytes,
                .offset = address - use->begin,
                .exchanged = is_copied ? std::nullopt : exchanged_with(*buffer),
                .sent_elsewhere = warnings_->sent_elsewhere(use->begin),
                .copied_from_bytes = is_copied ? std::optional(copy->source_bytes) : std::nullopt,
                .by = run_,
                .maker = use->maker});
}

/// Notes the run for each buffer that it gets to write to. An earlier run that was used wrongly
/// stays noted until a run writes, because this run may read first.
void Reach::note_given() {
  for (const Buffer& buffer : buffers_) {
    if (BufferUse* use = buffer.constant ? nullptr : card_->use_of(buffer.begin)) {
      use->maker = warnings_->doubts(use->maker) ? use->maker : run_;
      if (!use->given && use->written.ends().empty()) {
        use->given = named(&buffer);
      }
    }
  }
}

void Reach::note_read(std::uint64_t address) {
  if (BufferUse* use = card_->use_of(address)) {
    use->read_by(run_);
  }
}

void Reach::read_between(std::uint64_t address, std::uint64_t bytes) {
  BufferUse* use = card_->use_of(address);
  BufferAccess* mine = use == nullptr ? nullptr : access_to(*use, buffer_of(address));
  if (mine == nullptr) {
    return;
  }
  mine->read.add(address, address + bytes);
  check_read(*use, *mine, address, address + bytes);
  if (origin_.start != 0 && use->sent_after >= origin_.start &&
      use->sent_data.meets(address, address + bytes)) {
    warnings_->warn(HostFault{.kind = HostFaultKind::overwritten,
                              .argument = mine->argument,
                              .buffer_bytes = use->bytes,
                              .by = run_});
  }
}

void Reach::note_write(std::uint64_t address, std::span<const std::byte> data, bool is_exact) {
  const std::uint64_t bytes = data.size();
  BufferUse* use = card_->use_of(address);
  if (use == nullptr) {
    return;
  }
  use->written.add(address, address + bytes);
  const std::uint64_t end = std::min(address + bytes, use->begin + use->bytes);
  // A write to a const buffer comes from an access past another buffer's end.
  const Buffer* buffer = buffer_of(address);
  if (buffer == nullptr || buffer->constant || !points_into(*buffer, *use)) {
    return;
  }
  if (!use->output || use->output->run != run_) {
    std::optional<NamedArgument> argument = named(buffer);
    if (!argument) {
      return;
    }
    if (const auto fault = fault_of_output(*use, looks_, false)) {
      warnings_->warn(*fault);
    }
    use->end_output();
    use->maker = run_;
    use->output = BufferOutput{.writer = *std::move(argument),
                               .run = run_,
                               .origin = origin_,
                               .scalars = scalars_,
                               .fresh = card_->sends() > use->sends_at_take,
                               .since = looks_ == nullptr ? 0 : looks_->count()};
  }
  use->output->written.add(address, end);
  if (BufferAccess* mine = is_exact ? access_to(*use, buffer) : nullptr) {
    check_change(*use, *mine, address, data.first(static_cast<std::size_t>(end - address)));
    mine->written.add(address, end);
  }
}

void Reach::check_constant(std::uint64_t address) {
  const Buffer* buffer = buffer_of(address);
  const BufferUse* use = card_->use_of(address);
  if (buffer == nullptr || !buffer->constant || use == nullptr || !points_into(*buffer, *use)) {
    return;
  }
  const bool may_be_another = std::ranges::any_of(buffers_, [&](const Buffer& other) {
    return !other.constant && other.begin <= address && other.begin >= use->begin;
  });
  const std::optional<NamedArgument> argument = named(buffer);
  if (argument && !may_be_another) {
    warnings_->warn(HostFault{.kind = HostFaultKind::writes_constant,
                              .argument = *argument,
                              .buffer_bytes = use->bytes,
                              .offset = address - use->begin,
                              .by = run_});
  }
}

}  // namespace isthmus::card::process
