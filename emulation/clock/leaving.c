/* In C, for C++ cannot clean up behind an exception without its library, which this one does
   without. */
#include "leaving.h"

typedef void (*Leave)(void);

static void leave_now(const Leave* leave) { (*leave)(); }

void isthmus_call(void (*function)(const void*), const void* argument, void (*leave)(void)) {
  const Leave at_its_end __attribute__((cleanup(leave_now))) = leave;
  function(argument);
}
