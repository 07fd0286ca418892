// Addresses of the code of our shim and of XRT's libraries. By these addresses the clock's library
// distinguishes calls of XRT and of the shim from calls of the program.
#pragma once

namespace isthmus::card::clock {

/// Looks for the libraries among those that the program has loaded.
void learn_libraries();

/// Whether code lies in our shim.
bool in_shim(const void* code);
/// Whether code lies in XRT's common library, in its OpenCL, or in the library between the two.
bool in_xrt(const void* code);

}  // namespace isthmus::card::clock
