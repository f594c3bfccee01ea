// Elements of matrices of either real type.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace fake {

struct Elements {
  bool wide;
  void* data;
  double get(int64_t i) const { return wide ? static_cast<double*>(data)[i] : static_cast<float*>(data)[i]; }
  void set(int64_t i, double value) const {
    if (wide)
      static_cast<double*>(data)[i] = value;
    else
      static_cast<float*>(data)[i] = static_cast<float>(value);
  }
};

/// `type` is cudaDataType: 0 float32, 1 float64.
inline Elements elements(int type, const void* data) { return {type == 1, const_cast<void*>(data)}; }

/// Solves t x = alpha b, t triangular: b has its element (i, c) at `at(i, c)`. Columns are taken together, since their elements then lie side by
/// side; each element of the result has the sum that a column alone has.
template <class Triangular, class Place>
void substitute(int64_t n, int64_t columns, bool forward, bool unit, double alpha, Triangular t, Elements b, Place at) {
  constexpr int64_t kTogether = 64;
  std::vector<double> x(n * std::min(columns, kTogether));
  for (int64_t first = 0; first < columns; first += kTogether) {
    const int64_t count = std::min(kTogether, columns - first);
    for (int64_t step = 0; step < n; step++) {
      const int64_t i = forward ? step : n - 1 - step;
      double* const row = &x[i * count];
      for (int64_t c = 0; c < count; c++) row[c] = alpha * b.get(at(i, first + c));
      for (int64_t k = forward ? 0 : i + 1; k < (forward ? i : n); k++) {
        const double factor = t(i, k);
        const double* const known = &x[k * count];
        for (int64_t c = 0; c < count; c++) row[c] -= factor * known[c];
      }
      for (int64_t c = 0; c < count; c++) {
        b.set(at(i, first + c), unit ? row[c] : row[c] / t(i, i));
        row[c] = b.get(at(i, first + c));
      }
    }
  }
}

}  // namespace fake
