// Included first by each header here: an older standard of C++ ends the compilation at once.
#pragma once

#if __cplusplus < 201703L
#error "Isthmus's headers of HLS need -std=c++17 or later"
#include "use -std=c++17 or later"  // what is not there ends the compilation, an error does not
#endif
