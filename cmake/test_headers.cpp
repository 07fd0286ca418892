// Empty: CMake needs a source file for the precompiled headers of all tests.
