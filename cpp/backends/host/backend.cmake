isthmus_add_backend(host SOURCES host.cpp copy.cpp messages.cpp offload.cpp)
