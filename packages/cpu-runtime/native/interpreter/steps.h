// Included once for each data type of each level. Instructions on tiles: each is one call for TILE values at most.
// `T`, `V`, `I`, `LANES`, `splat` and the helpers of mathematics come from the generated text in front.

constexpr int64_t TILE = 2048 / sizeof(T);
// Instructions of `light` operations do this many vectors at a time, so that loads run ahead of stores.
constexpr int64_t UNROLL = 4;
// What counts of a tile are rounded up to.
constexpr int64_t STEP = UNROLL * LANES;
static_assert(TILE % STEP == 0, "a tile is whole steps");

typedef V VS __attribute__((may_alias));

INLINE int64_t at_most(int64_t x, int64_t limit) { return x < limit ? x : limit; }
INLINE int64_t at_least_one(int64_t x) { return x < 1 ? 1 : x; }
INLINE int64_t blocks_of(int64_t count, int64_t size) { return (count + size - 1) / size; }
INLINE int64_t whole_steps(int64_t count) { return blocks_of(count, STEP) * STEP; }
INLINE V squared_plus(V d, V z) { return d * d + z; }
// |d|^N + z
template <int N>
INLINE V power_plus(V d, V z) {
  const V square = d * d, fourth = square * square;
  if constexpr (N == 3) return square * abs_v(d) + z;
  if constexpr (N == 4) return square * square + z;
  if constexpr (N == 5) return fourth * abs_v(d) + z;
  if constexpr (N == 6) return fourth * square + z;
  if constexpr (N == 7) return fourth * square * abs_v(d) + z;
  return fourth * fourth + z;
}
INLINE V get(const T* at) { return *(const VU*)at; }
INLINE void put(T* at, V x) { *(VU*)at = x; }
INLINE void fill(T* to, T value, int64_t count) {
  for (int64_t i = 0; i < count; i += LANES) put(to + i, splat(value));
}

typedef wide::Wide Wide;

// A function of double precision on vectors of the data type: float32 as two halves, each rounded once.
template <class Function>
INLINE V through(const Function& f, V x) {
  if constexpr (sizeof(T) == sizeof(double)) {
    return (V)f((Wide)x);
  } else {
    union Halves {
      V v;
      wide::Half half[2];
    } from, to;
    from.v = x;
    for (int n = 0; n < 2; n++) {
      to.half[n] = __builtin_convertvector(f(__builtin_convertvector(from.half[n], Wide)), wide::Half);
    }
    return to.v;
  }
}

template <class Function>
INLINE V through_both(const Function& f, V y, V x) {
  if constexpr (sizeof(T) == sizeof(double)) {
    return (V)f((Wide)y, (Wide)x);
  } else {
    union Halves {
      V v;
      wide::Half half[2];
    } first, second, to;
    first.v = y;
    second.v = x;
    for (int n = 0; n < 2; n++) {
      to.half[n] = __builtin_convertvector(f(__builtin_convertvector(first.half[n], Wide),
                                             __builtin_convertvector(second.half[n], Wide)),
                                           wide::Half);
    }
    return to.v;
  }
}

typedef void (*StepFn)(T* to, const T* a, const T* b, const T* c, int64_t count);

struct light {
  static constexpr int64_t vectors = UNROLL;
};
struct heavy {
  static constexpr int64_t vectors = 1;
};

