// Codes made ready to run in scratch memory: what the families have in common.
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
  double* registers = nullptr;
  T* values = nullptr;
  int64_t count = 0;

  SELDOM void reserve(const View& view, Arena& arena) {
    count = view.codes[0].rootCount;
    wide = arena.take<double>(count);
    registers = arena.take<double>(view.codes[0].registers);
    values = arena.take<T>(2 * count);
  }
  void set(const View& view, const double* inputs) const {
    evaluateUniforms(view, inputs, registers, wide);
    for (int64_t i = 0; i < count; i++) {
      values[2 * i] = (T)wide[i];
      values[2 * i + 1] = (T)(wide[i] - (double)values[2 * i]);
    }
  }
};

// What several rows do with a root: they add it to `sum` (null: they do not), or it is a weight that they may read as one number.
struct RootUse {
  T* sum;
  bool weighs;
};

// What a code that runs for many rows is told: which inputs are one value of each row; that nobody redirects a root, so that one
// which is a constant is written once; what several rows do with the roots (null: nothing); and the inputs, from `own` on, that are
// tiles of each of these rows.
struct ManyRows {
  int64_t first = 0, end = 0;
  bool rootsStay = false;
  const RootUse* uses = nullptr;
  int64_t own = INT64_MAX;
};

// A root that several rows do not write: a tile times a value of the row, or times the difference of an input and that value, which may be
// turned (the value less the input); a value of the row; or what the strip that computes it adds up.
enum Times : int32_t { kNothing, kValue, kDifference, kTurned, kCopied, kAdded };
struct Product {
  Times times;
  int32_t step, root, tile, value, input;
};

// A code made ready to run: `at` has the address of every slot, `steps` the function of every instruction.
struct Machine {
  Step* steps;
  Link* links;  // of every step
  // Consecutive steps: one by one, or a strip where that has links.
  struct Run {
    Strip strip;
    int64_t first, length;
  };
  Run* runs;
  int64_t runCount;
  Product* products;  // what runRows leaves, in the order of the roots
  int64_t productCount;
  T** at;
  int64_t* moves;  // by slot: 1 for what moves with the row, else 0
  int64_t count;
  const Code* code;
  int32_t* inputSlots;  // by input, -1 where the code does not read it
  int64_t inputs;

  // `scalars[i]`: input i is one value for a tile; elsewhere it is a tile.
  SELDOM void reserve(const View& view, int32_t number, int64_t inputCount, Arena& arena) {
    code = &view.codes[number];
    count = code->instructionCount;
    inputs = inputCount;
    steps = arena.take<Step>(count);
    links = arena.take<Link>(count);
    runs = arena.take<Run>(count);
    products = arena.take<Product>(code->rootCount);
    at = arena.take<T*>(code->slotCount);
    moves = arena.take<int64_t>(code->slotCount);
    inputSlots = arena.take<int32_t>(inputs);
    constants_ = arena.take<T>(code->slotCount);
    registers_ = arena.tiles(code->registers);
    tile_ = arena.tile;
  }

