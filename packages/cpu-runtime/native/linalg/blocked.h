// Products, triangular solves and factors of matrices of any size. Each algorithm halves its matrix until a tile kernel takes it, so
// nearly all of the work is products of large blocks; these, and solves with many columns, are shared out over the team.
// Recursion as in S. Toledo, Locality of reference in LU decomposition with partial pivoting (1997).
#pragma once

#include <cmath>

#include "operand.h"
#include "team.h"
#include "tile-kernels.h"

namespace mercer::cpu {

template <class T>
View<T> blockOf(const View<T>& of, int64_t row, int64_t column, int64_t rows, int64_t columns) {
  return {&of.at(row, column), rows, columns, of.rowStride, of.columnStride};
}

// By columns, `lead` apart.
template <class T>
View<T> byColumns(T* data, int64_t rows, int64_t columns, int64_t lead) {
  return {data, rows, columns, 1, lead};
}

// The larger half of an order, a multiple of the order that a tile kernel takes.
inline int64_t halfOf(int64_t order, int64_t kernelOrder) {
  return (order / 2 + kernelOrder - 1) / kernelOrder * kernelOrder;
}

// c = alpha a b + beta c. With kLower only elements on and below the diagonal are promised; above it some are written.
template <class T>
void multiply(const Team& team, T alpha, const View<T>& a, const View<T>& b, T beta, const View<T>& c,
              Part part = Part::kAll) {
  const int64_t m = c.rows, n = c.columns, k = a.columns;
  if (m == 0 || n == 0) return;
  const auto tile = [&](const Team& member, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    tileKernels<T>().multiply(rows, columns, k, alpha, k == 0 ? nullptr : &a.at(row, 0), a.rowStride,
                              a.columnStride, k == 0 ? nullptr : &b.at(0, column), b.rowStride,
                              b.columnStride, beta, &c.at(row, column), c.rowStride, c.columnStride,
                              member.scratch);
  };
  const double work = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const bool shared = team.pays(work);
  if (!shared && part == Part::kAll) return tile(team, 0, m, 0, n);
  // Tiles of at least some 2e6 operations, four for each thread to even them out. What lies above the diagonal is left out.
  constexpr int64_t kMultiple = 48;
  const double most = shared ? std::min(work / 2e6, 4.0 * static_cast<double>(team.threads)) : 1;
  const double wanted = part == Part::kAll ? most : std::max(2 * most, std::min(16.0, work / 1e6));
  const double square = std::sqrt(static_cast<double>(m) * static_cast<double>(n) / std::max(1.0, wanted));
  const Pieces down(m, static_cast<int64_t>(std::ceil(static_cast<double>(m) / square)), kMultiple);
  const Pieces across(n, static_cast<int64_t>(std::ceil(static_cast<double>(n) / square)), kMultiple);
  const auto one = [&](const Team& member, int64_t index) {
    const int64_t i = index % down.count, j = index / down.count;
    if (part == Part::kLower && down.first(i) + down.length(i) <= across.first(j)) return;
    tile(member, down.first(i), down.length(i), across.first(j), across.length(j));
  };
  if (shared)
    team.forEach(down.count * across.count, one);
  else
    for (int64_t index = 0; index < down.count * across.count; ++index) one(team, index);
}

enum class Triangle { kLower, kUpper, kUnitLower, kUnitUpper };

// b <- t^-1 b
template <class T>
void solveTriangular(const Team& team, Triangle kind, const View<T>& t, const View<T>& b) {
  const int64_t n = t.rows;
  if (n == 0 || b.columns == 0) return;
  const bool lower = kind == Triangle::kLower || kind == Triangle::kUnitLower;
  const bool unit = kind == Triangle::kUnitLower || kind == Triangle::kUnitUpper;
  const auto& kernels = tileKernels<T>();
  if (n <= kernels.solveOrder) {
    kernels.solve(lower, unit, n, b.columns, t.data, t.rowStride, t.columnStride, b.data, b.rowStride,
                  b.columnStride);
    return;
  }
  constexpr int64_t kColumns = 32;  // enough for a member to be busy with products
  const double work = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(b.columns);
  if (team.pays(work) && b.columns >= kColumns * team.threads) {
    const Pieces pieces(b.columns, std::min(b.columns / kColumns, 4 * team.threads), 16);
    team.forEach(pieces.count, [&](const Team& member, int64_t i) {
      solveTriangular(member, kind, t, blockOf(b, 0, pieces.first(i), n, pieces.length(i)));
    });
    return;
  }
  const int64_t half = halfOf(n, kernels.solveOrder), rest = n - half;
  const auto t11 = blockOf(t, 0, 0, half, half), t22 = blockOf(t, half, half, rest, rest);
  const auto b1 = blockOf(b, 0, 0, half, b.columns), b2 = blockOf(b, half, 0, rest, b.columns);
  if (lower) {
    solveTriangular(team, kind, t11, b1);
    multiply(team, T(-1), blockOf(t, half, 0, rest, half), b1, T(1), b2);
    solveTriangular(team, kind, t22, b2);
  } else {
    solveTriangular(team, kind, t22, b2);
    multiply(team, T(-1), blockOf(t, 0, half, half, rest), b2, T(1), b1);
    solveTriangular(team, kind, t11, b1);
  }
}

// Lower Cholesky factor of the lower triangle of `a`, by columns, in its place; what is above the diagonal is lost. 0, or the leading
// minor that is not positive.
template <class T>
int64_t factorCholesky(const Team& team, const View<T>& a) {
  const auto& kernels = tileKernels<T>();
  const int64_t n = a.rows;
  if (n <= kernels.choleskyOrder) return kernels.cholesky(n, a.data, a.columnStride);
  const int64_t half = halfOf(n, kernels.choleskyOrder), rest = n - half;
  const auto a11 = blockOf(a, 0, 0, half, half), a21 = blockOf(a, half, 0, rest, half);
  const auto a22 = blockOf(a, half, half, rest, rest);
  if (const int64_t minor = factorCholesky(team, a11)) return minor;
  solveTriangular(team, Triangle::kLower, a11, transposed(a21));
  multiply(team, T(-1), a21, transposed(a21), T(1), a22, Part::kLower);
  const int64_t minor = factorCholesky(team, a22);
  return minor == 0 ? 0 : half + minor;
}

// Row i of `a`, by columns, was exchanged with row pivots[i], for i from 0 on.
template <class T>
void exchangeRows(const Team& team, const View<T>& a, const int64_t* pivots, int64_t count) {
  const auto columns = [&](int64_t first, int64_t last) {
    for (int64_t j = first; j < last; ++j) {
      T* const column = &a.at(0, j);
      for (int64_t i = 0; i < count; ++i) std::swap(column[i], column[pivots[i]]);
    }
  };
  if (!team.pays(8.0 * static_cast<double>(count) * static_cast<double>(a.columns)))
    return columns(0, a.columns);
  const Pieces pieces(a.columns, 2 * team.threads, 8);
  team.forEach(pieces.count, [&](const Team&, int64_t i) {
    columns(pieces.first(i), pieces.first(i) + pieces.length(i));
  });
}

// L below the diagonal, with ones on it, and U, of `a` with at least as many rows as columns, by columns, in its place. Row i was
// exchanged with row pivots[i]. 0, or one more than the first column whose pivot is 0.
template <class T>
int64_t factorLU(const Team& team, const View<T>& a, int64_t* pivots) {
  const auto& kernels = tileKernels<T>();
  const int64_t m = a.rows, n = a.columns;
  if (n <= kernels.panelColumns) return kernels.lu(m, n, a.data, a.columnStride, pivots);
  const int64_t half = halfOf(n, kernels.panelColumns), rest = n - half;
  const auto right = blockOf(a, 0, half, m, rest);
  const auto a12 = blockOf(right, 0, 0, half, rest), a22 = blockOf(right, half, 0, m - half, rest);
  const int64_t first = factorLU(team, blockOf(a, 0, 0, m, half), pivots);
  exchangeRows(team, right, pivots, half);
  solveTriangular(team, Triangle::kUnitLower, blockOf(a, 0, 0, half, half), a12);
  const auto a21 = blockOf(a, half, 0, m - half, half);
  multiply(team, T(-1), a21, a12, T(1), a22);
  const int64_t second = factorLU(team, a22, pivots + half);
  exchangeRows(team, a21, pivots + half, rest);
  for (int64_t i = half; i < n; ++i) pivots[i] += half;
  return first != 0 ? first : second != 0 ? half + second : 0;
}

// b <- a^-1 b by a's lower Cholesky factor.
template <class T>
void solveByCholesky(const Team& team, const View<T>& factor, const View<T>& b) {
  solveTriangular(team, Triangle::kLower, factor, b);
  solveTriangular(team, Triangle::kUpper, transposed(factor), b);
}

// b <- a^-1 b by a's LU factors, for b by columns.
template <class T>
void solveByLU(const Team& team, const View<T>& factor, const int64_t* pivots, const View<T>& b) {
  exchangeRows(team, b, pivots, factor.rows);
  solveTriangular(team, Triangle::kUnitLower, factor, b);
  solveTriangular(team, Triangle::kUpper, factor, b);
}

// t <- t^-1 for a lower triangular t.
template <class T>
void invertLower(const Team& team, const View<T>& t) {
  constexpr int64_t kOrder = 32;
  const auto& kernels = tileKernels<T>();
  const int64_t n = t.rows;
  if (n <= kOrder) {
    T inverse[kOrder * kOrder];
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < n; ++i) inverse[i + j * n] = i == j ? T(1) : T(0);
    kernels.solve(true, false, n, n, t.data, t.rowStride, t.columnStride, inverse, 1, n);
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = j; i < n; ++i) t.at(i, j) = inverse[i + j * n];
    return;
  }
  const int64_t half = halfOf(n, kOrder), rest = n - half;
  const auto t11 = blockOf(t, 0, 0, half, half), t22 = blockOf(t, half, half, rest, rest);
  const auto t21 = blockOf(t, half, 0, rest, half);
  // -t22^-1 t21 t11^-1
  solveTriangular(team, Triangle::kLower, t22, t21);
  solveTriangular(team, Triangle::kUpper, transposed(t11), transposed(t21));
  forEach(rest, half, [&](int64_t i, int64_t j) { t21.at(i, j) = -t21.at(i, j); });
  invertLower(team, t11);
  invertLower(team, t22);
}

