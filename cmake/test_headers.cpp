// Nothing: CMake wants a source for the headers that all tests have precompiled.