  template <class IsScalar>
  SELDOM void prepare(const View& view, const Uniforms* uniforms, const IsScalar& isScalar, const ManyRows& rows = ManyRows{}) {
    for (int64_t i = 0; i < inputs; i++) inputSlots[i] = -1;
    for (int32_t s = 0; s < code->slotCount; s++) {
      const Slot& slot = code->slots[s];
      moves[s] = slot.kind == SlotKind::kInput && slot.index >= rows.first && slot.index < rows.end;
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
    findProducts(rows, scalar);
    const auto mask_of = [&](const Instruction& one) {
      const int32_t arity = arityOf(one.operation);
      return (scalar(one.a) ? 1 : 0) | (arity > 1 && scalar(one.b) ? 2 : 0) | (arity > 2 && scalar(one.c) ? 4 : 0);
    };
    for (int64_t i = 0; i < count; i++) {
      const Instruction& one = code->instructions[i];
      const int32_t arity = arityOf(one.operation);
      const int32_t b = arity > 1 ? one.b : one.a, c = arity > 2 ? one.c : one.a;
      steps[i] = Step{STEPS[(int32_t)one.operation][mask_of(one)], one.to, one.a, b, c};
    }
    for (int64_t i = 0; i < count;) {
      const Instruction& one = code->instructions[i];
      if (rows.rootsStay && copiesConstant(one)) fill(at[one.to], *at[one.a], tile_), i++;
      else if (isProduct(i)) i++;
      else i += addRun(i, scalar, rows);
    }
  }

  INLINE_METHOD void input(int64_t i, const T* from) const {
    if (inputSlots[i] >= 0) at[inputSlots[i]] = (T*)from;
  }
  T*& root(int64_t i) const { return at[code->roots[i]]; }

  // Whether a root is this number for all elements.
  bool rootIs(int64_t i, T value) const {
    for (int64_t k = 0; k < count; k++) {
      const Instruction& one = code->instructions[k];
      if (one.to == code->roots[i]) return copiesConstant(one) && constants_[one.a] == value;
    }
    return false;
  }

  // `number` values, a multiple of STEP.
  INLINE_METHOD void run(int64_t number, int64_t row = 0) const {
    const Slots place = slots(row);
    const RowSlots<1> alone{{at}, moves, row};
    for (int64_t r = 0; r < runCount; r++) {
      if (runs[r].strip.links != nullptr) run_strip(runs[r].strip, alone, number);
      else runSteps(runs[r].first, runs[r].length, number, place);
    }
    for (int64_t p = 0; p < productCount; p++) {
      if (products[p].times != kAdded) runSteps(products[p].step, 1, number, place);
    }
  }

  // ROWS_AT_ONCE machines of one code, which have the same tiles as inputs but for those of `ManyRows::own`, for as many rows from
  // `row` on, without the products.
  static void runRows(const Machine* machines, int64_t number, int64_t row) {
    RowSlots<ROWS_AT_ONCE> together{{}, machines[0].moves, row};
    for (int m = 0; m < ROWS_AT_ONCE; m++) together.at[m] = machines[m].at;
    for (int64_t r = 0; r < machines[0].runCount; r++) {
      const Run& one = machines[0].runs[r];
      if (one.strip.links != nullptr) {
        run_strip(one.strip, together, number);
        continue;
      }
      for (int m = 0; m < ROWS_AT_ONCE; m++) machines[m].runSteps(one.first, one.length, number, machines[m].slots(row + m));
    }
  }

  Slots slots(int64_t row) const { return Slots{at, moves, row}; }

 private:
  // A constant is copied to a root alone, which has a register of its own.
  bool copiesConstant(const Instruction& one) const {
    if (one.operation != Operation::k_copy || code->slots[one.a].kind != SlotKind::kConstant) return false;
    for (int64_t i = 0; i < code->rootCount; i++) {
      if (code->roots[i] == one.to) return true;
    }
    return false;
  }

  // Products that nobody else reads, of tiles that stay as they are to the end of the code.
  template <class IsScalar>
  void findProducts(const ManyRows& rows, const IsScalar& scalar) {
    productCount = 0;
    for (int32_t r = 0; rows.uses != nullptr && r < code->rootCount; r++) {
      if (rows.uses[r].sum == nullptr && !rows.uses[r].weighs) continue;
      const int32_t root = code->roots[r];
      Product found{kNothing, -1, r, 0, 0, 0};
      for (int32_t i = 0; i < count; i++) {
        const Instruction& one = code->instructions[i];
        const int32_t arity = arityOf(one.operation);
        if (one.a == root || (arity > 1 && one.b == root) || (arity > 2 && one.c == root)) found.times = kNothing;
        if (found.times != kNothing && sameRegister(one.to, found.tile)) found.times = kNothing;
        if (one.to == root) found = productOf(one, i, r, scalar, rows);
      }
      if (found.times != kNothing) products[productCount++] = found;
    }
  }
  // The product that an instruction is, if any.
  template <class IsScalar>
  Product productOf(const Instruction& one, int32_t step, int32_t root, const IsScalar& scalar, const ManyRows& rows) const {
    // tiles of one row, and those that all rows share
    const auto isOwn = [&](int32_t slot) { return code->slots[slot].kind == SlotKind::kRegister || isOwnInput(slot, rows); };
    const auto isShared = [&](int32_t slot) { return !isOwn(slot) && !scalar(slot); };
    if (rows.uses[root].weighs) {
      const bool copied = one.operation == Operation::k_copy && moves[one.a] != 0;
      return {copied ? kCopied : kNothing, step, root, one.to, one.a, one.a};
    }
    if (one.operation == Operation::k_mul && code->follows[step] == 0) {
      if (isOwn(one.a) && moves[one.b] != 0) return {kValue, step, root, one.a, one.b, one.b};
      if (isOwn(one.b) && moves[one.a] != 0) return {kValue, step, root, one.b, one.a, one.a};
    } else if (one.operation == Operation::k_scaledDifference && isOwn(one.a)) {
      if (isShared(one.b) && moves[one.c] != 0) return {kDifference, step, root, one.a, one.c, one.b};
      if (isShared(one.c) && moves[one.b] != 0) return {kTurned, step, root, one.a, one.b, one.c};
    }
    return {kNothing, step, root, 0, 0, 0};
  }
  bool isOwnInput(int32_t slot, const ManyRows& rows) const {
    return code->slots[slot].kind == SlotKind::kInput && code->slots[slot].index >= rows.own;
  }
  bool sameRegister(int32_t to, int32_t tile) const {
    return code->slots[tile].kind == SlotKind::kRegister && code->slots[to].index == code->slots[tile].index;
  }
  bool isProduct(int64_t step) const {
    for (int64_t p = 0; p < productCount; p++) {
      if (products[p].step == step && products[p].times != kAdded) return true;
    }
    return false;
  }

  INLINE_METHOD void runSteps(int64_t first, int64_t length, int64_t number, const Slots& place) const {
    for (int64_t i = first; i < first + length; i++) {
      const Step& s = steps[i];
      s.fn(place[s.to], place[s.a], place[s.b], place[s.c], number);
    }
  }

  // Adds the strip that begins at step `first`, or that step alone: how many steps.
  template <class IsScalar>
  int64_t addRun(int64_t first, const IsScalar& scalar, const ManyRows& rows) {
    int32_t begin = -1;
    int64_t end = first;
    const auto takes = [&](int32_t before) {
      if (!setLink(end, before, scalar, rows)) return false;
      end++;
      return true;
    };
    if (!takes(-1)) {
      const int32_t operands[] = {steps[first].c, steps[first].a, steps[first].b};
      for (const int32_t slot : operands) {
        if (!scalar(slot) && takes(begin = slot)) break;
      }
    }
    while (end > first && end < count && code->follows[end] != 0 && !isProduct(end) && takes(steps[end - 1].to)) {
    }
    T* const sum = end > first ? sumOf(end - 1, rows) : nullptr;
    if (end - first > 1 || sum != nullptr) {
      runs[runCount++] = Run{Strip{links + first, links + end, begin, steps[end - 1].to, sum}, first, end - first};
      return end - first;
    }
    Run* const last = runCount > 0 ? runs + runCount - 1 : nullptr;
    if (last != nullptr && last->strip.links == nullptr && last->first + last->length == first) last->length++;
    else runs[runCount++] = Run{Strip{nullptr, nullptr, -1, -1, nullptr}, first, 1};
    return 1;
  }

  // Whether a strip can do a step, whose operand `before` is what the strip has in registers (-1: nothing).
  template <class IsScalar>
  bool setLink(int64_t step, int32_t before, const IsScalar& scalar, const ManyRows& rows) {
    const Instruction& one = code->instructions[step];
    const int32_t operands[] = {one.a, one.b, one.c};
    int32_t roles[] = {kNone, kNone, kNone};
    int32_t tiles[] = {-1, -1}, numbers[] = {-1, -1};
    for (int32_t n = 0; n < arityOf(one.operation); n++) {
      const int32_t slot = operands[n];
      const bool isOwn = code->slots[slot].kind == SlotKind::kRegister || isOwnInput(slot, rows);
      roles[n] = slot == before ? kBefore : scalar(slot) ? kNumber : isOwn ? kOwn : kShared;
      if (roles[n] == kBefore) continue;
      int32_t* const list = roles[n] == kNumber ? numbers : tiles;
      if (list[0] < 0) list[0] = slot;
      else list[1] = slot;
    }
    const LinkKind kind = kind_of(one.operation, roles[0], roles[1], roles[2]);
    links[step] = Link{kind, numbers[0], tiles[0], tiles[1] >= 0 ? tiles[1] : numbers[1]};
    return kind != kNoLink;
  }

  // Where several rows add up the root that a step is, if they do.
  T* sumOf(int64_t step, const ManyRows& rows) {
    for (int32_t r = 0; rows.uses != nullptr && code->unread[step] != 0 && r < code->rootCount; r++) {
      const int32_t root = code->roots[r];
      if (root != steps[step].to || rows.uses[r].sum == nullptr) continue;
      products[productCount++] = {kAdded, (int32_t)step, r, root, root, root};
      return rows.uses[r].sum;
    }
    return nullptr;
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
