// Reductions of the map-reduce family.

// Whether a product is added to with one rounding, as powers of two relative to another need it.
#if defined(__FMA__) || defined(__aarch64__)
constexpr bool FUSED = true;
#else
constexpr bool FUSED = false;
#endif
constexpr T LOG2E = (T)1.4426950408889634, LN2 = (T)0.6931471805599453;

// What running results of a tile of kept rows are, `slots` tiles one behind the other. The rules are those of the reducers in
// packages/kernels/src/map-reduce/reducers. Sums in double precision are two tiles each.
struct Reducer {
  int32_t kind;
  int32_t dim, weights, k;
  int32_t sums;
  int64_t tile;          // values from one tile to the next
  bool natural = false;  // a block of something careful: its exponents are of e
  uint64_t ones = 0;     // weights of an exponential that are the number 1, the first as bit 0

  bool ranked() const { return kind >= kKMin; }
  bool indexed() const { return givesIndices(kind) || ranked(); }
  bool counts() const { return kind >= kAny && kind <= kCount; }
  bool adds() const { return kind == kSum || kind == kMean || isExponential(kind); }
  bool rounds() const { return kind == kVar || (adds() && (sums == kBlocks || sums == kWideBlocks)); }
  bool wide() const { return sums == kWideBlocks || sums == kWideTerms; }
  // Whether sums have more digits than one value of the data type.
  bool careful() const { return sums == kCompensated || wide(); }
  // Whether sums are of powers of two, relative to a whole one.
  bool base2() const {
    return FUSED && !careful() && !natural && (kind == kLogSumExp || kind == kSumSoftMaxWeight);
  }
  bool isOne(int32_t w) const { return w < 64 && (ones >> w & 1) != 0; }
  // What a block is summed in.
  Reducer plain() const {
    Reducer one = *this;
    one.sums = kBlocks;
    one.natural = natural || careful();
    return one;
  }
  int32_t arity() const { return dim + weights; }
  int64_t places() const { return ranked() ? (int64_t)dim * k : dim; }
  int64_t slots() const {
    if (kind == kVar) return 1 + 2 * (int64_t)dim;  // rows, means, sums of squares around them
    const int64_t words = careful() ? 2 : 1;
    return isExponential(kind) ? 1 + words * weights : words * places() * (indexed() ? 2 : 1);
  }
  int64_t valueCount() const {
    if (!givesValues(kind)) return 0;
    return kind == kLogSumExp ? weights : kind == kSumSoftMaxWeight ? weights - 1
           : kind == kMaxSumShiftExp ? 1 + weights : places();
  }
  int64_t indexCount() const { return givesIndices(kind) ? places() : 0; }

  static I number(int64_t x) { return (I){} + (L)x; }
  T* indices(T* state) const { return state + places() * tile; }

  SELDOM void clear(T* state, int64_t count) const {
    const T infinity = (T)__builtin_inf();
    const T first = kind == kProd ? 1 : isExponential(kind) ? -infinity
                    : kind < kMin ? 0 : isLeast(kind) ? infinity : -infinity;
    // Doubles of `count` rows reach into the second tile of their two.
    const int64_t used = wide() ? tile : count;
    const int64_t together = ranked() ? k : 1;  // tiles that are one list
    for (int64_t p = 0; p < slots(); p += together) {
      const bool index = indexed() && p >= places();
      for (int64_t i = 0; i < used * together; i += LANES) {
        const V empty = counts() ? (V)number(kind == kAll ? 1 : 0)
                        : index ? (V)number(-1) : splat(isExponential(kind) && p > 0 ? 0 : first);
        put(state + p * tile + i, empty);
      }
    }
  }

  void add(T* state, const T* const* f, int64_t row, int64_t count) const {
    if (careful()) return addCarefully<false>(state, f, nullptr, count);
    switch (kind) {
      case kSum:
      case kMean:
        return each(state, f, count, [](V s, V x) { return s + x; });
      case kProd:
        return each(state, f, count, [](V s, V x) { return s * x; });
      case kAny:
        return each(state, f, count, [](V s, V x) { return x != splat(0) ? (V)number(1) : s; });
      case kAll:
        return each(state, f, count, [](V s, V x) { return x != splat(0) ? s : (V)number(0); });
      case kCount:
        return each(state, f, count, [](V s, V x) { return (V)((I)s - (I)(x != splat(0))); });
      case kLogSumExp:
      case kSumSoftMaxWeight:
      case kMaxSumShiftExp:
        return base2() ? addBase2(state, f, count) : addExponential(state, f, count);
      case kVar:
        return addSpread(state, f, count);
      default:
        return isLeast(kind) ? addExtreme<true>(state, f, row, count)
                             : addExtreme<false>(state, f, row, count);
    }
  }

