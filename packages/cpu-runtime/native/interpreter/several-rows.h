// What the values of several rows are multiplied by where they are added: a number of each row, or its difference from a tile; or how they
// come without being written: as a number of each row, or added already.
struct Factor {
  Times times = kNothing;
  const T* rows = nullptr;
  const T* tile = nullptr;
};

// Rows added ROWS_AT_ONCE at a time: running results are read and written once for all of them, and in most vectors one test shows
// that nothing changes or that nothing is unusual. Values of the rows are `stride` pointers apart; they may come with factors, by
// value.
struct SeveralRows {
  const Reducer& one;
  int64_t stride;
  const Factor* factors;

  void add(T* state, const T* const* f, int64_t row, int64_t count) const {
    if (!one.careful()) {
      switch (one.kind) {
        case kSum:
        case kMean:
          return addSums(state, f, count);
        case kCount:
          return addCounts(state, f, count);
        case kLogSumExp:
        case kSumSoftMaxWeight:
          if (one.base2()) return addBase2(state, f, count);
          break;
        default:
          if (one.kind < kMin) break;
          return isLeast(one.kind) ? addExtremes<true>(state, f, row, count) : addExtremes<false>(state, f, row, count);
      }
    }
    for (int m = 0; m < ROWS_AT_ONCE; m++) one.add(state, f + m * stride, row + m, count);
  }

 private:
  typedef V Values[ROWS_AT_ONCE];

  // Value number `c` of the rows. (Addresses of its own: a store of a vector may change those in memory.)
  struct Row {
    const T* at[ROWS_AT_ONCE];

    INLINE_METHOD void read(Values& x, int64_t i) const {
#pragma GCC unroll 4
      for (int m = 0; m < ROWS_AT_ONCE; m++) x[m] = get(at[m] + i);
    }
  };
  INLINE_METHOD Row value(const T* const* f, int32_t c) const {
    Row found;
    for (int m = 0; m < ROWS_AT_ONCE; m++) found.at[m] = f[m * stride + c];
    return found;
  }

  // In pairs, so that additions wait for each other no longer than they must.
  template <class Join>
  static INLINE_METHOD V joined(const Values& x, const Join& join) {
    if constexpr (ROWS_AT_ONCE == 4) return join(join(x[0], x[1]), join(x[2], x[3]));
    else return join(x[0], x[1]);
  }
  static INLINE_METHOD V total(const Values& x) {
    return joined(x, [](V a, V b) INLINE_LAMBDA { return a + b; });
  }
  static INLINE_METHOD V totalOfProducts(const Values& x, const Values& y) {
    if constexpr (ROWS_AT_ONCE == 4) return (x[0] * y[0] + x[1] * y[1]) + (x[2] * y[2] + x[3] * y[3]);
    else return x[0] * y[0] + x[1] * y[1];
  }
  template <bool LEAST>
  static INLINE_METHOD V best(const Values& x) {
    return joined(x, [](V a, V b) INLINE_LAMBDA { return LEAST ? no_more_than(a, b) : at_least(a, b); });
  }

  void addSums(T* state, const T* const* f, int64_t count) const {
    for (int32_t c = 0; c < one.dim;) {
      switch (factors[c].times) {
        case kNothing:
        case kCopied:
          c += addColumns<kNothing>(state, f, c, count);
          break;
        case kValue:
          c += addColumns<kValue>(state, f, c, count);
          break;
        case kDifference:
          c += addColumns<kDifference>(state, f, c, count);
          break;
        case kTurned:
          c += addColumns<kTurned>(state, f, c, count);
          break;
        case kAdded:
          c++;
          break;
      }
    }
  }

  // From column `c` on: as many as have the same values but for a factor, which are read once for COLUMNS of them.
  static constexpr int COLUMNS = 4;
  template <Times TIMES>
  int32_t addColumns(T* state, const T* const* f, int32_t c, int64_t count) const {
    bool same = TIMES != kNothing && c + COLUMNS <= one.dim;
    for (int q = 1; same && q < COLUMNS; q++) same = f[c + q] == f[c] && factors[c + q].times == TIMES;
    if (same) addScaled<TIMES, TIMES == kNothing ? 1 : COLUMNS>(state, f, c, count);
    else addScaled<TIMES, 1>(state, f, c, count);
    return same ? COLUMNS : 1;
  }

