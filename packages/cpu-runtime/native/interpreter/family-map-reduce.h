// A formula of rows i and j, reduced over one of them: tiles of kept rows, one reduced row at a time.

// What running results of a tile of kept rows are, `slots` tiles one behind the other. The rules are those of the reducers in
// packages/kernels/src/map-reduce/reducers.
struct Reducer {
  int32_t kind;
  int32_t dim, weights, k;

  bool ranked() const { return kind >= kKMin; }
  bool indexed() const { return givesIndices(kind) || ranked(); }
  bool counts() const { return kind >= kAny && kind <= kCount; }
  bool rounds() const { return kind == kSum || kind == kMean || kind == kVar || isExponential(kind); }
  int64_t places() const { return ranked() ? (int64_t)dim * k : dim; }
  int64_t slots() const {
    if (kind == kVar) return 1 + 2 * (int64_t)dim;  // rows, means, sums of squares around them
    return isExponential(kind) ? 1 + weights : places() * (indexed() ? 2 : 1);
  }
  int64_t valueCount() const {
    if (!givesValues(kind)) return 0;
    return kind == kLogSumExp ? weights : kind == kSumSoftMaxWeight ? weights - 1
           : kind == kMaxSumShiftExp ? 1 + weights : places();
  }
  int64_t indexCount() const { return givesIndices(kind) ? places() : 0; }

  static I number(int64_t x) { return (I){} + (L)x; }
  T* indices(T* state) const { return state + places() * TILE; }

  void clear(T* state, int64_t count) const {
    const T infinity = (T)__builtin_inf();
    const T first = kind == kProd ? 1 : isExponential(kind) ? -infinity
                    : kind < kMin ? 0 : isLeast(kind) ? infinity : -infinity;
    for (int64_t p = 0; p < slots(); p++) {
      const bool index = indexed() && p >= places();
      for (int64_t i = 0; i < count; i += LANES) {
        const V empty = counts() ? (V)number(kind == kAll ? 1 : 0)
                        : index ? (V)number(-1) : splat(isExponential(kind) && p > 0 ? 0 : first);
        put(state + p * TILE + i, empty);
      }
    }
  }

  void add(T* state, const T* const* f, int64_t row, int64_t count) const {
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
        return addExponential(state, f, count);
      case kVar:
        return addSpread(state, f, count);
      default:
        return isLeast(kind) ? addExtreme<true>(state, f, row, count)
                             : addExtreme<false>(state, f, row, count);
    }
  }

  // Only where rounds().
  void merge(T* state, const T* part, int64_t count, const T** f) const {
    if (kind == kVar) return mergeSpread(state, part, count);
    for (int64_t p = 0; p < slots(); p++) f[p] = part + p * TILE;
    add(state, f, 0, count);
  }

  // Results of one kept row.
  void write(const T* state, int64_t lane, int64_t reduced, T* out, int32_t* index) const {
    for (int64_t p = 0; p < indexCount(); p++) {
      L found;
      __builtin_memcpy(&found, indices((T*)state) + p * TILE + lane, sizeof found);
      index[p] = (int32_t)found;
    }
    const T top = state[lane];
    for (int64_t p = 0; p < valueCount(); p++) {
      const T s = state[p * TILE + lane];
      if (counts()) {
        L seen;
        __builtin_memcpy(&seen, state + p * TILE + lane, sizeof seen);
        out[p] = (T)seen;
      } else if (kind == kLogSumExp) {
        out[p] = top == -(T)__builtin_inf() ? top : top + log_v(splat(state[(1 + p) * TILE + lane]))[0];
      } else if (kind == kSumSoftMaxWeight) {
        out[p] = state[(1 + p) * TILE + lane] / state[weights * TILE + lane];
      } else {
        out[p] = kind == kMean ? s / (T)reduced : s;
      }
      if (kind == kVar) out[p] = state[(1 + dim + p) * TILE + lane] / (T)reduced;
    }
  }

 private:
  template <class Join>
  void each(T* state, const T* const* f, int64_t count, const Join& join) const {
    for (int32_t c = 0; c < dim; c++) {
      T* s = state + c * TILE;
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
        T* const mean = state + (1 + c) * TILE + i;
        T* const square = mean + dim * (int64_t)TILE;
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
        const int64_t at = (1 + c) * (int64_t)TILE + i, below = at + dim * (int64_t)TILE;
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
        const V sum = get(state + w * TILE + i), weight = get(f[w] + i);
        // what counts nothing may be infinite
        const V before = share == splat(0) ? splat(0) : sum * share;
        const V added = share == splat(0) ? splat(0) : weight * share;
        put(state + w * TILE + i, x == none ? sum : (x > top ? before + weight : sum + added));
      }
      put(state + i, (I)(x > top) | (I)(x != x) ? x : top);
    }
  }

  template <bool LEAST>
  static INLINE_METHOD I beats(V x, V best) {
    return LEAST ? (I)(x < best) : (I)(x > best);
  }

  template <bool LEAST>
  void addExtreme(T* state, const T* const* f, int64_t row, int64_t count) const {
    for (int32_t c = 0; c < dim; c++) {
      if (ranked()) {
        insert<LEAST>(state, f[c], c, row, count);
        continue;
      }
      for (int64_t i = 0; i < count; i += LANES) {
        const V x = get(f[c] + i), best = get(state + c * TILE + i);
        I better = (I)(best == best) & ((I)(x != x) | beats<LEAST>(x, best));
        if (indexed()) {
          T* place = indices(state) + c * TILE + i;
          const I index = (I)get(place);
          better |= (I)(index < 0);
          put(place, (V)(better ? number(row) : index));
        }
        put(state + c * TILE + i, better ? x : best);
      }
    }
  }

  // NaN comes last, and equal values keep the order of their rows.
  template <bool LEAST>
  void insert(T* state, const T* values, int32_t c, int64_t row, int64_t count) const {
    const auto before = [](V x, V best, I index) {
      return (I)(index < 0) | ((I)(x == x) & ((I)(best != best) | beats<LEAST>(x, best)));
    };
    T* const index = indices(state);
    for (int64_t i = 0; i < count; i += LANES) {
      V x = get(values + i);
      const int64_t last = ((int64_t)(k - 1) * dim + c) * TILE + i;
      const I enters = before(x, get(state + last), (I)get(index + last));
      L any = 0;
      for (int lane = 0; lane < LANES; lane++) any |= enters[lane];
      if (any == 0) continue;
      I number_of = number(row), taken = number(0);
      for (int32_t r = 0; r < k; r++) {
        const int64_t at = ((int64_t)r * dim + c) * TILE + i;
        const V old = get(state + at);
        const I old_index = (I)get(index + at);
        taken |= before(x, old, old_index);
        put(state + at, taken ? x : old);
        put(index + at, (V)(taken ? number_of : old_index));
        x = taken ? old : x;
        number_of = taken ? old_index : number_of;
      }
    }
  }
};

