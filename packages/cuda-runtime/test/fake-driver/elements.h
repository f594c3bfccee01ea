// Elements of matrices of either real type.
#pragma once

#include <cstdint>

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

}  // namespace fake
