// Gradients of the pairwise family: s of all pairs of a tile, what depends on s and on the upstream gradient, then the sums over
// tiles (of rows) or over tiles and k (of parameters).

// The sum of `count` values, always in the same order.
static double sumTile(const T* from, int64_t count) {
  double lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int64_t n = 0; n < 8; n++) lanes[n] += (double)from[i + n];
  }
  for (; i < count; i++) lanes[0] += (double)from[i];
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

// The sum of what `value` gives for vectors of `count` columns, in the data type, which is as good for a tile and faster.
template <class Value>
INLINE T sum_vectors(int64_t count, const Value& value) {
  V sums[4] = {splat(0), splat(0), splat(0), splat(0)};
  int64_t i = 0;
  for (; i + 4 * LANES <= count; i += 4 * LANES) {
#pragma GCC unroll 4
    for (int64_t n = 0; n < 4; n++) sums[n] += value(i + n * LANES);
  }
  for (; i + LANES <= count; i += LANES) sums[0] += value(i);
  const V sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  T total = 0;
  for (int64_t n = 0; n < LANES; n++) total += sum[n];
  if (i == count) return total;
  const V last = value(i);
  for (int64_t n = 0; i + n < count; n++) total += last[n];
  return total;
}

static T sumLanes(const T* from, int64_t count) {
  return sum_vectors(count, [from](int64_t i) { return get(from + i); });
}

// Sums of terms that are one instruction of a weight, a value of the row and values of the columns: the terms stay in registers.
typedef T (*TermSumFn)(const T* weights, T own, const T* columns, int64_t count);

template <class Operation>
static T sumTerms(const T* weights, T own, const T* columns, int64_t count) {
  const V x = splat(own);
  return sum_vectors(count, [=](int64_t i) { return Operation::apply(get(weights + i), x, get(columns + i)); });
}

// Null for other codes.
static TermSumFn termSumOf(const Code& code) {
  if (code.instructionCount != 1 || code.rootCount != 1) return nullptr;
  const Instruction& only = code.instructions[0];
  if (arityOf(only.operation) != 3) return nullptr;
  const auto reads = [&](int32_t slot, int32_t input) {
    return code.slots[slot].kind == SlotKind::kInput && code.slots[slot].index == input;
  };
  if (!reads(only.a, 2) || !reads(only.b, 0) || !reads(only.c, 1)) return nullptr;
  switch (only.operation) {
    case Operation::k_scaledDifference:
      return sumTerms<Op_scaledDifference>;
    case Operation::k_scaledSign:
      return sumTerms<Op_scaledSign>;
    default:
      return nullptr;
  }
}

struct GradientFamily {
  static constexpr bool kTilesOfBlock = false;
  static constexpr int64_t kDepth = 64;
  static constexpr int64_t kMostRows = 32;

  struct Args {
    const T *a, *b, *gradient;
    void* out;
    int64_t m, n, k, batch, rowA, stepA, rowB, stepB, rowG, columnG, batchA, batchB, batchG;
    int64_t parts, blockRows;
    double p;
    const ParameterArgs* parameters() const { return (const ParameterArgs*)(this + 1); }
  };

  Machine inner, pairs, terms;
  Uniforms uniforms;
  double *numbers, *total;
  T *packed, *sums, *places, *weights, *upstream, *accumulated;

  void reserve(const View& view, Arena& arena) {
    const int32_t* s = view.settings;
    const int64_t termCount = view.codes[3].rootCount;
    uniforms.reserve(view, arena);
    numbers = arena.take<double>(1 + s[5]);
    total = arena.take<double>(s[4]);
    inner.reserve(view, 1, 3, arena);
    pairs.reserve(view, 2, 2, arena);
    terms.reserve(view, 3, 2 + s[3], arena);
    packed = arena.tiles(kDepth);
    sums = arena.tiles(kMostRows);
    places = arena.tiles(s[1] == 1 ? kMostRows : 0);
    weights = arena.tiles(kMostRows * s[3]);
    upstream = arena.tiles(1);
    accumulated = arena.tiles(termCount);
  }

  static Cut cut(const View&, const void* args, int64_t) {
    const Args& g = *(const Args*)args;
    if (g.blockRows < 1 || g.blockRows > kMostRows || g.parts < 1) return Cut{-1, 1, 0, 0};
    return Cut{blocks_of(g.m, g.blockRows) * g.parts * g.batch, 1, 0, 0};
  }

