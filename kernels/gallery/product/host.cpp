#include "../on_card.hpp"
#include "product.cpp"

int main(int count, char** given) {
  return judged(count, given, [](const char* xclbin) {
    constexpr int rows = 64;
    constexpr int columns = 128;
    Card card(xclbin, "product");
    Buffer<float> matrix(card, 0, rows * columns, -100);
    Buffer<float> vector(card, 1, columns, 1);
    Buffer<float> out(card, 2, rows, 0);
    card.kernel(matrix.there, vector.there, out.there, rows, columns).wait();
    product(matrix.here.data(), vector.here.data(), out.here.data(), rows, columns);
    return out.same();
  });
}
