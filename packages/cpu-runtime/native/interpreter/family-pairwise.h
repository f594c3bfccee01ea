// out[l,m,n] = outer(reduce_k inner(a[l,m,k], b[l,n,k])). Points of one operand lie side by side in tiles, those of the other
// are one value for a tile.

// points[k][point], from a matrix whose points are `point` and steps of k `step` elements apart; 0 or the last behind the end.
static void packPoints(T* to, const T* from, int64_t point, int64_t step, int64_t points, int64_t depth,
                       bool repeat) {
  if (point == 1) {
    for (int64_t k = 0; k < depth; k++) {
      for (int64_t i = 0; i < points; i++) to[k * TILE + i] = from[k * step + i];
    }
  } else {
    for (int64_t i0 = 0; i0 < points; i0 += LANES) {
      const int64_t stop = at_most(i0 + LANES, points);
      for (int64_t k = 0; k < depth; k++) {
        for (int64_t i = i0; i < stop; i++) to[k * TILE + i] = from[i * point + k * step];
      }
    }
  }
  const int64_t end = whole_steps(points);
  for (int64_t k = 0; points < end && k < depth; k++) {
    T* line = to + k * TILE;
    for (int64_t i = points; i < end; i++) line[i] = repeat ? line[points - 1] : 0;
  }
}

// Adds `depth` steps of k to tiles of ROWS points in one go, so that sums stay in registers: for a code of one instruction, which
// covers the common distances.
typedef void (*AccumulateFn)(T* sums, const T* points, int64_t point, int64_t step, const T* packed,
                             int64_t depth, int64_t count);

template <class Operation, int ROWS>
static void accumulate(T* sums, const T* points, int64_t point, int64_t step, const T* packed,
                       int64_t depth, int64_t count) {
  for (int64_t i = 0; i < count; i += STEP) {
    V r[ROWS][UNROLL];
#pragma GCC unroll 2
    for (int m = 0; m < ROWS; m++) {
#pragma GCC unroll 4
      for (int n = 0; n < UNROLL; n++) r[m][n] = get(sums + m * TILE + i + n * LANES);
    }
    for (int64_t k = 0; k < depth; k++) {
      V y[UNROLL];
#pragma GCC unroll 4
      for (int n = 0; n < UNROLL; n++) y[n] = get(packed + k * TILE + i + n * LANES);
#pragma GCC unroll 2
      for (int m = 0; m < ROWS; m++) {
        const V x = splat(points[m * point + k * step]);
#pragma GCC unroll 4
        for (int n = 0; n < UNROLL; n++) r[m][n] = Operation::apply(x, y[n], r[m][n]);
      }
    }
#pragma GCC unroll 2
    for (int m = 0; m < ROWS; m++) {
#pragma GCC unroll 4
      for (int n = 0; n < UNROLL; n++) put(sums + m * TILE + i + n * LANES, r[m][n]);
    }
  }
}

struct Accumulation {
  // Steps of k whose packed values stay in the first-level cache for a group of points.
  static constexpr int64_t kSteps = 8;

  AccumulateFn one = nullptr, two = nullptr;

  // Of operations for which the order of the operands does not matter; none for other codes.
  static Accumulation of(const Code& code) {
    if (code.instructionCount != 1) return {};
    const Instruction& only = code.instructions[0];
    if (arityOf(only.operation) != 3) return {};
    const auto reads = [&](int32_t slot, int32_t input) {
      return code.slots[slot].kind == SlotKind::kInput && code.slots[slot].index == input;
    };
    const bool ordered = reads(only.a, 1) && reads(only.b, 2), turned = reads(only.a, 2) && reads(only.b, 1);
    if (!reads(only.c, 0) || (!ordered && !turned)) return {};
    switch (only.operation) {
      case Operation::k_multiplyAdd:
        return {accumulate<Op_multiplyAdd, 1>, accumulate<Op_multiplyAdd, 2>};
      case Operation::k_addAbsoluteDifference:
        return {accumulate<Op_addAbsoluteDifference, 1>, accumulate<Op_addAbsoluteDifference, 2>};
      case Operation::k_addSquaredDifference:
        return {accumulate<Op_addSquaredDifference, 1>, accumulate<Op_addSquaredDifference, 2>};
      case Operation::k_maxAbsoluteDifference:
        return {accumulate<Op_maxAbsoluteDifference, 1>, accumulate<Op_maxAbsoluteDifference, 2>};
      case Operation::k_addPower3:
        return {accumulate<Op_addPower3, 1>, accumulate<Op_addPower3, 2>};
      case Operation::k_addPower4:
        return {accumulate<Op_addPower4, 1>, accumulate<Op_addPower4, 2>};
      case Operation::k_addPower5:
        return {accumulate<Op_addPower5, 1>, accumulate<Op_addPower5, 2>};
      case Operation::k_addPower6:
        return {accumulate<Op_addPower6, 1>, accumulate<Op_addPower6, 2>};
      case Operation::k_addPower7:
        return {accumulate<Op_addPower7, 1>, accumulate<Op_addPower7, 2>};
      case Operation::k_addPower8:
        return {accumulate<Op_addPower8, 1>, accumulate<Op_addPower8, 2>};
      default:
        return {};
    }
  }

