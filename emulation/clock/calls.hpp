// Calls into a card, recognised by what XRT's shim does: it holds a mutex while it writes a request
// to a card's socket and reads the answer.
#pragma once

#include <pthread.h>

#include <optional>
#include <span>

#include "isthmus/card/process/page.hpp"
#include "virtual_time.hpp"

namespace isthmus::card::clock {

/// How far ahead times are told apart: femtoseconds wrap, and their differences have a sign.
inline constexpr Nanoseconds most_ahead = Nanoseconds{2} * 3600 * 1'000'000'000;
/// How long a thread sleeps before it looks again whether it may leave a call.
inline constexpr Nanoseconds shortest_nap = 20'000;
inline constexpr Nanoseconds longest_nap = 1'000'000;

/// Whether the shim is our own (emulation/shim), which tells of its calls by itself.
bool is_own_shim();
/// A card of our own shim: what happens on it next is in its slot.
void enter_card(process::CardSlot& slot);
void forget_card(const process::CardSlot& slot);
/// `is_next` for a thread that is in a call into a card of our own shim; `in_turn`: it is the first
/// of those that are there, too.
bool is_next_in_call(Nanoseconds time, bool in_turn);

/// Whether an address lies in the shim's code; `learn` as well, where it is not known yet.
bool in_shim(const void* code);
bool learn_shim(const void* code);
/// Learns where the shim is, if it is loaded already. A program that is linked with the shim loads
/// it before this library knows that there are cards.
void learn_loaded_shim();
/// Whether it lies in the library that has XRT's software scheduler; known when the shim is.
bool in_scheduler(const void* code);
/// Whether it lies in XRT's OpenCL, or in the library by which that reaches its devices.
bool in_opencl(const void* code);
/// Whether it lies in XRT's common library, or in the shim.
bool in_runtime(const void* code);

/// XRT's scheduler writes that a command is completed before it marks the command as done. A
/// program that has read the first and starts the command again finds it in use: waits until it is
/// marked. Called by a thread that is about to lock a mutex of the scheduler's library.
void await_completion();
/// Whether the calling thread waits for a command to end.
bool waits_for_command();
/// A thread has locked, or unlocked, a mutex of that library.
void on_scheduler_locked(const pthread_mutex_t* mutex);
void on_scheduler_unlocked();
/// Whether a thread that this one starts in that library is the scheduler; others, such as that of
/// a queue of tasks, are the program's.
bool starts_scheduler();
/// Somebody in that library signals a condition: where it is a thread that gives a command, for
/// this command in the list whose mutex it holds, which the scheduler is to take; where it is the
/// scheduler, for a command that is done.
void on_signalled();
/// A thread begins or ends a wait for a condition in that library.
void on_parked(bool parked);

/// The shim has accepted a connection of a device process.
void on_accept(int socket);
/// The shim is going to write to a file.
void on_write(int file);
/// The shim is going to lock a mutex: where a call begins with it, waits until no other thread can
/// begin one earlier in the program's time. So cards get calls in the order of that time.
void await_turn(const pthread_mutex_t* mutex);
void on_locked(pthread_mutex_t* mutex);
/// Kernels that wait, or that start themselves again, are to end with this: those of XRT's device
/// `card`, or of all.
void end_waiting_kernels(process::Ending with, std::optional<unsigned> card = std::nullopt);
/// Whether a call ends with it: then `leave_call(call_end())` is due once it is unlocked.
bool on_unlocking(pthread_mutex_t* mutex);
Nanoseconds call_end();
void leave_call(Nanoseconds goal);
/// Leads the shim's calls of its own functions, which are in this code, to what counts openings of
/// cards and kernels (`handles.cpp`).
void redirect_shim(void* library, std::span<unsigned char> code);
/// Leads XRT's calls of its software scheduler, by the program's threads, to what leaves its
/// computing out (`scheduler.cpp`).
void redirect_scheduler(void* library, std::span<unsigned char> code);
/// Leads calls in XRT's OpenCL of what a buffer is that a kernel is given, which would follow a
/// null pointer where it is given none (`handles.cpp`).
void redirect_opencl(void* library, std::span<unsigned char> code);
/// Another bitstream is loaded to a card, the shim's `handle` and XRT's device `card`: ends its
/// kernels that wait, and waits for the others; whether all have ended.
bool end_kernels(void* handle, unsigned card);
/// The device process that this thread has started last, and that of the card to which it has
/// written last, as places of `DeviceProcesses`.
int newest_device();
int device_of_last_write();
/// In the child of a fork: it is in no call, and has no card, scheduler or device process.
void forget_calls();
void forget_device_processes();

}  // namespace isthmus::card::clock