  // Adds to component `c` of one kept row's sum, which is not of blocks.
  void addAt(T* state, int64_t c, int64_t lane, T f) const {
    if (wide()) {
      wideSum(state, c)[lane] += (double)f;
      return;
    }
    T& sum = state[c * tile + lane];
    if (sums != kCompensated) {
      sum += f;
      return;
    }
    T& low = state[(dim + c) * tile + lane];
    const T wanted = f - low, next = sum + wanted, lost = (next - sum) - wanted;
    low = lost - lost == 0 ? lost : 0;
    sum = next;
  }

  // An empty block beside what there is, whose exponents are likely to be near.
  void begin(T* part, const T* state, int64_t count) const {
    plain().clear(part, count);
    for (int64_t i = 0; base2() && i < count; i += LANES) put(part + i, get(state + i));
  }

  // Adds a block, which is a state of plain(). Only where rounds(). `f` has room for an address of each of its slots.
  void merge(T* state, const T* part, int64_t count, const T** f) const {
    if (!careful()) return join(state, part, count, f);
    for (int64_t p = 0; p < plain().slots(); p++) f[p] = part + p * tile;
    add(state, f, 0, count);
  }

  // Adds what later rows came to, a state like this one; `f` as for merge.
  SELDOM void join(T* state, const T* part, int64_t count, const T** f) const {
    if (careful()) return addCarefully<true>(state, nullptr, part, count);
    if (counts()) return joinCounts(state, part, count);
    if (kind == kVar) return mergeSpread(state, part, count);
    if (base2()) return mergeBase2(state, part, count);
    if (kind >= kMin) return isLeast(kind) ? joinExtremes<true>(state, part, count) : joinExtremes<false>(state, part, count);
    for (int64_t p = 0; p < slots(); p++) f[p] = part + p * tile;
    add(state, f, 0, count);
  }

  // Sum number c as far as the data type holds it, divided by `by`.
  T sumOf(const T* state, int64_t c, int64_t lane, double by = 1) const {
    const T* const first = state + (isExponential(kind) ? tile : 0);
    if (wide()) return (T)(((const double*)(const void*)(first + 2 * c * tile))[lane] / by);
    const int64_t count = isExponential(kind) ? weights : dim;
    const T sum = first[c * tile + lane];
    return (sums == kCompensated ? sum - first[(count + c) * tile + lane] : sum) / (T)by;
  }

  // Results of one kept row.
  SELDOM void write(const T* state, int64_t lane, int64_t reduced, T* out, int32_t* index) const {
    for (int64_t p = 0; p < indexCount(); p++) {
      L found;
      __builtin_memcpy(&found, indices((T*)state) + at(p, lane), sizeof found);
      index[p] = (int32_t)found;
    }
    const T top = state[lane];
    for (int64_t p = 0; p < valueCount(); p++) {
      if (counts()) {
        L seen;
        __builtin_memcpy(&seen, state + p * tile + lane, sizeof seen);
        out[p] = (T)seen;
      } else if (kind == kLogSumExp) {
        const T sum = log_v(splat(sumOf(state, p, lane)))[0];
        out[p] = top == -(T)__builtin_inf() ? top : base2() ? top * LN2 + sum : top + sum;
      } else if (kind == kSumSoftMaxWeight) {
        out[p] = wide() ? sumOf(state, p, lane, wideSum(state, weights - 1)[lane])
                        : sumOf(state, p, lane) / sumOf(state, weights - 1, lane);
      } else if (kind == kMaxSumShiftExp && p > 0) {
        out[p] = sumOf(state, p - 1, lane);
      } else if (kind == kSum || kind == kMean) {
        out[p] = sumOf(state, p, lane, kind == kMean ? (double)reduced : 1);
      } else {
        out[p] = state[at(p, lane)];
      }
      if (kind == kVar) out[p] = state[(1 + dim + p) * tile + lane] / (T)reduced;
    }
  }