// Lower triangle of c = l^T l for a lower triangular l with zeros above its diagonal.
template <class T>
void multiplyLowerByItself(const Team& team, const View<T>& l, const View<T>& c) {
  const int64_t n = l.rows;
  const double work = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) / 3;
  const bool shared = team.pays(work);
  const Pieces pieces(n, shared ? 3 * team.threads : 4, 48);
  const auto tile = [&](const Team& member, int64_t index) {
    const int64_t i = index % pieces.count, j = index / pieces.count;
    if (i < j) return;
    const int64_t row = pieces.first(i), rows = pieces.length(i);
    const int64_t column = pieces.first(j), columns = pieces.length(j);
    // Rows of l above `row` have zeros in these columns.
    multiply(Team(member.scratch), T(1), transposed(blockOf(l, row, row, n - row, rows)),
             blockOf(l, row, column, n - row, columns), T(0), blockOf(c, row, column, rows, columns));
  };
  if (shared)
    team.forEach(pieces.count * pieces.count, tile);
  else
    for (int64_t index = 0; index < pieces.count * pieces.count; ++index) tile(team, index);
}

// c <- (I - v t v^T) c, or with t^T in place of t; `w` has room for v.columns by c.columns.
template <class T>
void reflect(const Team& team, const View<T>& v, const View<T>& t, bool transpose, const View<T>& c, T* w) {
  const int64_t k = v.columns, n = c.columns;
  if (k == 0 || n == 0) return;
  const auto first = byColumns(w, k, n, k), second = byColumns(w + k * n, k, n, k);
  multiply(team, T(1), transposed(v), c, T(0), first);
  multiply(team, T(1), transpose ? transposed(t) : t, first, T(0), second);
  multiply(team, T(-1), v, second, T(1), c);
}

