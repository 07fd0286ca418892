/* A call that notices its end also if it throws, or if its thread is cancelled. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Calls function(argument), then leave(): also if the function throws or its thread ends in it. */
// NOLINTNEXTLINE(modernize-redundant-void-arg): not in C
void isthmus_call(void (*function)(const void*), const void* argument, void (*leave)(void));

#ifdef __cplusplus
}
#endif
