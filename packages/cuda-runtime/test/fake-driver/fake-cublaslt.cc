// A fake cuBLASLt of any major (-DFAKE_MAJOR=13) that multiplies float32 and float64 matrices on the
// fake driver's streams and memory. It has no algorithm for k = 13.
#include <algorithm>
#include <vector>

#include "calls.h"
#include "state.h"

using namespace fake;

namespace {

struct Desc {
  int compute, scale, transposeA = 0, transposeB = 0;
};
struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t stride = 0;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {};
};
struct Heuristic {
  uint64_t algorithm[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

double get(const void* data, const Layout& layout, int64_t i, int64_t j, int64_t batch) {
  const int64_t at = i + j * layout.leading + batch * layout.stride;
  return layout.type == 1 ? static_cast<const double*>(data)[at] : static_cast<const float*>(data)[at];
}

void set(void* data, const Layout& layout, int64_t i, int64_t j, int64_t batch, double value) {
  const int64_t at = i + j * layout.leading + batch * layout.stride;
  if (layout.type == 1)
    static_cast<double*>(data)[at] = value;
  else
    static_cast<float*>(data)[at] = static_cast<float>(value);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) size_t cublasLtGetVersion() { return FAKE_MAJOR * 10000 + 101; }

extern "C" __attribute__((visibility("default"))) const char* cublasLtGetStatusName(int status) {
  return status == 15 ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_EXECUTION_FAILED";
}

extern "C" __attribute__((visibility("default"))) const char* cublasLtGetStatusString(int) {
  return "a status of the fake library";
}

FAKE cublasLtCreate(int** handle) {
  if (const int status = called("ltCreate")) return status;
  *handle = new int(1);
  return 0;
}

FAKE cublasLtMatmulDescCreate(Desc** desc, int compute, int scale) {
  if (const int status = called("descCreate", compute, scale)) return status;
  *desc = new Desc{compute, scale};
  return 0;
}

FAKE cublasLtMatmulDescDestroy(Desc* desc) {
  delete desc;
  return called("descDestroy");
}

FAKE cublasLtMatmulDescSetAttribute(Desc* desc, int attribute, const int* value, size_t bytes) {
  if (bytes != sizeof(int)) return 7;
  (attribute == 3 ? desc->transposeA : desc->transposeB) = *value;
  return 0;
}

FAKE cublasLtMatrixLayoutCreate(Layout** layout, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  *layout = new Layout{type, rows, columns, leading};
  return called("layoutCreate", type, rows, columns, leading);
}

FAKE cublasLtMatrixLayoutDestroy(Layout* layout) {
  delete layout;
  return called("layoutDestroy");
}

FAKE cublasLtMatrixLayoutSetAttribute(Layout* layout, int attribute, const void* value, size_t bytes) {
  if (attribute == 5 && bytes == 4)
    layout->batch = *static_cast<const int32_t*>(value);
  else if (attribute == 6 && bytes == 8)
    layout->stride = *static_cast<const int64_t*>(value);
  else
    return 7;
  return 0;
}

FAKE cublasLtMatmulPreferenceCreate(Preference** preference) {
  *preference = new Preference;
  return called("preferenceCreate");
}

FAKE cublasLtMatmulPreferenceDestroy(Preference* preference) {
  delete preference;
  return called("preferenceDestroy");
}

FAKE cublasLtMatmulPreferenceSetAttribute(Preference* preference, int attribute, const void* value, size_t bytes) {
  if (attribute == 1 && bytes == 8)
    preference->workspace = *static_cast<const uint64_t*>(value);
  else if (attribute >= 5 && attribute <= 8 && bytes == 4)
    preference->alignment[attribute - 5] = *static_cast<const uint32_t*>(value);
  else
    return 7;
  return 0;
}

FAKE cublasLtMatmulAlgoGetHeuristic(int*, Desc* desc, Layout* a, Layout*, Layout*, Layout*, Preference* preference,
                                    int wanted, Heuristic* results, int* found) {
  const auto* align = preference->alignment;
  if (const int status = called("heuristic", preference->workspace, align[0], align[1], align[2], align[3], wanted))
    return status;
  *found = (desc->transposeA ? a->rows : a->columns) == 13 ? 0 : 1;
  results[0] = {};
  results[0].algorithm[0] = 0xabc;
  return 0;
}

FAKE cublasLtMatmul(int*, Desc* desc, const void* alpha, const void* a, Layout* la, const void* b, Layout* lb,
                    const void* beta, const void* c, Layout* lc, void* d, Layout* ld, const uint64_t* algorithm,
                    void* workspace, size_t bytes, Stream* stream) {
  if (const int status = called("matmul", desc->transposeA, desc->transposeB, la->batch, bytes, algorithm[0]))
    return status;
  // for measurements of the host's part alone
  if (setting("LT_COMPUTES", 1) == 0) return 0;
  const auto scalar = [&](const void* at) {
    return desc->scale == 1 ? *static_cast<const double*>(at) : *static_cast<const float*>(at);
  };
  stream->add([x = *desc, layoutA = *la, layoutB = *lb, layoutC = *lc, layoutD = *ld, by = scalar(alpha),
               plus = scalar(beta), a, b, c, d, workspace, bytes] {
    if (bytes) std::memset(workspace, 1, bytes);
    const auto depth = static_cast<int64_t>(x.transposeA ? layoutA.rows : layoutA.columns);
    // the sums of a column are taken together, since what they read of `a` then lies side by side
    const auto rows = static_cast<int64_t>(layoutD.rows);
    std::vector<double> left(rows * depth), sums(rows);
    for (int64_t z = 0; z < layoutD.batch; z++) {
      for (int64_t k = 0; k < depth; k++)
        for (int64_t i = 0; i < rows; i++)
          left[k * rows + i] = x.transposeA ? get(a, layoutA, k, i, z) : get(a, layoutA, i, k, z);
      for (uint64_t j = 0; j < layoutD.columns; j++) {
        std::fill(sums.begin(), sums.end(), 0);
        for (int64_t k = 0; k < depth; k++) {
          const double factor = x.transposeB ? get(b, layoutB, j, k, z) : get(b, layoutB, k, j, z);
          const double* const terms = &left[k * rows];
          for (int64_t i = 0; i < rows; i++) sums[i] += terms[i] * factor;
        }
        for (int64_t i = 0; i < rows; i++)
          set(d, layoutD, i, j, z, by * sums[i] + (plus != 0 ? plus * get(c, layoutC, i, j, z) : 0));
      }
    }
  });
  return 0;
}