// a = (I - v t v^T) r for `a` with at least as many rows as columns: r replaces the upper triangle of a; v is lower trapezoidal with ones
// on its diagonal, t upper triangular. E. Elmroth and F. Gustavson, Applying recursion to serial and parallel QR factorization
// leads to better performance (2000). `w` has room for twice t.
template <class T>
void factorPanel(const Team& team, const View<T>& a, const View<T>& v, const View<T>& t, T* w) {
  const auto& kernels = tileKernels<T>();
  const int64_t m = a.rows, n = a.columns;
  if (n <= kernels.panelColumns) {
    kernels.qr(m, n, a.data, a.columnStride, v.data, v.columnStride, t.data, t.columnStride);
    return;
  }
  const int64_t half = halfOf(n, kernels.panelColumns), rest = n - half;
  const auto v1 = blockOf(v, 0, 0, m, half), v2 = blockOf(v, half, half, m - half, rest);
  const auto t11 = blockOf(t, 0, 0, half, half), t22 = blockOf(t, half, half, rest, rest);
  factorPanel(team, blockOf(a, 0, 0, m, half), v1, t11, w);
  reflect(team, v1, t11, true, blockOf(a, 0, half, m, rest), w);
  factorPanel(team, blockOf(a, half, half, m - half, rest), v2, t22, w);
  fill(blockOf(v, 0, half, half, rest), T(0));
  fill(blockOf(t, half, 0, rest, half), T(0));
  // t12 = -t11 (v1^T v2) t22
  const auto t12 = blockOf(t, 0, half, half, rest), middle = byColumns(w, half, rest, half);
  multiply(team, T(1), transposed(blockOf(v1, half, 0, m - half, half)), v2, T(0), t12);
  multiply(team, T(-1), t11, t12, T(0), middle);
  multiply(team, T(1), middle, t22, T(0), t12);
}

