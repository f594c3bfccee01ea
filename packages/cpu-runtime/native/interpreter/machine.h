// Included once for each data type of each level. Runs codes on tiles: every instruction is one call for TILE values at most.
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

// Instructions that add to one value, which stays in registers. All read a and b as SCALARS says.
typedef void (*ChainFn)(const Step* steps, int64_t length, T* const* at, int64_t count);

template <class Operation, int SCALARS>
static void chain(const Step* steps, int64_t length, T* const* at, int64_t count) {
  T* const to = at[steps[length - 1].to];
  const T* const from = at[steps[0].c];
  for (int64_t i = 0; i < count; i += STEP) {
    V r[UNROLL];
#pragma GCC unroll 4
    for (int64_t n = 0; n < UNROLL; n++) r[n] = get(from + i + n * LANES);
    for (int64_t k = 0; k < length; k++) {
      const T *const a = at[steps[k].a], *const b = at[steps[k].b];
      V x = splat(*a), y = splat(*b);
#pragma GCC unroll 4
      for (int64_t n = 0; n < UNROLL; n++) {
        if constexpr (!(SCALARS & 1)) x = get(a + i + n * LANES);
        if constexpr (!(SCALARS & 2)) y = get(b + i + n * LANES);
        r[n] = Operation::apply(x, y, r[n]);
      }
    }
#pragma GCC unroll 4
    for (int64_t n = 0; n < UNROLL; n++) put(to + i + n * LANES, r[n]);
  }
}

// The same for codes of several reduced rows at once, which share the tiles that they read and have values of their own.
constexpr int ROWS_AT_ONCE = sizeof(V) == 64 ? 4 : 2;
typedef void (*ChainRowsFn)(const Step* steps, int64_t length, T* const* const* at, int64_t count);

// SCALARS is 1 or 2: one operand is a tile.
template <class Operation, int SCALARS>
static void chain_rows(const Step* steps, int64_t length, T* const* const* at, int64_t count) {
  for (int64_t i = 0; i < count; i += STEP) {
    V r[ROWS_AT_ONCE][UNROLL];
#pragma GCC unroll 4
    for (int m = 0; m < ROWS_AT_ONCE; m++) {
#pragma GCC unroll 4
      for (int n = 0; n < UNROLL; n++) r[m][n] = get(at[m][steps[0].c] + i + n * LANES);
    }
    for (int64_t k = 0; k < length; k++) {
      const int32_t tile = SCALARS == 1 ? steps[k].b : steps[k].a, scalar = SCALARS == 1 ? steps[k].a : steps[k].b;
      V x[UNROLL];
#pragma GCC unroll 4
      for (int n = 0; n < UNROLL; n++) x[n] = get(at[0][tile] + i + n * LANES);
#pragma GCC unroll 4
      for (int m = 0; m < ROWS_AT_ONCE; m++) {
        const V y = splat(*at[m][scalar]);
#pragma GCC unroll 4
        for (int n = 0; n < UNROLL; n++) {
          r[m][n] = SCALARS == 1 ? Operation::apply(y, x[n], r[m][n]) : Operation::apply(x[n], y, r[m][n]);
        }
      }
    }
#pragma GCC unroll 4
    for (int m = 0; m < ROWS_AT_ONCE; m++) {
#pragma GCC unroll 4
      for (int n = 0; n < UNROLL; n++) put(at[m][steps[length - 1].to] + i + n * LANES, r[m][n]);
    }
  }
}

static ChainRowsFn chain_rows_of(Operation operation, int mask) {
  if (mask != 1 && mask != 2) return nullptr;
  switch (operation) {
    case Operation::k_multiplyAdd:
      return mask == 1 ? chain_rows<Op_multiplyAdd, 1> : chain_rows<Op_multiplyAdd, 2>;
    case Operation::k_addAbsoluteDifference:
      return mask == 1 ? chain_rows<Op_addAbsoluteDifference, 1> : chain_rows<Op_addAbsoluteDifference, 2>;
    case Operation::k_addSquaredDifference:
      return mask == 1 ? chain_rows<Op_addSquaredDifference, 1> : chain_rows<Op_addSquaredDifference, 2>;
    default:
      return nullptr;
  }
}

