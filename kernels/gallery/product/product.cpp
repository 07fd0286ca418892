// A matrix times a vector, which is read once into memory of the kernel's own: the matrix decides.
constexpr int most_columns = 1024;

extern "C" {

void product(const float* matrix, const float* vector, float* out, int rows, int columns) {
#pragma HLS INTERFACE m_axi port = matrix offset = slave bundle = matrix
#pragma HLS INTERFACE m_axi port = vector offset = slave bundle = vector
#pragma HLS INTERFACE m_axi port = out offset = slave bundle = vector
  float kept[most_columns];
  for (int column = 0; column < columns; ++column) {
#pragma HLS PIPELINE II = 1
    kept[column] = vector[column];
  }
  for (int row = 0; row < rows; ++row) {
    float sum = 0;
    for (int column = 0; column < columns; ++column) {
#pragma HLS PIPELINE II = 1
      sum += matrix[row * columns + column] * kept[column];
    }
    out[row] = sum;
  }
}
}