 private:
  friend struct SeveralRows;

  double* wideSum(const T* state, int64_t c) const {
    return (double*)(void*)(state + (isExponential(kind) ? tile : 0) + 2 * c * tile);
  }

  // Kahan's addition (CACM 8, 1965): `low` is what `sum` has too much. What is infinite or NaN loses nothing.
  static INLINE_METHOD void compensated(V& sum, V& low, V f) {
    const V wanted = f - low, next = sum + wanted, lost = (next - sum) - wanted;
    low = lost - lost == splat(0) ? lost : splat(0);
    sum = next;
  }

  // Adds a sum that has `less` too much, without a rounding that is as large as one of the sums (TwoSum: Knuth, The Art of Computer
  // Programming 2, 4.2.2).
  static INLINE_METHOD void addSum(V& sum, V& low, V more, V less) {
    const V next = sum + more, added = next - sum, lost = (sum - (next - added)) + (more - added);
    low += less - (lost - lost == splat(0) ? lost : splat(0));
    sum = next;
  }

  // Adds a row or, where JOINS, a state.
  template <bool JOINS>
  void addCarefully(T* state, const T* const* f, const T* part, int64_t count) const {
    if (isExponential(kind)) addCarefulExponential<JOINS>(state, f, part, count);
    else addCareful<JOINS>(state, f, part, count);
  }

  template <bool JOINS>
  void addCareful(T* state, const T* const* f, const T* part, int64_t count) const {
    for (int32_t c = 0; c < dim; c++) {
      if (wide()) {
        double* const sum = wideSum(state, c);
        for (int64_t i = 0; i < count; i++) sum[i] += JOINS ? wideSum(part, c)[i] : (double)f[c][i];
        continue;
      }
      const T *const added = JOINS ? part + c * tile : f[c], *const less = JOINS ? added + dim * tile : nullptr;
      T *const sums = state + c * tile, *const lows = sums + dim * tile;
      for (int64_t i = 0; i < count; i += LANES) {
        V sum = get(sums + i), low = get(lows + i);
        if constexpr (JOINS) addSum(sum, low, get(added + i), get(less + i));
        else compensated(sum, low, get(added + i));
        put(sums + i, sum);
        put(lows + i, low);
      }
    }
  }

  // What counts nothing may be infinite.
  static INLINE_METHOD V scaled(V x, V by) { return by == splat(0) ? splat(0) : x * by; }
  static INLINE_METHOD double scaled(double x, T by) { return by == 0 ? 0 : x * (double)by; }

  template <bool JOINS>
  void addCarefulExponential(T* state, const T* const* f, const T* part, int64_t count) const {
    const V none = splat(-(T)__builtin_inf()), one = splat(1);
    for (int64_t i = 0; i < count; i += LANES) {
      const V x = get((JOINS ? part : f[0]) + i), top = get(state + i);
      const V near = exp_v(-abs_v(x - top)), share = x == top ? one : near;
      const V before = x > top ? share : one, added = x > top ? one : share;
      for (int32_t w = 1; w <= weights; w++) {
        if (wide()) {
          double* const sum = wideSum(state, w - 1) + i;
          for (int64_t n = 0; n < LANES; n++) {
            if (x[n] == none[n]) continue;
            const double weight = JOINS ? wideSum(part, w - 1)[i + n] : (double)f[w][i + n];
            sum[n] = scaled(sum[n], before[n]) + scaled(weight, added[n]);
          }
          continue;
        }
        const T* const weight = (JOINS ? part + w * tile : f[w]) + i;
        T *const sums = state + w * tile + i, *const lows = sums + weights * tile;
        V sum = scaled(get(sums), before), low = scaled(get(lows), before);
        if constexpr (JOINS) addSum(sum, low, scaled(get(weight), added), scaled(get(weight + weights * tile), added));
        else compensated(sum, low, scaled(get(weight), added));
        put(sums, x == none ? get(sums) : sum);
        put(lows, x == none ? get(lows) : low);
      }
      put(state + i, (I)(x > top) | (I)(x != x) ? x : top);
    }
  }

