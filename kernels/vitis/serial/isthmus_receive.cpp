// isthmus_receive: what the card before sends, then back to it.
#define KERNEL isthmus_receive
#define SENDS_FIRST false
#include "exchange.hpp"