// Null for what is no chain.
static ChainFn chain_of(Operation operation, int mask) {
#define MERCER_CHAIN(name)                      \
  case Operation::k_##name:                     \
    return mask == 0 ? chain<Op_##name, 0>      \
           : mask == 1 ? chain<Op_##name, 1>    \
           : mask == 2 ? chain<Op_##name, 2>    \
                       : (ChainFn) nullptr;
  switch (operation) {
    MERCER_CHAIN(multiplyAdd)
    MERCER_CHAIN(addAbsoluteDifference)
    MERCER_CHAIN(addSquaredDifference)
    default:
      return nullptr;
  }
#undef MERCER_CHAIN
}

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

// Hands out scratch memory; without memory it only counts.
struct Arena {
  uint8_t* memory;
  int64_t tile = TILE;  // values from one tile to the next
  size_t used = 0;

  template <class Item>
  Item* take(int64_t count) {
    Item* piece = memory == nullptr ? nullptr : (Item*)(memory + used);
    used += ((size_t)count * sizeof(Item) + 63) / 64 * 64;
    return piece;
  }
  T* tiles(int64_t count) { return take<T>(count * tile); }
};

// Values that are the same for all elements, rounded, each with what rounding it lost.
struct Uniforms {
  double* wide = nullptr;
  T* values = nullptr;
  int64_t count = 0;

  void reserve(const View& view, Arena& arena) {
    count = view.codes[0].rootCount;
    wide = arena.take<double>(count);
    values = arena.take<T>(2 * count);
  }
  void set(const View& view, const double* inputs) const {
    evaluateUniforms(view, inputs, wide);
    for (int64_t i = 0; i < count; i++) {
      values[2 * i] = (T)wide[i];
      values[2 * i + 1] = (T)(wide[i] - (double)values[2 * i]);
    }
  }
};

// A code made ready to run: `at` has the address of every slot, `steps` the function of every instruction.
struct Machine {
  Step* steps;
  // Consecutive steps: one by one, or a chain.
  struct Run {
    ChainFn chain;
    ChainRowsFn rows;  // where the tiles that it reads are inputs
    int64_t first, length;
  };
  Run* runs;
  int64_t runCount;
  T** at;
  int64_t count;
  const Code* code;
  int32_t* inputSlots;  // by input, -1 where the code does not read it
  int64_t inputs;

  // `scalars[i]`: input i is one value for a tile; elsewhere it is a tile.
  void reserve(const View& view, int32_t number, int64_t inputCount, Arena& arena) {
    code = &view.codes[number];
    count = code->instructionCount;
    inputs = inputCount;
    steps = arena.take<Step>(count);
    runs = arena.take<Run>(count);
    at = arena.take<T*>(code->slotCount);
    inputSlots = arena.take<int32_t>(inputs);
    constants_ = arena.take<T>(code->slotCount);
    registers_ = arena.tiles(code->registers);
    tile_ = arena.tile;
  }

  template <class IsScalar>
  void prepare(const View& view, const Uniforms* uniforms, const IsScalar& isScalar) {
    for (int64_t i = 0; i < inputs; i++) inputSlots[i] = -1;
    for (int32_t s = 0; s < code->slotCount; s++) {
      const Slot& slot = code->slots[s];
      switch (slot.kind) {
        case SlotKind::kConstant:
          constants_[s] = (T)view.constants[slot.index];
          at[s] = constants_ + s;
          break;
        case SlotKind::kUniform:
          at[s] = uniforms->values + 2 * slot.index;
          break;
        case SlotKind::kUniformLow:
          at[s] = uniforms->values + 2 * slot.index + 1;
          break;
        case SlotKind::kInput:
          at[s] = nullptr;
          inputSlots[slot.index] = s;
          break;
        case SlotKind::kTable:
          at[s] = (T*)(void*)(view.constants + slot.index);
          break;
        case SlotKind::kRegister:
          at[s] = registers_ + slot.index * tile_;
          break;
      }
    }
    const auto scalar = [&](int32_t s) {
      const Slot& slot = code->slots[s];
      return slot.kind == SlotKind::kRegister ? false
             : slot.kind == SlotKind::kInput ? (bool)isScalar(slot.index) : true;
    };
    runCount = 0;
    const auto mask_of = [&](const Instruction& one) {
      const int32_t arity = arityOf(one.operation);
      return (scalar(one.a) ? 1 : 0) | (arity > 1 && scalar(one.b) ? 2 : 0) | (arity > 2 && scalar(one.c) ? 4 : 0);
    };
    for (int64_t i = 0; i < count; i++) {
      const Instruction& one = code->instructions[i];
      const int32_t operation = (int32_t)one.operation, arity = arityOf(one.operation);
      const int32_t b = arity > 1 ? one.b : one.a, c = arity > 2 ? one.c : one.a;
      steps[i] = Step{STEPS[operation][mask_of(one)], one.to, one.a, b, c};
      if (code->chains[i] > 0) addRuns(i, code->chains[i], mask_of);
    }
  }