constexpr int64_t kReflections = 64;  // of a panel

// The factors of `a` with at least as many columns as v, by panels: their t stand side by side in `t`, of kReflections rows. `w` has
// room for 2 kReflections by the columns of a.
template <class T>
void factorQr(const Team& team, const View<T>& a, const View<T>& v, const View<T>& t, T* w) {
  const int64_t m = a.rows, few = v.columns;
  for (int64_t first = 0; first < few; first += kReflections) {
    const int64_t k = std::min(kReflections, few - first), below = m - first;
    const auto panel = blockOf(v, first, first, below, k), factor = blockOf(t, 0, first, k, k);
    fill(blockOf(v, 0, first, first, k), T(0));
    factorPanel(team, blockOf(a, first, first, below, k), panel, factor, w);
    const int64_t behind = first + k;
    reflect(team, panel, factor, true, blockOf(a, first, behind, below, a.columns - behind), w);
  }
}

// The first v.columns columns of the orthogonal factor.
template <class T>
void formQ(const Team& team, const View<T>& v, const View<T>& t, const View<T>& q, T* w) {
  const int64_t m = v.rows, few = v.columns;
  forEach(m, few, [&](int64_t i, int64_t j) { q.at(i, j) = i == j ? T(1) : T(0); });
  for (int64_t first = (few - 1) / kReflections * kReflections; first >= 0; first -= kReflections) {
    const int64_t k = std::min(kReflections, few - first), below = m - first;
    reflect(team, blockOf(v, first, first, below, k), blockOf(t, 0, first, k, k), false,
            blockOf(q, first, first, below, few - first), w);
  }
}

}  // namespace mercer::cpu