  template <class Join>
  void each(T* state, const T* const* f, int64_t count, const Join& join) const {
    for (int32_t c = 0; c < dim; c++) {
      T* s = state + c * tile;
      const T* x = f[c];
      for (int64_t i = 0; i < count; i += STEP) {
        V r[UNROLL];
#pragma GCC unroll 4
        for (int64_t n = 0; n < UNROLL; n++) r[n] = join(get(s + i + n * LANES), get(x + i + n * LANES));
#pragma GCC unroll 4
        for (int64_t n = 0; n < UNROLL; n++) put(s + i + n * LANES, r[n]);
      }
    }
  }

  static INLINE_METHOD V real(I x) { return __builtin_convertvector(x, V); }

  void addSpread(T* state, const T* const* f, int64_t count) const {
    for (int64_t i = 0; i < count; i += LANES) {
      const I rows = (I)get(state + i) + number(1);
      put(state + i, (V)rows);
      const V share = splat(1) / real(rows);
      for (int32_t c = 0; c < dim; c++) {
        T* const mean = state + (1 + c) * tile + i;
        T* const square = mean + dim * (int64_t)tile;
        const V x = get(f[c] + i), off = x - get(mean), moved = get(mean) + off * share;
        put(mean, moved);
        put(square, get(square) + off * (x - moved));
      }
    }
  }

  void mergeSpread(T* state, const T* part, int64_t count) const {
    for (int64_t i = 0; i < count; i += LANES) {
      const I rows = (I)get(state + i), more = (I)get(part + i), all = rows + more;
      put(state + i, (V)all);
      const V share = all == number(0) ? splat(0) : real(more) / real(all);
      for (int32_t c = 0; c < dim; c++) {
        const int64_t at = (1 + c) * (int64_t)tile + i, below = at + dim * (int64_t)tile;
        const V off = get(part + at) - get(state + at);
        put(state + at, get(state + at) + off * share);
        put(state + below, get(state + below) + get(part + below) + off * off * real(rows) * share);
      }
    }
  }

  void addExponential(T* state, const T* const* f, int64_t count) const {
    const V none = splat(-(T)__builtin_inf());
    for (int64_t i = 0; i < count; i += LANES) {
      const V x = get(f[0] + i), top = get(state + i);
      const V near = exp_v(-abs_v(x - top));
      const V share = x == top ? splat(1) : near;
      for (int32_t w = 1; w <= weights; w++) {
        const V sum = get(state + w * tile + i), weight = get(f[w] + i);
        const V before = scaled(sum, share), added = scaled(weight, share);
        put(state + w * tile + i, x == none ? sum : (x > top ? before + weight : sum + added));
      }
      put(state + i, (I)(x > top) | (I)(x != x) ? x : top);
    }
  }

  static INLINE_METHOD V scaledPower(V x, V top) { return exp2_v(x * splat(LOG2E) - top); }

  // The vector `x` at `i` of a row, whose weights are `weight(w)`, by the rule of reducers/base2-exponentials.ts.
  template <class Weight>
  INLINE_METHOD void addBase2At(T* state, V x, int64_t i, const Weight& weight) const {
    const V none = splat(-(T)__builtin_inf()), infinity = splat((T)__builtin_inf());
    const V before = get(state + i), exponent = x * splat(LOG2E);
    const V top = (I)(exponent <= before) | (I)(before != before) ? before : round_v(exponent);
    const V keep = before == top ? splat(1) : exp2_v(before - top);
    const V share = abs_v(top) == infinity ? (exponent == top ? splat(1) : splat(0)) : scaledPower(x, top);
    for (int32_t w = 1; w <= weights; w++) {
      const V sum = get(state + w * tile + i);
      put(state + w * tile + i, x == none ? sum : scaled(sum, keep) + scaled(weight(w), share));
    }
    put(state + i, x == none ? before : top);
  }

  void addBase2(T* state, const T* const* f, int64_t count) const {
    for (int64_t i = 0; i < count; i += LANES) {
      addBase2At(state, get(f[0] + i), i, [&](int32_t w) INLINE_LAMBDA { return get(f[w] + i); });
    }
  }

  void mergeBase2(T* state, const T* part, int64_t count) const {
    for (int64_t i = 0; i < count; i += LANES) {
      const V mine = get(state + i), other = get(part + i);
      const V top = (I)(other > mine) | (I)(other != other) ? other : mine;
      const V keep = mine == top ? splat(1) : exp2_v(mine - top);
      const V share = other == top ? splat(1) : exp2_v(other - top);
      for (int32_t w = 1; w <= weights; w++) {
        T* const sum = state + w * tile + i;
        put(sum, scaled(get(sum), keep) + scaled(get(part + w * tile + i), share));
      }
      put(state + i, top);
    }
  }

