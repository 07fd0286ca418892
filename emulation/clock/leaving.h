/* A call that may end otherwise than by its return. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Calls function(argument), and leave() at its end: whether it returns, throws, or its thread ends
   there. */
// NOLINTNEXTLINE(modernize-redundant-void-arg): not in C
void isthmus_call(void (*function)(const void*), const void* argument, void (*leave)(void));

#ifdef __cplusplus
}
#endif
