// Matrices of any strides in batches of up to six axes, as the arguments of a routine describe them. Every field has
// eight bytes, so the packed parameters of a launch are these structs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace mercer::cpu {

constexpr int kBatchAxes = 6;

struct Batch {
  int64_t shape[kBatchAxes];

  int64_t count() const {
    int64_t product = 1;
    for (int64_t extent : shape) product *= extent;
    return product;
  }
};

// A matrix of a batch; one of its element views is what routines work on. Columns of a vector: one.
struct Matrix {
  alignas(8) void* data;  // null: this output is not wanted
  int64_t rows, columns;
  int64_t rowStride, columnStride;
  int64_t batchStrides[kBatchAxes];
};

template <class T>
struct View {
  T* data;
  int64_t rows, columns, rowStride, columnStride;

  T& at(int64_t row, int64_t column) const {
    return data[row * rowStride + column * columnStride];
  }
};

template <class T>
View<T> viewOf(const Batch& batch, const Matrix& matrix, int64_t index) {
  int64_t offset = 0;
  for (int axis = kBatchAxes - 1; axis >= 0; --axis) {
    offset += index % batch.shape[axis] * matrix.batchStrides[axis];
    index /= batch.shape[axis];
  }
  return {static_cast<T*>(matrix.data) + offset, matrix.rows, matrix.columns, matrix.rowStride,
          matrix.columnStride};
}

template <class T>
View<T> transposed(const View<T>& of) {
  return {of.data, of.columns, of.rows, of.columnStride, of.rowStride};
}

// A symmetric or triangular matrix by its lower triangle: that of the transposed where the upper one is given.
template <class T>
View<T> byLower(const View<T>& of, bool upper) {
  return upper ? transposed(of) : of;
}

// Triangles with the diagonal, and what is below or above it.
enum class Part { kAll, kLower, kUpper, kBelow, kAbove };

inline Part triangle(bool upper) { return upper ? Part::kUpper : Part::kLower; }

inline bool isIn(Part part, int64_t row, int64_t column) {
  return part == Part::kAll || (part == Part::kLower   ? row >= column
                                : part == Part::kUpper ? row <= column
                                : part == Part::kBelow ? row > column
                                                       : row < column);
}

// Calls `visit(row, column)` for every element, in tiles that stay in the cache whichever way the matrix lies.
template <class Visit>
void forEach(int64_t rows, int64_t columns, Visit visit) {
  constexpr int64_t kTile = 32;
  for (int64_t firstColumn = 0; firstColumn < columns; firstColumn += kTile)
    for (int64_t firstRow = 0; firstRow < rows; firstRow += kTile)
      for (int64_t j = firstColumn; j < std::min(firstColumn + kTile, columns); ++j)
        for (int64_t i = firstRow; i < std::min(firstRow + kTile, rows); ++i) visit(i, j);
}

// Into column-major memory with `lead` elements from column to column. False where an element of `part` is NaN or
// infinite; elements outside of it become 0.
template <class T>
bool pack(const View<T>& from, T* to, int64_t lead, Part part = Part::kAll) {
  T probe = 0;  // becomes NaN with the first element that is not finite
  forEach(from.rows, from.columns, [&](int64_t i, int64_t j) {
    const T value = isIn(part, i, j) ? from.at(i, j) : T(0);
    to[i + j * lead] = value;
    probe += value * T(0);
  });
  return probe == T(0);
}

// Out of column-major memory; elements outside of `part` become 0.
template <class T>
void unpack(const T* from, int64_t lead, const View<T>& to, Part part = Part::kAll) {
  forEach(to.rows, to.columns, [&](int64_t i, int64_t j) {
    to.at(i, j) = isIn(part, i, j) ? from[i + j * lead] : T(0);
  });
}

template <class T>
void fill(const View<T>& to, T value) {
  forEach(to.rows, to.columns, [&](int64_t i, int64_t j) { to.at(i, j) = value; });
}

// What results are where there is none.
template <class T>
void fillNaN(const View<T>& to) {
  fill(to, std::numeric_limits<T>::quiet_NaN());
}

// Leading dimensions are at least 1.
inline int64_t leadOf(int64_t rows) { return std::max<int64_t>(1, rows); }

}  // namespace mercer::cpu
