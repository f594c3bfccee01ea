// The tile kernels of every instruction set that this processor has, against loops in long double.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "linalg/tile-kernels.h"

namespace mercer::cpu {
#if defined(__x86_64__)
extern const TileLevel kTiles_x86_64_v2, kTiles_x86_64_v3, kTiles_x86_64_v4;
#else
extern const TileLevel kTiles_arm64;
#endif
}  // namespace mercer::cpu

namespace {

using namespace mercer::cpu;

double next() { return static_cast<double>(std::rand()) / RAND_MAX - 0.5; }

void require(bool yes, const char* level, const char* what, long m, long n, long k) {
  if (yes) return;
  std::fprintf(stderr, "%s: %s of %ld, %ld, %ld is wrong\n", level, what, m, n, k);
  std::exit(1);
}

template <class T>
constexpr double kEpsilon = sizeof(T) == 4 ? 1.2e-7 : 2.3e-16;

template <class T>
std::vector<T> random(size_t count) {
  std::vector<T> made(count);
  for (T& one : made) one = static_cast<T>(next());
  return made;
}

// Strides by columns, by rows, and with steps in both.
template <class T>
void checkProducts(const char* level, const TileKernels<T>& kernels) {
  void* scratch = std::aligned_alloc(64, (kernels.scratchBytes + 63) / 64 * 64);
  for (const long m : {1, 7, 48, 61, 150})
    for (const long n : {1, 5, 8, 19, 530})
      for (const long k : {0, 1, 9, 300})
        for (int layout = 0; layout < 27; ++layout) {
          const auto row = [](int kind, long columns) { return kind == 0 ? 1L : kind == 1 ? columns : 2 * columns; };
          const auto column = [](int kind, long rows) { return kind == 0 ? rows : kind == 1 ? 1L : 2L; };
          if (layout % 5 != (m + n + k) % 5) continue;
          const int ka = layout % 3, kb = layout / 3 % 3, kc = layout / 9;
          const auto a = random<T>(4 * m * k + 1), b = random<T>(4 * k * n + 1), before = random<T>(4 * m * n);
          const T alpha = static_cast<T>(0.5), beta = layout % 2 == 0 ? T(0) : T(-2);
          auto c = before;
          if (beta == 0) for (T& one : c) one = static_cast<T>(NAN);
          kernels.multiply(m, n, k, alpha, a.data(), row(ka, k), column(ka, m), b.data(), row(kb, n), column(kb, k), beta,
                           c.data(), row(kc, n), column(kc, m), scratch);
          for (long i = 0; i < m; i += 1 + m / 9)
            for (long j = 0; j < n; j += 1 + n / 9) {
              long double sum = 0;
              for (long p = 0; p < k; ++p)
                sum += static_cast<long double>(a[i * row(ka, k) + p * column(ka, m)]) * b[p * row(kb, n) + j * column(kb, k)];
              const long at = i * row(kc, n) + j * column(kc, m);
              const long double wanted = alpha * sum + (beta == 0 ? 0 : beta * static_cast<long double>(before[at]));
              require(std::fabs(static_cast<double>(wanted - c[at])) <= kEpsilon<T> * static_cast<double>(k + 4), level,
                      "a product", m, n, k);
            }
        }
  std::free(scratch);
}

template <class T>
void checkSolves(const char* level, const TileKernels<T>& kernels) {
  for (const long n : {1L, 2L, 7L, static_cast<long>(kernels.solveOrder)})
    for (const long columns : {1, 9, 64, 100})
      for (int kind = 0; kind < 16; ++kind) {
        const bool lower = kind & 1, unit = kind & 2, tRows = kind & 4, bRows = kind & 8;
        auto t = random<T>(n * n);
        for (long i = 0; i < n; ++i) t[i * n + i] += static_cast<T>(2);
        for (T& one : t) one /= static_cast<T>(2);
        const auto b = random<T>(n * columns);
        auto x = b;
        const long tr = tRows ? n : 1, tc = tRows ? 1 : n, br = bRows ? columns : 1, bc = bRows ? 1 : n;
        kernels.solve(lower, unit, n, columns, t.data(), tr, tc, x.data(), br, bc);
        for (long i = 0; i < n; ++i)
          for (long j = 0; j < columns; ++j) {
            long double sum = 0, size = 0;
            for (long p = lower ? 0 : i; p < (lower ? i + 1 : n); ++p) {
              const long double factor = p == i && unit ? 1 : t[i * tr + p * tc];
              sum += factor * x[p * br + j * bc];
              size += std::fabs(static_cast<double>(factor * x[p * br + j * bc]));
            }
            const double off = std::fabs(static_cast<double>(sum - b[i * br + j * bc]));
            require(off <= kEpsilon<T> * static_cast<double>(n + 4) * static_cast<double>(size + 1), level, "a solve", n, columns, kind);
          }
      }
}

template <class T>
void checkFactors(const char* level, const TileKernels<T>& kernels) {
  for (const long n : {1L, 3L, static_cast<long>(kernels.panelColumns)})
    for (const long m : {n, n + 1, 200L}) {
      const auto given = random<T>(m * n);
      auto lu = given;
      std::vector<int64_t> pivots(n);
      require(kernels.lu(m, n, lu.data(), m, pivots.data()) == 0, level, "LU", m, n, 0);
      auto exchanged = given;
      for (long i = 0; i < n; ++i)
        for (long j = 0; j < n; ++j) std::swap(exchanged[i + j * m], exchanged[pivots[i] + j * m]);
      auto r = given, v = random<T>(m * n), t = random<T>(n * n);
      kernels.qr(m, n, r.data(), m, v.data(), m, t.data(), n);
      for (long j = 0; j < n; ++j) {
        // (I - v t v^T) r, whose column j needs v^T r and t.
        std::vector<long double> w(n, 0), y(n, 0);
        for (long p = 0; p < n; ++p)
          for (long i = 0; i <= j; ++i) w[p] += static_cast<long double>(v[i + p * m]) * r[i + j * m];
        for (long p = 0; p < n; ++p)
          for (long q = 0; q < n; ++q) y[p] += static_cast<long double>(t[p + q * n]) * w[q];
        for (long i = 0; i < m; ++i) {
          long double product = 0, reflected = i <= j ? static_cast<long double>(r[i + j * m]) : 0;
          for (long p = 0; p <= std::min(i, j); ++p)
            product += (p == i ? 1 : static_cast<long double>(lu[i + p * m])) * lu[p + j * m];
          for (long p = 0; p < n; ++p) reflected -= static_cast<long double>(v[i + p * m]) * y[p];
          const double bound = kEpsilon<T> * 20 * static_cast<double>(n + 4);
          require(std::fabs(static_cast<double>(product - exchanged[i + j * m])) <= bound, level, "LU", m, n, j);
          require(std::fabs(lu[i + j * m]) <= 1 || i <= j, level, "a pivot of LU", m, n, j);
          require(std::fabs(static_cast<double>(reflected - given[i + j * m])) <= bound, level, "QR", m, n, j);
        }
      }
    }
  for (const long n : {1L, 5L, static_cast<long>(kernels.choleskyOrder)}) {
    std::vector<T> a(n * n);
    for (long i = 0; i < n; ++i)
      for (long j = 0; j < n; ++j) a[i + j * n] = static_cast<T>(i == j ? n : 0.3 / static_cast<double>(1 + i + j));
    auto factor = a;
    require(kernels.cholesky(n, factor.data(), n) == 0, level, "Cholesky", n, n, 0);
    for (long i = 0; i < n; ++i)
      for (long j = 0; j <= i; ++j) {
        long double sum = 0;
        for (long p = 0; p <= j; ++p) sum += static_cast<long double>(factor[i + p * n]) * factor[j + p * n];
        require(std::fabs(static_cast<double>(sum - a[i + j * n])) <= kEpsilon<T> * 4 * static_cast<double>(n * n), level, "Cholesky", n, i, j);
      }
    factor = a;
    factor[(n - 1) * (n + 1)] = -1;
    require(kernels.cholesky(n, factor.data(), n) == n, level, "the leading minor", n, n, 0);
  }
}

void check(const TileLevel& level) {
  checkProducts(level.name, level.single), checkProducts(level.name, level.wide);
  checkSolves(level.name, level.single), checkSolves(level.name, level.wide);
  checkFactors(level.name, level.single), checkFactors(level.name, level.wide);
  std::puts(level.name);
}

}  // namespace

int main() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) check(kTiles_x86_64_v2);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) check(kTiles_x86_64_v3);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    check(kTiles_x86_64_v4);
#else
  check(kTiles_arm64);
#endif
}
