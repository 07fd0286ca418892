// Finds the code of the shim and of XRT's libraries in memory. A caller's address then shows
// whether a call comes from XRT, from the shim or from the program.
#pragma once

namespace isthmus::card::clock {

/// Finds these libraries among the libraries that the program has loaded.
void learn_libraries();

/// Returns whether an address of code lies in the shim.
bool in_shim(const void* code);
/// Returns whether an address of code lies in XRT's core library, its OpenCL, or the library
/// between.
bool in_xrt(const void* code);

}  // namespace isthmus::card::clock