  // The first k that attains a maximum, NaN counting as the largest.
  void keepLargest(T* best, T* place, const T* value, int64_t k, int64_t whole) const {
    for (int64_t i = 0; i < whole; i += LANES) {
      const V x = get(value + i), old = get(best + i);
      const I more = ((I)(x > old) | (I)(x != x)) & (I)(old == old);
      put(best + i, more ? x : old);
      put(place + i, (V)(more ? Reducer::number(k) : (I)get(place + i)));
    }
  }

  void onlyWhere(T* value, const T* place, int64_t k, int64_t whole) const {
    for (int64_t i = 0; i < whole; i += LANES) {
      put(value + i, (I)get(place + i) == Reducer::number(k) ? get(value + i) : splat(0));
    }
  }

  void run(const View& view, const void* args, int64_t, int64_t begin, int64_t end) {
    const int32_t* s = view.settings;
    const Args& g = *(const Args*)args;
    const bool ofRows = s[0] == 0, max = s[1] == 1, readsSum = s[2] == 1, symmetric = s[6] == 1;
    const int64_t pairCount = s[3], sumCount = s[4], termCount = view.codes[3].rootCount;
    const int64_t masked = s[7] == 1 ? *(const int64_t*)(g.parameters() + s[5]) : 0;
    const T lowest = -(T)__builtin_inf();
    inner.prepare(view, &uniforms, [](int32_t i) { return i == 1; });
    pairs.prepare(view, &uniforms, [](int32_t) { return false; });
    terms.prepare(view, &uniforms, [](int32_t i) { return i == 0; });
    const Accumulation whenOne = max ? Accumulation{} : Accumulation::of(view.codes[1]);
    const int64_t rowBlocks = blocks_of(g.m, g.blockRows), perPart = blocks_of(g.n, g.parts);
    for (int64_t task = begin; task < end; task++) {
      const int64_t r0 = task % rowBlocks * g.blockRows, part = task / rowBlocks % g.parts;
      const int64_t l = task / rowBlocks / g.parts, height = at_most(g.m - r0, g.blockRows);
      const T *a = g.a + l * g.batchA + r0 * g.rowA, *b = g.b + l * g.batchB;
      const T* gradient = g.gradient + l * g.batchG;
      const auto upstreamAt = [&](int64_t row, int64_t column) {
        const bool counts = s[7] == 0 || column != row + masked;
        return counts ? gradient[row * g.rowG + column * g.columnG] : (T)0;
      };
      numbers[0] = g.p;
      for (int32_t i = 0; i < s[5]; i++) numbers[1 + i] = g.parameters()[i].of(l);
      uniforms.set(view, numbers);
      T* const rows = (T*)g.out + ((part * g.batch + l) * g.m + r0) * g.k;
      for (int64_t i = 0; ofRows && i < height * g.k; i++) rows[i] = 0;
      for (int64_t j = 0; j < sumCount; j++) total[j] = 0;
      const int64_t last = at_most((part + 1) * perPart, g.n);
      for (int64_t n0 = part * perPart; n0 < last; n0 += TILE) {
        const int64_t width = at_most(last - n0, TILE), whole = whole_steps(width);
        int64_t known = -1;
        const auto pack = [&](int64_t k0, int64_t depth) {
          if (known != k0) packPoints(packed, b + n0 * g.rowB + k0 * g.stepB, g.rowB, g.stepB, width, depth, true);
          known = k0;
        };
        for (int64_t r = 0; r < height; r++) {
          fill(sums + r * TILE, max && g.k > 0 ? lowest : 0, whole);
          if (max) fill(places + r * TILE, 0, whole);
        }
        for (int64_t k0 = 0; readsSum && k0 < g.k; k0 += kDepth) {
          const int64_t depth = at_most(g.k - k0, kDepth);
          pack(k0, depth);
          if (whenOne.one != nullptr) {
            whenOne.run(sums, height, a + k0 * g.stepA, g.rowA, g.stepA, packed, depth, whole);
          }
          for (int64_t k = 0; whenOne.one == nullptr && k < depth; k++) {
            inner.input(2, packed + k * TILE);
            for (int64_t r = 0; r < height; r++) {
              T* const sum = sums + r * TILE;
              inner.input(1, a + r * g.rowA + (k0 + k) * g.stepA);
              inner.input(0, sum);
              if (!max) inner.root(0) = sum;
              inner.run(whole);
              if (max) keepLargest(sum, places + r * TILE, inner.root(0), k0 + k, whole);
            }
          }
        }
        for (int64_t r = 0; r < height; r++) {
          for (int64_t c = 0; c < width; c++) {
            upstream[c] = upstreamAt(r0 + r, n0 + c) + (symmetric ? upstreamAt(n0 + c, r0 + r) : 0);
          }
          for (int64_t c = width; c < whole; c++) upstream[c] = 0;
          pairs.input(0, upstream);
          pairs.input(1, sums + r * TILE);
          for (int64_t q = 0; q < pairCount; q++) pairs.root(q) = weights + (r * pairCount + q) * TILE;
          pairs.run(whole);
          int64_t value = pairCount;
          for (int64_t j = 0; j < sumCount; j++) {
            if (s[8 + j] & 1) total[j] += sumTile(pairs.root(value++), width);
          }
        }
        if (termCount == 0) continue;
        if (ofRows) sumRows(s, g, a, rows, height, width, whole, max, pack);
        else sumParameters(s, g, a, height, width, whole, max, pack);
      }
      const int64_t blocks = rowBlocks * g.parts, place = part * rowBlocks + task % rowBlocks;
      for (int64_t j = 0; !ofRows && j < sumCount; j++) {
        ((double*)g.out)[(j * g.batch + l) * blocks + place] = total[j];
      }
    }
  }