// Bits of SCALARS say which operands are one value for the whole tile.
template <class Operation, int SCALARS>
static void step(T* to, const T* a, const T* b, const T* c, int64_t count) {
  constexpr int64_t N = Operation::weight::vectors;
  constexpr int ARITY = Operation::arity;
  V x = splat(0), y = splat(0), z = splat(0);
  if constexpr (SCALARS & 1) x = splat(*a);
  if constexpr (ARITY > 1 && (SCALARS & 2)) y = splat(*b);
  if constexpr (ARITY > 2 && (SCALARS & 4)) z = splat(*c);
  for (int64_t i = 0; i < count; i += N * LANES) {
    V r[N];
#pragma GCC unroll 4
    for (int64_t n = 0; n < N; n++) {
      if constexpr (!(SCALARS & 1)) x = get(a + i + n * LANES);
      if constexpr (ARITY > 1 && !(SCALARS & 2)) y = get(b + i + n * LANES);
      if constexpr (ARITY > 2 && !(SCALARS & 4)) z = get(c + i + n * LANES);
      r[n] = Operation::apply(x, y, z);
    }
#pragma GCC unroll 4
    for (int64_t n = 0; n < N; n++) put(to + i + n * LANES, r[n]);
  }
}

// A function that reads a table.
template <class Operation, int SCALARS>
static void table_step(T* to, const T* a, const T* b, const T*, int64_t count) {
  const auto* const table = (const double*)(const void*)b;
  const auto f = [table](Wide x) { return Operation::apply(x, table); };
  if constexpr (SCALARS & 1) return fill(to, through(f, splat(*a))[0], count);
  for (int64_t i = 0; i < count; i += LANES) put(to + i, through(f, get(a + i)));
}

#define MERCER_FUNCTOR(name, count, cost, value)                                  \
  struct Op_##name {                                                              \
    typedef cost weight;                                                          \
    static constexpr int arity = count;                                           \
    static INLINE_MEMBER V apply(UNUSED V x, UNUSED V y, UNUSED V z) { return (V)(value); } \
  };
#define INLINE_MEMBER inline __attribute__((always_inline))
#define MERCER_UNARY(name, cost, value) MERCER_FUNCTOR(name, 1, cost, value)
#define MERCER_BINARY(name, cost, value) MERCER_FUNCTOR(name, 2, cost, value)
#define MERCER_COMPARISON(name, value) MERCER_FUNCTOR(name, 2, light, value)
#define MERCER_TERNARY(name, cost, value) MERCER_FUNCTOR(name, 3, cost, value)
#define MERCER_TABLE(name, numbers, function)                                                      \
  struct Op_##name {                                                                               \
    static INLINE_MEMBER Wide apply(Wide x, const double* table) { return function(x, table); } \
  };
#include "operations.inc"
#undef MERCER_UNARY
#undef MERCER_BINARY
#undef MERCER_COMPARISON
#undef MERCER_TERNARY
#undef MERCER_TABLE
#undef MERCER_FUNCTOR
#undef INLINE_MEMBER

struct Step {
  StepFn fn;
  int32_t to, a, b, c;
};

// Where the slots of a code are at a row: some move by one value from row to row.
struct Slots {
  T* const* at;
  const int64_t* moves;
  int64_t row;

  INLINE_METHOD T* operator[](int32_t slot) const { return at[slot] + row * moves[slot]; }
};

#include "strips.h"

#define S1(name) step<Op_##name, 0>, step<Op_##name, 1>
#define S2(name) S1(name), step<Op_##name, 2>, step<Op_##name, 3>
#define S3(name) S2(name), step<Op_##name, 4>, step<Op_##name, 5>, step<Op_##name, 6>, step<Op_##name, 7>
#define MERCER_UNARY(name, cost, value) {S1(name)},
#define MERCER_BINARY(name, cost, value) {S2(name)},
#define MERCER_COMPARISON(name, value) {S2(name)},
#define MERCER_TERNARY(name, cost, value) {S3(name)},
#define MERCER_TABLE(name, numbers, function) \
  {nullptr, nullptr, table_step<Op_##name, 2>, table_step<Op_##name, 3>},
static const StepFn STEPS[][8] = {
#include "operations.inc"
};
#undef MERCER_UNARY
#undef MERCER_BINARY
#undef MERCER_COMPARISON
#undef MERCER_TERNARY
#undef MERCER_TABLE

#undef S1
#undef S2
#undef S3