  INLINE_METHOD void input(int64_t i, const T* from) const {
    if (inputSlots[i] >= 0) at[inputSlots[i]] = (T*)from;
  }
  T*& root(int64_t i) const { return at[code->roots[i]]; }

  // `number` values, a multiple of STEP.
  INLINE_METHOD void run(int64_t number) const {
    for (int64_t r = 0; r < runCount; r++) runOne(runs[r], number);
  }

  // ROWS_AT_ONCE machines of one code, which have the same tiles as inputs.
  static void runRows(const Machine* machines, int64_t number) {
    T* const* tables[ROWS_AT_ONCE];
    for (int m = 0; m < ROWS_AT_ONCE; m++) tables[m] = machines[m].at;
    for (int64_t r = 0; r < machines[0].runCount; r++) {
      const Run& one = machines[0].runs[r];
      if (one.rows != nullptr) {
        one.rows(machines[0].steps + one.first, one.length, tables, number);
        continue;
      }
      for (int m = 0; m < ROWS_AT_ONCE; m++) machines[m].runOne(machines[m].runs[r], number);
    }
  }

  int64_t longestChain() const {
    int64_t longest = 0;
    for (int64_t i = 0; i < count; i++) {
      if (code->chains[i] > longest) longest = code->chains[i];
    }
    return longest;
  }

 private:
  INLINE_METHOD void runOne(const Run& one, int64_t number) const {
    if (one.chain != nullptr) return one.chain(steps + one.first, one.length, at, number);
    for (int64_t i = one.first; i < one.first + one.length; i++) {
      const Step& s = steps[i];
      s.fn(at[s.to], at[s.a], at[s.b], at[s.c], number);
    }
  }

  // A chain falls apart where what is one value changes; the value that it begins with is a tile.
  template <class MaskOf>
  void addRuns(int64_t first, int64_t length, const MaskOf& mask_of) {
    for (int64_t i = first; i < first + length;) {
      const int mask = mask_of(code->instructions[i]);
      int64_t end = i + 1;
      while (end < first + length && mask_of(code->instructions[end]) == mask) end++;
      const ChainFn fn = end - i > 1 ? chain_of(code->instructions[i].operation, mask) : nullptr;
      ChainRowsFn rows = fn != nullptr ? chain_rows_of(code->instructions[i].operation, mask) : nullptr;
      for (int64_t k = i; k < end; k++) {
        const Instruction& one = code->instructions[k];
        if (code->slots[mask == 1 ? one.b : one.a].kind != SlotKind::kInput) rows = nullptr;
      }
      Run* const last = runCount > 0 ? runs + runCount - 1 : nullptr;
      if (fn == nullptr && last != nullptr && last->chain == nullptr) last->length += end - i;
      else runs[runCount++] = Run{fn, rows, i, end - i};
      i = end;
    }
  }

  T* constants_;
  T* registers_;
  int64_t tile_;
};

// `count` values, `stride` apart, and the last again up to whole steps.
static void gather(T* to, const T* from, int64_t stride, int64_t count) {
  if (stride == 1) {
    for (int64_t i = 0; i < count; i++) to[i] = from[i];
  } else {
    for (int64_t i = 0; i < count; i++) to[i] = from[i * stride];
  }
  for (int64_t i = count; i < whole_steps(count); i++) to[i] = to[count - 1];
}

// A chunk of tasks worth fetching: about this many values computed.
INLINE int64_t chunk_of(int64_t tasks, int64_t threads, double valuesOfTask) {
  const double worthwhile = 262144 / (valuesOfTask < 1 ? 1 : valuesOfTask);
  const int64_t fair = tasks / (4 * threads);
  return at_least_one(worthwhile < (double)fair ? (int64_t)worthwhile : fair);
}