struct MapReduceFamily {
  // Reduced rows between two merges of sums, whose rounding grows with what is added to one.
  static constexpr int64_t kReduced = 256;

  Machine own, other, pair;
  Reducer reducer;
  T *ownTiles, *otherTiles, *total, *part;
  const T** values;

  static Reducer reducerOf(const int32_t* s) { return Reducer{s[1], s[2], s[3], s[4]}; }

  void reserve(const View& view, Arena& arena) {
    const int32_t* s = view.settings;
    const int64_t nOwn = s[6], nOther = s[7], nParameters = s[8];
    const int64_t ownRoots = view.codes[0].rootCount, otherRoots = view.codes[1].rootCount;
    reducer = reducerOf(s);
    own.reserve(view, 0, nOwn + nParameters, arena);
    other.reserve(view, 1, nOther + nParameters, arena);
    pair.reserve(view, 2, nOwn + ownRoots + nOther + otherRoots + nParameters, arena);
    ownTiles = arena.tiles(nOwn);
    otherTiles = arena.tiles(nOther);
    total = arena.tiles(reducer.slots());
    part = arena.tiles(reducer.rounds() ? reducer.slots() : 0);
    values = arena.take<const T*>(reducer.dim + reducer.weights + reducer.slots());
  }

  struct Sizes {
    int64_t kept, reduced, batch;
    const int64_t* strides;  // of input q: ld at 2 q, batch at 2 q + 1
    const T* const* inputs;
    T* out;
    int32_t* index;
  };

  static Sizes sizesOf(const View& view, const void* args) {
    const int32_t* s = view.settings;
    const int64_t* words = (const int64_t*)args;
    int64_t at = s[5];
    Sizes sizes{};
    sizes.inputs = (const T* const*)args;
    if (givesValues(s[1])) sizes.out = (T*)words[at++];
    if (givesIndices(s[1])) sizes.index = (int32_t*)words[at++];
    sizes.kept = words[at + (s[0] == 1 ? 0 : 1)];
    sizes.reduced = words[at + (s[0] == 1 ? 1 : 0)];
    sizes.batch = words[at + 2];
    sizes.strides = words + at + 3;
    return sizes;
  }

