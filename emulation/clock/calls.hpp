// Calls into a card, recognised by what XRT's shim does: it holds a mutex while it writes a request
// to a card's socket and reads the answer.
#pragma once

#include <pthread.h>

namespace isthmus::card::clock {

/// Whether an address lies in the shim's code; `learn` as well, where it is not known yet.
bool in_shim(const void* code);
bool learn_shim(const void* code);

/// The shim has accepted a connection of a device process.
void on_accept(int socket);
/// The shim is going to write to a file.
void on_write(int file);
void on_locked(pthread_mutex_t* mutex);
void on_unlocking(pthread_mutex_t* mutex);
/// In the child of a fork: it is in no call.
void forget_call();

}  // namespace isthmus::card::clock
