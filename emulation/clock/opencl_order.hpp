// Finds commands of OpenCL's out-of-order queues that lack an event.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus::card::clock {

/// Notes that the program has made a queue, a kernel or a buffer. `flags` are OpenCL's.
void know_queue(const void* queue, bool is_out_of_order);
void know_cl_kernel(const void* kernel, const char* name);
void know_cl_buffer(const void* buffer, std::uint64_t flags, std::size_t bytes);
/// Notes that the program sets an argument of a kernel to a buffer, or to a value of as many bytes.
void note_cl_argument(const void* kernel, unsigned index, const void* buffer);

/// Notes that the program puts a kernel into a queue, with a number of events to wait for. Warns if
/// it has none, and a transfer to one of the kernel's buffers is before it in the queue.
void note_cl_kernel(const void* queue, const void* kernel, unsigned events);
/// Notes that the program writes a buffer on the card without a wait for the end.
void note_cl_send(const void* queue, const void* buffer);
/// Notes that the program migrates a buffer to the card, with its content or without. The first
/// migration needs no event: XRT's OpenCL makes a kernel wait for its own migration of each
/// argument that is not resident and not write-only (XRT 2022.1: `action_ndrange_migrate`).
void note_cl_migration(const void* queue, const void* buffer, bool has_content);
/// Notes that the program reads `bytes` from a buffer's begin (`call`), with a number of events to
/// wait for. Warns if it has none, and a kernel with that buffer is before it in the queue.
void note_cl_read(const char* call, const void* queue, const void* buffer, std::size_t offset,
                  std::size_t bytes, unsigned events);
/// The number of bytes of a command that moves all of a buffer.
inline constexpr std::size_t whole_buffer = ~std::size_t{0};
/// Notes that the program waits for commands, or learns of their end; all later ones are ordered.
void note_cl_wait();
/// Forgets all commands in the child of a fork, also while a thread of the parent notes one.
void forget_commands();
/// Returns whether the user was warned that an event is missing.
bool lacks_event();

}  // namespace isthmus::card::clock
