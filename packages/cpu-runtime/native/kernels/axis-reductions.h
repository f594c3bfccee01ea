// Reductions over an axis of elements that lie at even strides.

// Outputs of one task, and accumulators of one output that are added to in turn.
constexpr int64_t kReduceSpan = 256, kReduceLanes = 8;

// Sums and products are taken in double and rounded once.
struct SumOf {
  using Accumulator = double;
  static Accumulator none() { return 0; }
  template <class T>
  static void add(Accumulator& a, T value, int64_t) { a += (double)value; }
  static void merge(Accumulator& a, const Accumulator& b) { a += b; }
  static double result(const Accumulator& a, double divisor) { return a / divisor; }
};

struct ProductOf {
  using Accumulator = double;
  static Accumulator none() { return 1; }
  template <class T>
  static void add(Accumulator& a, T value, int64_t) { a *= (double)value; }
  static void merge(Accumulator& a, const Accumulator& b) { a *= b; }
  static double result(const Accumulator& a, double) { return a; }
};

// NaN where one is. Every value is exact in double.
template <bool kLeast>
struct ExtremeOf {
  using Accumulator = double;
  static Accumulator none() { return kLeast ? __builtin_inf() : -__builtin_inf(); }
  template <class T>
  static void add(Accumulator& a, T value, int64_t) { merge(a, (double)value); }
  static void merge(Accumulator& a, const Accumulator& b) { a = (kLeast ? b < a : b > a) || b != b ? b : a; }
  static double result(const Accumulator& a, double) { return a; }
};

// The first place of the extreme, or of NaN where one is; -1 of no elements.
template <bool kLeast>
struct PlaceOf {
  struct Accumulator {
    double best;
    int64_t place;
  };
  static Accumulator none() { return {0, -1}; }
  template <class T>
  static void add(Accumulator& a, T value, int64_t place) { merge(a, {(double)value, place}); }
  static void merge(Accumulator& a, const Accumulator& b) {
    if (b.place < 0) return;
    const bool isNaN = b.best != b.best, wasNaN = a.best != a.best, first = b.place < a.place;
    const bool before = kLeast ? b.best < a.best : b.best > a.best;
    const bool better = isNaN ? !wasNaN || first : !wasNaN && (before || (b.best == a.best && first));
    if (a.place < 0 || better) a = b;
  }
  static int64_t result(const Accumulator& a, double) { return a.place; }
};

// NaN is true.
template <bool kEvery>
struct TruthOf {
  using Accumulator = bool;
  static Accumulator none() { return kEvery; }
  template <class T>
  static void add(Accumulator& a, T value, int64_t) { merge(a, value != (T)0); }
  static void merge(Accumulator& a, const Accumulator& b) { a = kEvery ? a & b : a | b; }
  static uint8_t result(const Accumulator& a, double) { return a; }
};

template <class K, class S, class D>
static void reduceOf(const ReduceArgs& p, int64_t begin, int64_t end) {
  using A = typename K::Accumulator;
  const int64_t spans = (p.inner + kReduceSpan - 1) / kReduceSpan;
  for (int64_t task = begin; task < end; ++task) {
    const int64_t row = task / spans, first = task % spans * kReduceSpan, width = least(kReduceSpan, p.inner - first);
    const int64_t o = row / p.parts, from = (row - o * p.parts) * p.perPart, to = least(from + p.perPart, p.count);
    const S* const source = (const S*)p.src + o * p.strideOuter + first * p.strideInner;
    D* const target = (D*)p.dst + row * p.inner + first;
    if (p.inner == 1) {
      A lanes[kReduceLanes];
      for (int64_t l = 0; l < kReduceLanes; ++l) lanes[l] = K::none();
      int64_t j = from;
      for (; j + kReduceLanes <= to; j += kReduceLanes)
        for (int64_t l = 0; l < kReduceLanes; ++l) K::add(lanes[l], source[(j + l) * p.strideCount], j + l);
      for (; j < to; ++j) K::add(lanes[0], source[j * p.strideCount], j);
      for (int64_t l = 1; l < kReduceLanes; ++l) K::merge(lanes[0], lanes[l]);
      *target = (D)K::result(lanes[0], p.divisor);
      continue;
    }
    A span[kReduceSpan];
    for (int64_t i = 0; i < width; ++i) span[i] = K::none();
    for (int64_t j = from; j < to; ++j) {
      const S* const line = source + j * p.strideCount;
      for (int64_t i = 0; i < width; ++i) K::add(span[i], line[i * p.strideInner], j);
    }
    for (int64_t i = 0; i < width; ++i) target[i] = (D)K::result(span[i], p.divisor);
  }
}

template <class K, class D>
static void reduceFrom(const ReduceArgs& p, int64_t begin, int64_t end) {
  p.from64 != 0 ? reduceOf<K, double, D>(p, begin, end) : reduceOf<K, float, D>(p, begin, end);
}

template <class K>
static void reduceValues(const ReduceArgs& p, int64_t begin, int64_t end) {
  p.to64 != 0 ? reduceFrom<K, double>(p, begin, end) : reduceFrom<K, float>(p, begin, end);
}

static void reduce(const void* args, int64_t begin, int64_t end, void*) {
  const ReduceArgs& p = *(const ReduceArgs*)args;
  switch (p.kind) {
    case 0: return reduceValues<SumOf>(p, begin, end);
    case 1: return reduceValues<ProductOf>(p, begin, end);
    case 2: return reduceValues<ExtremeOf<true>>(p, begin, end);
    case 3: return reduceValues<ExtremeOf<false>>(p, begin, end);
    case 4: return reduceFrom<PlaceOf<true>, int64_t>(p, begin, end);
    case 5: return reduceFrom<PlaceOf<false>, int64_t>(p, begin, end);
    case 6: return reduceFrom<TruthOf<false>, uint8_t>(p, begin, end);
    default: return reduceFrom<TruthOf<true>, uint8_t>(p, begin, end);
  }
}
