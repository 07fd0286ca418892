// Included first by each header here: compilation by an older C++ standard ends at once.
#pragma once

#if __cplusplus < 201703L
#error "Isthmus's headers of HLS need -std=c++17 or later"
#include "use -std=c++17 or later"  // a missing header ends the compilation; #error does not
#endif
