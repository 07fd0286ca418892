isthmus_add_backend(null SOURCES null.cpp OPTIONS move=correct)