  // Whether any row counted, whether all did, how many did.
  void joinCounts(T* state, const T* part, int64_t count) const {
    for (int32_t c = 0; c < dim; c++) {
      T* const seen = state + c * tile;
      for (int64_t i = 0; i < count; i += LANES) {
        const I mine = (I)get(seen + i), more = (I)get(part + c * tile + i);
        put(seen + i, (V)(kind == kAny ? mine | more : kind == kAll ? mine & more : mine + more));
      }
    }
  }

  template <bool LEAST>
  static INLINE_METHOD I beats(V x, V best) {
    return LEAST ? (I)(x < best) : (I)(x > best);
  }

  template <bool LEAST>
  void addExtreme(T* state, const T* const* f, int64_t row, int64_t count) const {
    for (int32_t c = 0; c < dim; c++) {
      for (int64_t i = 0; i < count; i += LANES) {
        if (ranked()) insertAt<LEAST>(state, get(f[c] + i), c, number(row), i);
        else addExtremeAt<LEAST>(state, get(f[c] + i), c, number(row), i);
      }
    }
  }

  // The rows of a state come behind all before, and so do equal values of theirs. Of a list nothing is better than what was not taken.
  template <bool LEAST>
  SELDOM void joinExtremes(T* state, const T* part, int64_t count) const {
    const T* const rows = indices((T*)part);
    for (int32_t c = 0; c < dim; c++) {
      for (int64_t i = 0; i < count; i += LANES) {
        if (!ranked()) {
          const int64_t place = c * tile + i;
          addExtremeAt<LEAST>(state, get(part + place), c, indexed() ? (I)get(rows + place) : number(0), i);
          continue;
        }
        for (int64_t r = 0; r < k; r++) {
          const int64_t place = entry(r, c, i);
          if (!insertAt<LEAST>(state, get(part + place), c, (I)get(rows + place), i)) break;
        }
      }
    }
  }

  // The first best row, where a NaN is better than any number.
  template <bool LEAST>
  INLINE_METHOD void addExtremeAt(T* state, V x, int32_t c, I rows, int64_t i) const {
    const V best = get(state + c * tile + i);
    I better = (I)(best == best) & ((I)(x != x) | beats<LEAST>(x, best));
    if (indexed()) {
      T* place = indices(state) + c * tile + i;
      const I index = (I)get(place);
      better |= (I)(index < 0);
      put(place, (V)(better ? rows : index));
    }
    put(state + c * tile + i, better ? x : best);
  }

  // Where in a list of the K best component `c` of the vector at `i` has its entry number `r`: a list lies in one piece, since entries
  // that are a power of two apart would share few places of the first-level cache.
  int64_t entry(int64_t r, int32_t c, int64_t i) const { return (c * tile + i) * k + r * LANES; }
  // Where place `p` of the results has its value of one kept row.
  int64_t at(int64_t p, int64_t lane) const {
    return ranked() ? entry(p / dim, (int32_t)(p % dim), lane / LANES * LANES) + lane % LANES : p * tile + lane;
  }

  // NaN comes last, and equal values keep the order of their rows. What has no row, -1, is an empty entry of another list. Whether any
  // value was taken.
  template <bool LEAST>
  bool insertAt(T* state, V x, int32_t c, I number_of, int64_t i) const {
    const I real = (I)(number_of >= 0);
    const auto before = [real](V x, V best, I index) {
      return real & ((I)(index < 0) | ((I)(x == x) & ((I)(best != best) | beats<LEAST>(x, best))));
    };
    T* const index = indices(state);
    const int64_t last = entry(k - 1, c, i);
    if (!any(before(x, get(state + last), (I)get(index + last)))) return false;
    I taken = number(0);
    for (int32_t r = 0; r < k; r++) {
      const int64_t place = entry(r, c, i);
      const V old = get(state + place);
      const I old_index = (I)get(index + place);
      taken |= before(x, old, old_index);
      put(state + place, taken ? x : old);
      put(index + place, (V)(taken ? number_of : old_index));
      x = taken ? old : x;
      number_of = taken ? old_index : number_of;
    }
    return true;
  }
};
