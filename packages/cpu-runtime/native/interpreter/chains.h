// Chains: instructions that add to one value, which stays in registers. All read a and b as SCALARS says. The first may be a HEAD,
// the same operation without anything to add to.
typedef void (*ChainFn)(const Step* steps, int64_t length, Slots at, int64_t count);

// What an operation adds.
struct Head_multiplyAdd {
  static INLINE_METHOD V apply(V x, V y) { return x * y; }
};
struct Head_addAbsoluteDifference {
  static INLINE_METHOD V apply(V x, V y) { return abs_v(x - y); }
};
struct Head_addSquaredDifference {
  static INLINE_METHOD V apply(V x, V y) { return (x - y) * (x - y); }
};

template <class Operation, class Head, bool HEAD, int SCALARS>
static void chain(const Step* steps, int64_t length, Slots at, int64_t count) {
  T* const to = at[steps[length - 1].to];
  for (int64_t i = 0; i < count; i += STEP) {
    V r[UNROLL];
    const auto add = [&](const Step& one, const auto& join) INLINE_LAMBDA {
      const T *const a = at[one.a], *const b = at[one.b];
      V x = splat(*a), y = splat(*b);
#pragma GCC unroll 4
      for (int64_t n = 0; n < UNROLL; n++) {
        if constexpr (!(SCALARS & 1)) x = get(a + i + n * LANES);
        if constexpr (!(SCALARS & 2)) y = get(b + i + n * LANES);
        r[n] = join(x, y, r[n]);
      }
    };
    if constexpr (HEAD) {
      add(steps[0], [](V x, V y, V) INLINE_LAMBDA { return Head::apply(x, y); });
    } else {
      const T* const from = at[steps[0].c];
#pragma GCC unroll 4
      for (int64_t n = 0; n < UNROLL; n++) r[n] = get(from + i + n * LANES);
    }
    for (int64_t k = HEAD; k < length; k++) {
      add(steps[k], [](V x, V y, V z) INLINE_LAMBDA { return Operation::apply(x, y, z); });
    }
#pragma GCC unroll 4
    for (int64_t n = 0; n < UNROLL; n++) put(to + i + n * LANES, r[n]);
  }
}

// The same for codes of several rows at once, which share the tiles that they read and have values of their own.
constexpr int ROWS_AT_ONCE = sizeof(V) == 64 ? 4 : 2;
typedef void (*ChainRowsFn)(const Step* steps, int64_t length, const Slots* at, int64_t count);

// SCALARS is 1 or 2: one operand is a tile, the other a value that moves with the row.
template <class Operation, class Head, bool HEAD, int SCALARS>
static void chain_rows(const Step* steps, int64_t length, const Slots* at, int64_t count) {
  for (int64_t i = 0; i < count; i += STEP) {
    V r[ROWS_AT_ONCE][UNROLL];
    const auto add = [&](const Step& one, const auto& join) INLINE_LAMBDA {
      const int32_t tile = SCALARS == 1 ? one.b : one.a, scalar = SCALARS == 1 ? one.a : one.b;
      const T *const xs = at[0][tile], *const ys = at[0][scalar];
      V x[UNROLL];
#pragma GCC unroll 4
      for (int n = 0; n < UNROLL; n++) x[n] = get(xs + i + n * LANES);
#pragma GCC unroll 4
      for (int m = 0; m < ROWS_AT_ONCE; m++) {
        const V y = splat(ys[m]);
#pragma GCC unroll 4
        for (int n = 0; n < UNROLL; n++) r[m][n] = SCALARS == 1 ? join(y, x[n], r[m][n]) : join(x[n], y, r[m][n]);
      }
    };
    if constexpr (HEAD) {
      add(steps[0], [](V x, V y, V) INLINE_LAMBDA { return Head::apply(x, y); });
    } else {
#pragma GCC unroll 4
      for (int m = 0; m < ROWS_AT_ONCE; m++) {
        const T* const from = at[m][steps[0].c];
#pragma GCC unroll 4
        for (int n = 0; n < UNROLL; n++) r[m][n] = get(from + i + n * LANES);
      }
    }
    for (int64_t k = HEAD; k < length; k++) {
      add(steps[k], [](V x, V y, V z) INLINE_LAMBDA { return Operation::apply(x, y, z); });
    }
#pragma GCC unroll 4
    for (int m = 0; m < ROWS_AT_ONCE; m++) {
      T* const to = at[m][steps[length - 1].to];
#pragma GCC unroll 4
      for (int n = 0; n < UNROLL; n++) put(to + i + n * LANES, r[m][n]);
    }
  }
}

// The functions of a chain; null for what is none, and for `rows` where both operands are tiles or neither is.
struct ChainFns {
  ChainFn one = nullptr;
  ChainRowsFn rows = nullptr;
};

template <class Operation, class Head, bool HEAD>
static ChainFns chains_with(int mask) {
  switch (mask) {
    case 0:
      return {chain<Operation, Head, HEAD, 0>, nullptr};
    case 1:
      return {chain<Operation, Head, HEAD, 1>, chain_rows<Operation, Head, HEAD, 1>};
    case 2:
      return {chain<Operation, Head, HEAD, 2>, chain_rows<Operation, Head, HEAD, 2>};
    default:
      return {};
  }
}

// `operation` is the chain's own or that of its head.
static ChainFns chains_of(Operation operation, int mask) {
#define MERCER_CHAIN(name, head)                                        \
  case Operation::k_##name:                                             \
    return chains_with<Op_##name, Head_##name, false>(mask);            \
  case Operation::k_##head:                                             \
    return chains_with<Op_##name, Head_##name, true>(mask);
  switch (operation) {
    MERCER_CHAIN(multiplyAdd, mul)
    MERCER_CHAIN(addAbsoluteDifference, absoluteDifference)
    MERCER_CHAIN(addSquaredDifference, squaredDifference)
    default:
      return {};
  }
#undef MERCER_CHAIN
}