  template <class Pack>
  void sumRows(const int32_t* s, const Args& g, const T* a, T* rows, int64_t height, int64_t width, int64_t whole,
               bool max, const Pack& pack) const {
    const int64_t pairCount = s[3];
    const TermSumFn whenOne = max ? nullptr : termSumOf(*terms.code);
    for (int64_t k0 = 0; k0 < g.k; k0 += kDepth) {
      const int64_t depth = at_most(g.k - k0, kDepth);
      pack(k0, depth);
      for (int64_t k = 0; k < depth; k++) {
        for (int64_t r = 0; whenOne != nullptr && r < height; r++) {
          const T own = a[r * g.rowA + (k0 + k) * g.stepA];
          rows[r * g.k + k0 + k] += whenOne(weights + r * pairCount * TILE, own, packed + k * TILE, width);
        }
        if (whenOne != nullptr) continue;
        terms.input(1, packed + k * TILE);
        for (int64_t r = 0; r < height; r++) {
          terms.input(0, a + r * g.rowA + (k0 + k) * g.stepA);
          for (int64_t q = 0; q < pairCount; q++) terms.input(2 + q, weights + (r * pairCount + q) * TILE);
          terms.run(whole);
          if (max) onlyWhere(terms.root(0), places + r * TILE, k0 + k, whole);
          rows[r * g.k + k0 + k] += sumLanes(terms.root(0), width);
        }
      }
    }
  }

  template <class Pack>
  void sumParameters(const int32_t* s, const Args& g, const T* a, int64_t height, int64_t width, int64_t whole,
                     bool max, const Pack& pack) const {
    const int64_t pairCount = s[3], termCount = terms.code->rootCount;
    for (int64_t k0 = 0; k0 < g.k; k0 += kDepth) {
      const int64_t depth = at_most(g.k - k0, kDepth);
      pack(k0, depth);
      for (int64_t r = 0; r < height; r++) {
        fill(accumulated, 0, termCount * TILE);
        for (int64_t q = 0; q < pairCount; q++) terms.input(2 + q, weights + (r * pairCount + q) * TILE);
        for (int64_t k = 0; k < depth; k++) {
          terms.input(1, packed + k * TILE);
          terms.input(0, a + r * g.rowA + (k0 + k) * g.stepA);
          terms.run(whole);
          for (int64_t t = 0; t < termCount; t++) {
            if (max) onlyWhere(terms.root(t), places + r * TILE, k0 + k, whole);
            T* const sum = accumulated + t * TILE;
            for (int64_t i = 0; i < whole; i += LANES) put(sum + i, get(sum + i) + get(terms.root(t) + i));
          }
        }
        int64_t t = 0;
        for (int64_t j = 0; j < s[4]; j++) {
          if (s[8 + j] & 2) total[j] += sumTile(accumulated + t++ * TILE, width);
        }
      }
    }
  }
};
