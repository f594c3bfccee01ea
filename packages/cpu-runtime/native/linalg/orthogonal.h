// Factorisations with orthogonal matrices: QR, singular values, least squares.
#pragma once

#include "routine.h"

namespace mercer::cpu {

struct QrArgs {
  Batch batch;
  Matrix a, q, r;
  alignas(8) int32_t* infos;
};

// a = q r with min(rows, columns) orthonormal columns of q.
template <class T>
struct Qr {
  using Args = QrArgs;

  Qr(const Args& args, Arena& arena)
      : args(args), rows(args.a.rows), columns(args.a.columns), few(std::min(rows, columns)),
        lead(leadOf(rows)) {
    data = arena.take<T>(lead * columns);
    v = arena.take<T>(lead * few);
    t = arena.take<T>(kReflections * few);
    w = arena.take<T>(2 * kReflections * std::max(columns, kReflections));
  }

  void operator()(const Team& team, int64_t index) {
    const auto q = viewOf<T>(args.batch, args.q, index);
    const auto r = viewOf<T>(args.batch, args.r, index);
    const bool finite = pack(viewOf<T>(args.batch, args.a, index), data, lead);
    if (finite) {
      const auto reflections = byColumns(v, rows, few, lead), factors = byColumns(t, kReflections, few, kReflections);
      factorQr(team, byColumns(data, rows, columns, lead), reflections, factors, w);
      unpack(data, lead, r, Part::kUpper);
      formQ(team, reflections, factors, byColumns(data, rows, few, lead), w);
      unpack(data, lead, q);
    } else {
      fillNaN(q);
      fillNaN(r);
    }
    args.infos[index] = finite ? 0 : kNotFinite;
  }

  const Args& args;
  const Int rows, columns, few, lead;
  T *data, *v, *t, *w;
};

struct SvdArgs {
  Batch batch;
  Matrix a, u, s, vh;
  alignas(8) int32_t* infos;
};

// a = u diag(s) vh, s descending. LAPACK gesdd.
template <class T>
struct Svd {
  using Args = SvdArgs;

  Svd(const Args& args, Arena& arena)
      : args(args), rows(args.a.rows), columns(args.a.columns), lead(leadOf(rows)),
        few(std::min(rows, columns)), leadRight(leadOf(few)) {
    a = arena.take<T>(lead * columns);
    s = arena.take<T>(few);
    u = arena.take<T>(lead * few);
    vh = arena.take<T>(leadRight * columns);
    integerWork = arena.take<Int>(8 * leadOf(few));
    const Int ask = -1;
    T size = 0;
    Written info;
    Lapack::get()->functions<T>().gesdd(&job, &rows, &columns, a, &lead, s, u, &lead, vh,
                                        &leadRight, &size, &ask, integerWork, info, 1);
    workSize = queried(size);
    work = arena.take<T>(workSize);
  }

  void operator()(const Team&, int64_t index) {
    int32_t info = kNotFinite;
    if (pack(viewOf<T>(args.batch, args.a, index), a, lead)) {
      Written written;
      Lapack::get()->functions<T>().gesdd(&job, &rows, &columns, a, &lead, s, u, &lead, vh,
                                          &leadRight, work, &workSize, integerWork, written, 1);
      info = static_cast<int32_t>(written.value());
    }
    give(info, s, leadOf(few), args.s, index);
    give(info, u, lead, args.u, index);
    give(info, vh, leadRight, args.vh, index);
    args.infos[index] = info;
  }

  void give(int32_t info, const T* from, Int fromLead, const Matrix& to, int64_t index) const {
    const auto result = viewOf<T>(args.batch, to, index);
    if (info == 0)
      unpack(from, fromLead, result);
    else
      fillNaN(result);
  }

  const Args& args;
  static constexpr char job = 'S';
  const Int rows, columns, lead, few, leadRight;
  T *a, *s, *u, *vh, *work;
  Int* integerWork;
  Int workSize;
};

struct LstsqArgs {
  Batch batch;
  Matrix a, b, x, singularValues;
  alignas(8) int32_t *ranks, *infos;
  double tolerance;  // relative to the largest singular value
};

// x of least norm among those that minimise |a x - b|. LAPACK gelsd.
template <class T>
struct Lstsq {
  using Args = LstsqArgs;

  Lstsq(const Args& args, Arena& arena)
      : args(args), rows(args.a.rows), columns(args.a.columns),
        sides(std::max<Int>(1, args.b.columns)),  // LAPACK refuses none: zeros, which nobody reads
        lead(leadOf(rows)), tall(leadOf(std::max(rows, columns))), few(std::min(rows, columns)),
        tolerance(static_cast<T>(args.tolerance)) {
    a = arena.take<T>(lead * columns);
    x = arena.take<T>(tall * sides);
    s = arena.take<T>(few);
    const Int ask = -1;
    T size = 0;
    Written rank, integers, info;
    Lapack::get()->functions<T>().gelsd(&rows, &columns, &sides, a, &lead, x, &tall, s, &tolerance,
                                        rank, &size, &ask, integers, info);
    workSize = queried(size);
    work = arena.take<T>(workSize);
    integerWork = arena.take<Int>(std::max<Int>(1, integers.value()));
  }

  void operator()(const Team&, int64_t index) {
    const auto result = viewOf<T>(args.batch, args.x, index);
    const auto values = viewOf<T>(args.batch, args.singularValues, index);
    int32_t info = kNotFinite;
    Written rank;
    std::fill(x, x + tall * sides, T(0));  // the solution where a has no elements, which LAPACK leaves alone
    const bool finite = pack(viewOf<T>(args.batch, args.a, index), a, lead);
    if (pack(viewOf<T>(args.batch, args.b, index), x, tall) && finite) {
      Written written;
      Lapack::get()->functions<T>().gelsd(&rows, &columns, &sides, a, &lead, x, &tall, s,
                                          &tolerance, rank, work, &workSize, integerWork, written);
      info = static_cast<int32_t>(written.value());
    }
    if (info == 0) {
      unpack(x, tall, result);
      unpack(s, leadOf(few), values);
    } else {
      fillNaN(result);
      fillNaN(values);
    }
    args.ranks[index] = info == 0 ? static_cast<int32_t>(rank.value()) : -1;
    args.infos[index] = info;
  }

  const Args& args;
  const Int rows, columns, sides, lead, tall, few;
  const T tolerance;
  T *a, *x, *s, *work;
  Int* integerWork;
  Int workSize;
};

}  // namespace mercer::cpu
