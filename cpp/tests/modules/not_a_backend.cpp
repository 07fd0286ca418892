// A shared object without a backend's entry points.
extern "C" __attribute__((visibility("default"))) int isthmus_something_else() { return 1; }