  template <Times TIMES, int N>
  void addScaled(T* state, const T* const* f, int32_t c, int64_t count) const {
    const Row added = value(f, c);
    T* sums[N];
    const T* tiles[N];
    Values y[N];
    for (int q = 0; q < N; q++) {
      sums[q] = state + (c + q) * one.tile;
      if constexpr (TIMES == kNothing) continue;
      tiles[q] = factors[c + q].tile;
      for (int m = 0; m < ROWS_AT_ONCE; m++) y[q][m] = splat(factors[c + q].rows[m]);
    }
    for (int64_t i = 0; i < count; i += LANES) {
      Values x;
      added.read(x, i);
#pragma GCC unroll 4
      for (int q = 0; q < N; q++) {
        V sum = get(sums[q] + i);
        if constexpr (TIMES == kNothing) {
          sum += total(x);
        } else if constexpr (TIMES == kValue) {
          sum += totalOfProducts(x, y[q]);
        } else {
          const V from = get(tiles[q] + i);
          Values d;
#pragma GCC unroll 4
          for (int m = 0; m < ROWS_AT_ONCE; m++) d[m] = TIMES == kTurned ? y[q][m] - from : from - y[q][m];
          sum += totalOfProducts(x, d);
        }
        put(sums[q] + i, sum);
      }
    }
  }

  void addCounts(T* state, const T* const* f, int64_t count) const {
    for (int32_t c = 0; c < one.dim; c++) {
      T* const seen = state + c * one.tile;
      const Row counted = value(f, c);
      for (int64_t i = 0; i < count; i += LANES) {
        Values x;
        counted.read(x, i);
        I sum = (I)get(seen + i);
#pragma GCC unroll 4
        for (int m = 0; m < ROWS_AT_ONCE; m++) sum -= (I)(x[m] != splat(0));
        put(seen + i, (V)sum);
      }
    }
  }

  // Weight number `w` of row `m`.
  INLINE_METHOD V weight(const T* const* f, int32_t w, int m, int64_t i) const {
    return factors[w].times == kCopied ? splat(factors[w].rows[m]) : get(f[m * stride + w] + i);
  }

  // Above a mean of 2^5 of what the rows count, the power of two that sums are taken by is chosen anew.
  static constexpr int MOST_A_ROW = 32;

  void addBase2(T* state, const T* const* f, int64_t count) const {
    const V most = splat(MOST_A_ROW * ROWS_AT_ONCE);
    const Row exponents = value(f, 0);
    for (int64_t i = 0; i < count; i += LANES) {
      const V top = get(state + i);
      Values x, share;
      exponents.read(x, i);
#pragma GCC unroll 4
      for (int m = 0; m < ROWS_AT_ONCE; m++) share[m] = Reducer::scaledPower(x[m], top);
      const V counted = total(share);
      if (any(~(I)(counted < most))) {
        for (int m = 0; m < ROWS_AT_ONCE; m++) {
          one.addBase2At(state, x[m], i, [&](int32_t w) INLINE_LAMBDA { return weight(f, w, m, i); });
        }
        continue;
      }
      for (int32_t w = 1; w <= one.weights; w++) {
        T* const sum = state + w * one.tile + i;
        V added = counted;
        if (!one.isOne(w - 1)) {
          Values weighted;
#pragma GCC unroll 4
          for (int m = 0; m < ROWS_AT_ONCE; m++) weighted[m] = Reducer::scaled(weight(f, w, m, i), share[m]);
          added = total(weighted);
        }
        put(sum, get(sum) + added);
      }
    }
  }

  template <bool LEAST>
  void addExtremes(T* state, const T* const* f, int64_t row, int64_t count) const {
    for (int32_t c = 0; c < one.dim; c++) {
      if (one.ranked()) enterAll<LEAST>(state, f, c, row, count);
      else if (one.indexed()) addPlaced<LEAST>(state, f, c, row, count);
      else addLeast<LEAST>(state, f, c, row, count);
    }
  }