  static Cut cut(const View& view, const void* args, int64_t threads) {
    const Sizes sizes = sizesOf(view, args);
    int64_t block = TILE;
    while (block > STEP && blocks_of(sizes.kept, block) * sizes.batch < 4 * threads) block /= 2;
    const int64_t tasks = blocks_of(sizes.kept, block) * sizes.batch;
    return Cut{tasks, chunk_of(tasks, threads, (double)block * (double)sizes.reduced), block, 0};
  }

  // Where the components of a row list lie: input -1 is the row's own number.
  struct Row {
    const T* base;
    int64_t stride;
  };

  void run(const View& view, const void* args, int64_t block, int64_t begin, int64_t end) {
    const int32_t* s = view.settings;
    const Sizes g = sizesOf(view, args);
    const int64_t nOwn = s[6], nOther = s[7], nParameters = s[8];
    const int64_t ownRoots = view.codes[0].rootCount, otherRoots = view.codes[1].rootCount;
    const int64_t firstOther = nOwn + ownRoots, firstParameter = firstOther + nOther + otherRoots;
    own.prepare(view, nullptr, [=](int64_t i) { return i >= nOwn; });
    other.prepare(view, nullptr, [=](int64_t i) { return i >= nOther; });
    pair.prepare(view, nullptr, [=](int64_t i) { return i >= firstOther; });
    const auto gatherRows = [&](T* to, const int32_t* list, int64_t count, int64_t layer, int64_t first,
                                int64_t rows) {
      for (int64_t q = 0; q < count; q++, to += TILE) {
        const int32_t input = list[2 * q];
        if (input < 0) {
          for (int64_t i = 0; i < whole_steps(rows); i++) to[i] = (T)(first + at_most(i, rows - 1));
          continue;
        }
        const int64_t ld = g.strides[2 * input];
        gather(to, g.inputs[input] + layer * g.strides[2 * input + 1] + first * ld + list[2 * q + 1], ld,
               rows);
      }
    };
    const int64_t blocks = blocks_of(g.kept, block);
    for (int64_t task = begin; task < end; task++) {
      const int64_t layer = task / blocks, first = task % blocks * block;
      const int64_t rows = at_most(g.kept - first, block), whole = whole_steps(rows);
      const int32_t* list = s + 9;
      gatherRows(ownTiles, list, nOwn, layer, first, rows);
      for (int64_t q = 0; q < nParameters; q++) {
        const int32_t* one = list + 2 * (nOwn + nOther + q);
        const T* from = g.inputs[one[0]] + layer * g.strides[2 * one[0] + 1] + one[1];
        own.input(nOwn + q, from);
        other.input(nOther + q, from);
        pair.input(firstParameter + q, from);
      }
      for (int64_t q = 0; q < nOwn; q++) {
        own.input(q, ownTiles + q * TILE);
        pair.input(q, ownTiles + q * TILE);
      }
      own.run(whole);
      for (int64_t q = 0; q < ownRoots; q++) pair.input(nOwn + q, own.root(q));
      reducer.clear(total, whole);
      for (int64_t start = 0; start < g.reduced; start += kReduced) {
        const int64_t count = at_most(g.reduced - start, kReduced);
        gatherRows(otherTiles, list + 2 * nOwn, nOther, layer, start, count);
        for (int64_t q = 0; q < nOther; q++) other.input(q, otherTiles + q * TILE);
        other.run(whole_steps(count));
        for (int64_t q = 0; q < nOther; q++) pair.input(firstOther + q, otherTiles + q * TILE);
        for (int64_t q = 0; q < otherRoots; q++) pair.input(firstOther + nOther + q, other.root(q));
        T* const state = reducer.rounds() ? part : total;
        if (reducer.rounds()) reducer.clear(part, whole);
        const int64_t roots = reducer.dim + reducer.weights;
        for (int64_t q = 0; q < roots; q++) values[q] = pair.root(q);
        for (int64_t j = 0; j < count; j++) {
          pair.run(whole);
          reducer.add(state, values, start + j, whole);
          for (int64_t q = firstOther; q < firstParameter; q++) {
            if (pair.inputSlots[q] >= 0) pair.at[pair.inputSlots[q]]++;
          }
        }
        if (reducer.rounds()) reducer.merge(total, part, whole, values + roots);
      }
      const int64_t valueCount = reducer.valueCount(), indexCount = reducer.indexCount();
      for (int64_t i = 0; i < rows; i++) {
        const int64_t row = layer * g.kept + first + i;
        reducer.write(total, i, g.reduced, g.out + row * valueCount, g.index + row * indexCount);
      }
    }
  }
};
