isthmus_add_backend(null SOURCES null.cpp offload.cpp OPTIONS move=correct)