  // A sum of the rows is a NaN if one of them is, or if infinities of both signs are.
  template <bool LEAST>
  void addLeast(T* state, const T* const* f, int32_t c, int64_t row, int64_t count) const {
    T* const kept = state + c * one.tile;
    const Row values = value(f, c);
    for (int64_t i = 0; i < count; i += LANES) {
      Values x;
      values.read(x, i);
      const V check = total(x), most = best<LEAST>(x), old = get(kept + i);
      if (any((I)(check != check))) {
        for (int m = 0; m < ROWS_AT_ONCE; m++) one.addExtremeAt<LEAST>(state, x[m], c, Reducer::number(row + m), i);
        continue;
      }
      put(kept + i, Reducer::beats<LEAST>(most, old) ? most : old);
    }
  }

  template <bool LEAST>
  void addPlaced(T* state, const T* const* f, int32_t c, int64_t row, int64_t count) const {
    T *const kept = state + c * one.tile, *const places = one.indices(state) + c * one.tile;
    const Row values = value(f, c);
    for (int64_t i = 0; i < count; i += LANES) {
      Values x;
      values.read(x, i);
      const V check = total(x);
      V old = get(kept + i);
      I place = (I)get(places + i);
      if (any((I)(check != check) | (I)(place < 0))) {
        for (int m = 0; m < ROWS_AT_ONCE; m++) one.addExtremeAt<LEAST>(state, x[m], c, Reducer::number(row + m), i);
        continue;
      }
      if (!any(Reducer::beats<LEAST>(best<LEAST>(x), old))) continue;
#pragma GCC unroll 4
      for (int m = 0; m < ROWS_AT_ONCE; m++) {
        const I better = Reducer::beats<LEAST>(x[m], old);
        old = better ? x[m] : old;
        place = better ? Reducer::number(row + m) : place;
      }
      put(kept + i, old);
      put(places + i, (V)place);
    }
  }

  template <bool LEAST>
  void enterAll(T* state, const T* const* f, int32_t c, int64_t row, int64_t count) const {
    const Row values = value(f, c);
    for (int64_t i = 0; i < count; i += LANES) {
      Values x;
      values.read(x, i);
      const V check = total(x), most = best<LEAST>(x);
      const V last = get(state + one.entry(one.k - 1, c, i));
      const I odd = ~(I)(check - check == splat(0));
      if (!any(odd | Reducer::beats<LEAST>(most, last) | (I)(last != last))) continue;
      if (any(odd)) {
        for (int m = 0; m < ROWS_AT_ONCE; m++) one.insertAt<LEAST>(state, x[m], c, Reducer::number(row + m), i);
        continue;
      }
      for (int m = 0; m < ROWS_AT_ONCE; m++) enter<LEAST>(state, x[m], c, row + m, i);
    }
  }

  // Moves what is worse than `x`, finite in all lanes, down by one, from the last entry up to the first that is better.
  template <bool LEAST>
  INLINE_METHOD void enter(T* state, V x, int32_t c, int64_t row, int64_t i) const {
    const auto stays = [x](V old) INLINE_LAMBDA { return LEAST ? (I)(x >= old) : (I)(x <= old); };
    const I number_of = Reducer::number(row);
    T* at = state + one.entry(one.k - 1, c, i);
    const int64_t indices = one.indices(state) - state;
    V old = get(at);
    I old_index = (I)get(at + indices), here = stays(old);
    for (int32_t r = one.k - 1; any(~here); r--, at -= LANES) {
      if (r == 0) {
        put(at, here ? old : x);
        put(at + indices, (V)(here ? old_index : number_of));
        return;
      }
      const V above = get(at - LANES);
      const I above_index = (I)get(at - LANES + indices), before = stays(above);
      put(at, before ? (here ? old : x) : above);
      put(at + indices, (V)(before ? (here ? old_index : number_of) : above_index));
      old = above, old_index = above_index, here = before;
    }
  }
};
