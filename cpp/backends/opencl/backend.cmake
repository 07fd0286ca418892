isthmus_add_backend(opencl SOURCES opencl.cpp operations.cpp objects.cpp api.cpp)
