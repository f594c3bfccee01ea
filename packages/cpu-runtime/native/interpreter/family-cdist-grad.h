// out[l,o,n,m] = sum_k c[l,o,k] a[l,k,m] phi(d[l,n,m] - b[l,n,k]): tiles along m, the factor of a step of k once for all o.

struct CdistGradFamily {
  static constexpr bool kTilesOfBlock = false;
  static constexpr int64_t kOutputs = 16;
  // Steps of k whose factors are added while a sum is in a register.
  static constexpr int64_t kSteps = 8;

  struct Args {
    alignas(8) const T *a, *b, *c, *d;
    alignas(8) T* out;
    int64_t m, n, o, k, batch, lda, ldb, ldc, ldd, ldo, strideO;
    int64_t batchA, batchB, batchC, batchD, batchOut;
    ParameterArgs p;
  };

  Machine factor;
  Uniforms uniforms;
  T *sums, *line, *weights, *factors;

  SELDOM void reserve(const View& view, Arena& arena) {
    uniforms.reserve(view, arena);
    factor.reserve(view, 1, 3, arena);
    sums = arena.tiles(kOutputs);
    line = arena.tiles(1);
    weights = arena.tiles(1);
    factors = arena.tiles(kSteps);
  }

  // sums[o] += sum of rows[o][k] factors[k]
  static void addSteps(T* sums, const T* rows, int64_t ldc, const T* factors, int64_t steps, int64_t height,
                       int64_t whole) {
    for (int64_t o = 0; o < height; o++) {
      for (int64_t i = 0; i < whole; i += STEP) {
        V r[UNROLL];
#pragma GCC unroll 4
        for (int64_t n = 0; n < UNROLL; n++) r[n] = get(sums + o * TILE + i + n * LANES);
        for (int64_t k = 0; k < steps; k++) {
          const V x = splat(rows[o * ldc + k]);
#pragma GCC unroll 4
          for (int64_t n = 0; n < UNROLL; n++) r[n] += x * get(factors + k * TILE + i + n * LANES);
        }
#pragma GCC unroll 4
        for (int64_t n = 0; n < UNROLL; n++) put(sums + o * TILE + i + n * LANES, r[n]);
      }
    }
  }

  SELDOM static Cut cut(const View&, const void* args, int64_t threads) {
    const Args& g = *(const Args*)args;
    const int64_t tasks = blocks_of(g.m, TILE) * g.n * blocks_of(g.o, kOutputs) * g.batch;
    const double values = (double)at_most(g.m, TILE) * (double)g.k * (double)at_most(g.o, kOutputs);
    return Cut{tasks, chunk_of(tasks, threads, values), 0, 0};
  }

  void run(const View& view, const void* args, int64_t, int64_t begin, int64_t end) {
    const Args& g = *(const Args*)args;
    factor.prepare(view, &uniforms, [](int32_t i) { return i == 2; });
    const int64_t across = blocks_of(g.m, TILE), outputs = blocks_of(g.o, kOutputs);
    for (int64_t task = begin; task < end; task++) {
      const int64_t m0 = task % across * TILE, n = task / across % g.n;
      const int64_t o0 = task / across / g.n % outputs * kOutputs, l = task / across / g.n / outputs;
      const int64_t width = at_most(g.m - m0, TILE), whole = whole_steps(width);
      const int64_t height = at_most(g.o - o0, kOutputs);
      const double p = g.p.of(l);
      uniforms.set(view, &p);
      const T* const points = g.b + l * g.batchB + n * g.ldb;
      const T* const rows = g.c + l * g.batchC + o0 * g.ldc;
      gather(line, g.d + l * g.batchD + n * g.ldd + m0, 1, width);
      factor.input(1, line);
      for (int64_t o = 0; o < height; o++) fill(sums + o * TILE, 0, whole);
      for (int64_t k = 0; k < g.k; k++) {
        const T* own = g.a + l * g.batchA + k * g.lda + m0;
        if (whole != width) {
          gather(weights, own, 1, width);
          own = weights;
        }
        const int64_t step = k % kSteps;
        factor.input(0, own);
        factor.input(2, points + k);
        factor.root(0) = factors + step * TILE;
        factor.run(whole);
        if (step == kSteps - 1 || k == g.k - 1) {
          addSteps(sums, rows + k - step, g.ldc, factors, step + 1, height, whole);
        }
      }
      for (int64_t o = 0; o < height; o++) {
        T* const to = g.out + l * g.batchOut + (o0 + o) * g.strideO + n * g.ldo + m0;
        for (int64_t i = 0; i < width; i++) to[i] = sums[o * TILE + i];
      }
    }
  }
};
