// The innermost computations of the blocked algorithms (blocked.h): products of tiles, and factors and solves of small
// blocks, on the calling thread alone. Built once for each instruction set (levels/).
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace mercer::cpu {

// A matrix is a pointer with the steps from row to row and from column to column; a factor lies by columns, `lead` apart.
template <class T>
struct TileKernels {
  // c = alpha a b + beta c, for a of m rows and k columns and b of n columns. c is not read where beta is 0.
  void (*multiply)(int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t aRow, int64_t aColumn,
                   const T* b, int64_t bRow, int64_t bColumn, T beta, T* c, int64_t cRow,
                   int64_t cColumn, void* scratch);
  size_t scratchBytes;  // of `multiply`

  // b <- t^-1 b for a triangular t of at most `solveOrder`; `unit`: its diagonal is taken as 1.
  void (*solve)(bool lower, bool unit, int64_t n, int64_t columns, const T* t, int64_t tRow,
                int64_t tColumn, T* b, int64_t bRow, int64_t bColumn);
  int64_t solveOrder;

  // Lower Cholesky factor in place, order at most `choleskyOrder`. 0, or the leading minor that is not positive.
  int64_t (*cholesky)(int64_t n, T* a, int64_t lead);
  int64_t choleskyOrder;

  // LU factors with row exchanges, of m rows and n <= m, n <= `panelColumns` columns. Row i was exchanged with pivots[i] >= i. 0,
  // or one more than the first column whose pivot is 0.
  int64_t (*lu)(int64_t m, int64_t n, T* a, int64_t lead, int64_t* pivots);

  // a = (I - v t v^T) r for m rows and n <= m, n <= `panelColumns` columns: r replaces the upper triangle of a, v gets ones on its
  // diagonal and zeros above, t is upper triangular with zeros below.
  void (*qr)(int64_t m, int64_t n, T* a, int64_t lead, T* v, int64_t vLead, T* t, int64_t tLead);
  int64_t panelColumns;
};

// Those for this processor.
template <class T>
const TileKernels<T>& tileKernels();

// Those of one instruction set.
struct TileLevel {
  const char* name;
  TileKernels<float> single;
  TileKernels<double> wide;
};

}  // namespace mercer::cpu