  void run(T* sums, int64_t members, const T* points, int64_t point, int64_t step, const T* packed,
           int64_t depth, int64_t count) const {
    for (int64_t k = 0; k < depth; k += kSteps) {
      const int64_t steps = at_most(depth - k, kSteps);
      for (int64_t i = 0; i < members; i += 2) {
        (i + 1 < members ? two : one)(sums + i * TILE, points + i * point + k * step, point, step,
                                      packed + k * TILE, steps, count);
      }
    }
  }
};

// A value that is a number or lies in memory, one for each batch entry.
struct ParameterArgs {
  alignas(8) const T* at;
  int64_t stride;
  double value;
  double of(int64_t layer) const { return at == nullptr ? value : (double)at[layer * stride]; }
};

struct PairwiseFamily {
  static constexpr bool kTilesOfBlock = false;
  static constexpr int64_t kDepth = 128;
  static constexpr int64_t kRows = 64;
  static constexpr int64_t kGroup = 8;

  struct Args {
    alignas(8) const T *a, *b;
    alignas(8) T* out;
    int64_t m, n, k, batch, lda, ldb, ldo, batchA, batchB, batchOut;
    double p;
    const ParameterArgs* parameters() const { return (const ParameterArgs*)(this + 1); }
  };

  Machine inner, outer;
  Uniforms uniforms;
  double* numbers;
  T *packed, *sums, *group;

  SELDOM void reserve(const View& view, Arena& arena) {
    uniforms.reserve(view, arena);
    numbers = arena.take<double>(1 + view.settings[5]);
    inner.reserve(view, 1, 3, arena);
    outer.reserve(view, 2, 1, arena);
    packed = arena.tiles(kDepth);
    sums = arena.tiles(kRows);
    group = arena.tiles(kGroup);
  }

  // Tiles run over m where n would fill less of them. A symmetric output is cut the same way along both axes.
  static bool swapped(const Args& g) { return g.n < 2 * STEP && g.m > g.n; }

  SELDOM static Cut cut(const View&, const void* args, int64_t threads) {
    const Args& g = *(const Args*)args;
    const int64_t rows = swapped(g) ? g.n : g.m, columns = swapped(g) ? g.m : g.n;
    int64_t block = kRows;
    const auto tasksOf = [&] { return blocks_of(rows, block) * blocks_of(columns, TILE) * g.batch; };
    while (block > kGroup && tasksOf() < 4 * threads) block /= 2;
    const double values = (double)block * TILE * (double)(g.k + 1);
    return Cut{tasksOf(), chunk_of(tasksOf(), threads, values), block, 0};
  }

