/* In C, because C++ needs its library to clean up after an exception, and the clock's library does
   without the C++ library. */
#include "leaving.h"

typedef void (*Leave)(void);

static void leave_now(const Leave* leave) { (*leave)(); }

void isthmus_call(void (*function)(const void*), const void* argument, void (*leave)(void)) {
  const Leave at_its_end __attribute__((cleanup(leave_now))) = leave;
  function(argument);
}
