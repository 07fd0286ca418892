// isthmus_send: to the next card, then what that one sends back.
#define KERNEL isthmus_send
#define SENDS_FIRST true
#include "exchange.hpp"