  void run(const View& view, const void* args, int64_t block, int64_t begin, int64_t end) {
    const int32_t* s = view.settings;
    const Args& g = *(const Args*)args;
    const bool swap = swapped(g), symmetric = s[4] == 1;
    const int64_t rows = swap ? g.n : g.m, columns = swap ? g.m : g.n;
    const int rowInput = swap ? 2 : 1, columnInput = swap ? 1 : 2;
    const T *rowData = swap ? g.b : g.a, *columnData = swap ? g.a : g.b;
    const int64_t rowLd = swap ? g.ldb : g.lda, columnLd = swap ? g.lda : g.ldb;
    const int64_t rowBatch = swap ? g.batchB : g.batchA, columnBatch = swap ? g.batchA : g.batchB;
    const bool rowMajor = s[swap ? 1 : 0] == 0, columnMajor = s[swap ? 0 : 1] == 0;
    const int64_t rowPoint = rowMajor ? rowLd : 1, rowStep = rowMajor ? 1 : rowLd;
    const int64_t columnPoint = columnMajor ? columnLd : 1, columnStep = columnMajor ? 1 : columnLd;
    const bool alongN = (s[2] == 0) != swap;  // whether elements of a tile lie side by side in the output
    const int64_t outRow = alongN ? g.ldo : 1, outColumn = alongN ? 1 : g.ldo;
    const T start = s[3] == 1 ? -(T)__builtin_inf() : (T)0;
    const int64_t rowBlocks = blocks_of(rows, block), columnBlocks = blocks_of(columns, TILE);
    inner.prepare(view, &uniforms, [=](int32_t i) { return i == rowInput; });
    outer.prepare(view, &uniforms, [](int32_t) { return false; });
    T* const ownRoot = outer.root(0);
    const Accumulation whenOne = Accumulation::of(view.codes[1]);
    int64_t known = -1;
    for (int64_t task = begin; task < end; task++) {
      const int64_t place = task / rowBlocks, l = place / columnBlocks;
      const int64_t r0 = task % rowBlocks * block, c0 = place % columnBlocks * TILE;
      const int64_t height = at_most(rows - r0, block), width = at_most(columns - c0, TILE);
      if (symmetric && r0 + height <= c0) continue;
      if (l != known) setUniforms(view, g, l);
      known = l;
      const int64_t whole = whole_steps(width);
      if (g.k == 0) fill(sums, 0, height * TILE);
      for (int64_t k0 = 0; k0 < g.k; k0 += kDepth) {
        const int64_t depth = at_most(g.k - k0, kDepth);
        packPoints(packed, columnData + l * columnBatch + c0 * columnPoint + k0 * columnStep, columnPoint,
                   columnStep, width, depth, false);
        const T* points = rowData + l * rowBatch + r0 * rowPoint + k0 * rowStep;
        for (int64_t r = 0; r < height; r += kGroup) {
          const int64_t members = at_most(height - r, kGroup);
          T* const to = k0 == 0 ? sums + r * TILE : group;
          for (int64_t i = 0; i < members; i++) fill(to + i * TILE, start, whole);
          if (whenOne.one != nullptr) {
            whenOne.run(to, members, points + r * rowPoint, rowPoint, rowStep, packed, depth, whole);
          }
          for (int64_t k = 0; whenOne.one == nullptr && k < depth; k++) {
            inner.input(columnInput, packed + k * TILE);
            for (int64_t i = 0; i < members; i++) {
              inner.input(rowInput, points + (r + i) * rowPoint + k * rowStep);
              inner.input(0, to + i * TILE);
              inner.root(0) = to + i * TILE;
              inner.run(whole);
            }
          }
          if (k0 == 0) continue;
          for (int64_t i = 0; i < members; i++) {
            T* const sum = sums + (r + i) * TILE;
            for (int64_t c = 0; c < whole; c += LANES) {
              const V x = get(sum + c), y = get(group + i * TILE + c);
              put(sum + c, s[3] == 0 ? x + y : max_v(x, y));
            }
          }
        }
      }
      T* const out = g.out + l * g.batchOut;
      for (int64_t r = 0; r < height; r++) {
        T* const to = out + (r0 + r) * outRow + c0 * outColumn;
        T* const sum = sums + r * TILE;
        outer.input(0, sum);
        // straight to the output where whole vectors fit
        const bool direct = !symmetric && outColumn == 1 && whole == width;
        outer.root(0) = direct ? to : outColumn == 1 ? ownRoot : sum;
        outer.run(whole);
        if (direct || outColumn != 1) continue;
        const int64_t stop = symmetric ? at_most(r0 + r - c0 + 1, width) : width;
        for (int64_t c = 0; c < stop; c++) to[c] = outer.root(0)[c];
        for (int64_t c = 0; symmetric && c < stop; c++) out[(c0 + c) * g.ldo + r0 + r] = outer.root(0)[c];
      }
      if (outColumn == 1) continue;
      for (int64_t c = 0; c < width; c++) {
        for (int64_t r = symmetric && c0 + c > r0 ? c0 + c - r0 : 0; r < height; r++) {
          const T value = sums[r * TILE + c];
          out[(r0 + r) * outRow + (c0 + c) * outColumn] = value;
          if (symmetric) out[(c0 + c) * outRow + (r0 + r) * outColumn] = value;
        }
      }
    }
  }

  void setUniforms(const View& view, const Args& g, int64_t layer) const {
    numbers[0] = g.p;
    for (int32_t i = 0; i < view.settings[5]; i++) numbers[1 + i] = g.parameters()[i].of(layer);
    uniforms.set(view, numbers);
  }
};
