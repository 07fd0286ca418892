// isthmus_empty(): does nothing, so that its time is the time of a launch.
extern "C" {

void isthmus_empty() {
#pragma HLS INTERFACE s_axilite port = return
}
}
