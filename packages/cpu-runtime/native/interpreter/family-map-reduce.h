// Formulas of rows i and j, reduced over one of them: tiles of kept rows, one or several reduced rows at a time.

struct MapReduceFamily {
  static constexpr bool kTilesOfBlock = true;
  // Reduced rows between two merges of sums, whose rounding grows with what is added to one.
  static constexpr int64_t kReduced = 256;
  // Bytes of a task's tiles: with many of them tiles are shorter, so that the second cache holds them.
  static constexpr int64_t kTileBytes = 1 << 20;
  // Bytes of a task's kept rows, all of which every reduced row reads: the second cache holds them beside results.
  static constexpr int64_t kOwnBytes = 1 << 17;
  // Calls with fewer tasks split their reduced rows, into at most so many parts over all tasks; the running results of a task's parts
  // have at most so many bytes.
  static constexpr int64_t kManyTasks = 64, kStateBytes = 1 << 23;
  // A part runs at least so many instructions on tiles, some 50 microseconds.
  static constexpr int64_t kPart = 8192;

  MapReduceSettings set;
  // Codes of pairs with no more registers beside their results are run for several reduced rows at once.
  static constexpr int64_t kFewRegisters = 64;
  // Of more results the tiles are so short that setting several rows up takes longer than it saves.
  static constexpr int64_t kFewRoots = 256;

  Machine own, other, pairs[ROWS_AT_ONCE], chosen;  // chosen: what a selection writes for a pair
  int64_t atOnce;                                   // machines of pairs in use
  Machine* places;                   // of gathered rows
  Reducer* reducers;
  int64_t tile, results, gathered, paired;
  int64_t reducedTile;  // reduced rows at a time: it depends on the program alone, and so does where sums are merged
  T *ownTiles, *otherTiles, *gatheredTiles, *pairTiles, *parameters;
  T **totals, **parts;  // by reduction
  const T** values;
  Factor* factors;  // of values, where several rows are added
  RootUse* uses;
  int64_t* seen;
  uint8_t* memory;  // its scratch memory: its own, and behind that the states of parts
  size_t bytes;

  int64_t firstRoot() const { return set.own; }
  int64_t firstOther() const { return set.own + ownRoots; }
  int64_t firstParameter() const { return firstOther() + set.other + otherRoots; }
  int64_t firstGathered() const { return firstParameter() + set.parameters; }
  int64_t firstPair() const { return firstGathered() + gathered; }

  SELDOM void reserve(const View& view, Arena& arena) {
    set = MapReduceSettings(view.settings);
    tile = arena.tile;
    reducedTile = at_most(kReduced, longestTile(view));
    ownRoots = view.codes[0].rootCount, otherRoots = view.codes[1].rootCount;
    results = gathered = 0;
    for (int32_t g = 0; g < set.gathers; g++) gathered += set.gather(g)[1];
    paired = set.pairs();
    const int64_t inputs = firstPair() + paired;
    own.reserve(view, 0, set.own + set.parameters, arena);
    arena.tile = reducedTile;
    other.reserve(view, 1, set.other + set.parameters, arena);
    otherTiles = arena.tiles(set.other);
    arena.tile = tile;
    atOnce = 1;
    for (int64_t r = 0; r < atOnce; r++) {
      pairs[r].reserve(view, 2, inputs, arena);
      const Code& code = view.codes[2];
      const bool few = code.registers - code.rootCount <= kFewRegisters && code.rootCount <= kFewRoots && set.selection == 0 && set.gathers == 0;
      if (few) atOnce = ROWS_AT_ONCE;
    }
    if (set.valueCode() > 0) chosen.reserve(view, set.valueCode(), inputs, arena);
    places = arena.take<Machine>(set.gathers);
    for (int32_t g = 0; g < set.gathers; g++) {
      Machine one;
      one.reserve(view, set.gatherCode(g), inputs, arena);
      if (places != nullptr) places[g] = one;
    }
    ownTiles = arena.tiles(set.own);
    gatheredTiles = arena.tiles(gathered);
    pairTiles = arena.tiles(atOnce * paired);
    parameters = arena.take<T>(set.parameters);
    reducers = arena.take<Reducer>(set.reductions);
    totals = arena.take<T*>(set.reductions);
    parts = arena.take<T*>(set.reductions);
    int64_t most = 0;
    for (int32_t r = 0; r < set.reductions; r++) {
      const Reducer one = set.selects() ? Reducer{} : reducerOf(r);
      T* const total = arena.tiles(one.slots());
      T* const part = arena.tiles(one.rounds() ? one.plain().slots() : 0);
      if (reducers != nullptr) reducers[r] = one, totals[r] = total, parts[r] = part;
      if (!set.selects()) results += set.bins() ? 2 : one.arity();
      if (one.slots() > most) most = one.slots();
    }
    values = arena.take<const T*>(atOnce * results + most);
    factors = arena.take<Factor>(results);
    uses = arena.take<RootUse>(results);
    seen = arena.take<int64_t>(set.selects() ? tile : 0);
    memory = arena.memory, bytes = arena.used;
  }

  Reducer reducerOf(int32_t r) const {
    const int32_t* one = set.reduction(r);
    return Reducer{one[0], one[1], one[2], one[3], one[4], tile};
  }

  struct Sizes {
    const int64_t* words;
    const int64_t *offsets, *tasks, *spans;
    int32_t* rows;
    T* values;
    int64_t kept, reduced, batch, taskCount;
    const int64_t* strides;  // of input q: ld at 2 q, batch at 2 q + 1
    const int64_t* tableRows;
    const int64_t* columnStrides;  // of the inputs with values of pairs
    int64_t firstResult;
  };

  static Sizes sizesOf(const MapReduceSettings& set, const void* args) {
    Sizes sizes{};
    const int64_t* const words = sizes.words = (const int64_t*)args;
    int64_t at = sizes.firstResult = set.inputs;
    if (set.selects()) {
      sizes.offsets = (const int64_t*)words[at++];
      sizes.rows = (int32_t*)words[at++];
      if (set.valueDim() > 0) sizes.values = (T*)words[at++];
    } else {
      for (int32_t r = 0; r < set.reductions; r++) {
        at += givesValues(set.reduction(r)[0]) + givesIndices(set.reduction(r)[0]);
      }
    }
    if (set.ranges) sizes.tasks = (const int64_t*)words[at], sizes.spans = (const int64_t*)words[at + 1], at += 2;
    sizes.kept = words[at + (set.axis == 1 ? 0 : 1)];
    sizes.reduced = words[at + (set.axis == 1 ? 1 : 0)];
    sizes.batch = words[at + 2];
    at += 3;
    if (set.ranges) sizes.taskCount = words[at++];
    sizes.strides = words + at;
    sizes.tableRows = sizes.strides + 2 * set.inputs;
    sizes.columnStrides = sizes.tableRows;
    for (int32_t i = 0; i < set.inputs; i++) sizes.columnStrides += set.tablePlace(i) >= 0;
    return sizes;
  }

  static int64_t tilesOf(const View& view) {
    const MapReduceSettings set(view.settings);
    int64_t tiles = set.own + set.other + set.pairs();
    for (int32_t c = 0; c < 3; c++) tiles += view.codes[c].registers + view.codes[c].rootCount;
    return tiles + slotsOf(set);
  }

  // Tiles of all running results.
  static int64_t slotsOf(const MapReduceSettings& set) {
    int64_t slots = 0;
    for (int32_t r = 0; !set.selects() && r < set.reductions; r++) {
      const int32_t* const one = set.reduction(r);
      slots += Reducer{one[0], one[1], one[2], one[3], one[4], 0}.slots();
    }
    return slots;
  }

  static int64_t longestTile(const View& view) {
    const MapReduceSettings set(view.settings);
    const int64_t tiles = tilesOf(view);
    int64_t tile = TILE;
    const auto bytes = [&](int64_t tiles) { return tiles * tile * (int64_t)sizeof(T); };
    while (tile > STEP && (bytes(tiles) > kTileBytes || bytes(set.own) > kOwnBytes)) tile /= 2;
    return tile;
  }

  // The longest tile, no longer than kept rows need.
  static int64_t longestBlock(const View& view, int64_t kept) {
    int64_t block = longestTile(view);
    while (block > STEP && kept <= block / 2) block /= 2;
    return block;
  }

  // How many parts `reduced` rows of a task are cut into. The problem decides alone, so that the number of threads changes no bits.
  static int64_t splitsOf(const View& view, const Sizes& sizes, int64_t reduced) {
    const MapReduceSettings set(view.settings);
    const int64_t tasks = at_least_one((set.ranges ? sizes.taskCount : blocks_of(sizes.kept, STEP)) * sizes.batch);
    if (tasks >= kManyTasks || set.selects()) return 1;
    const int64_t slots = slotsOf(set), work = view.codes[2].instructionCount + view.codes[2].rootCount;
    const int64_t state = slots * longestBlock(view, sizes.kept) * (int64_t)sizeof(T);
    // a part has whole tiles of reduced rows, and takes longer than what is done with its state and than to fill its lists of K
    int64_t filling = 0;
    for (int32_t r = 0; r < set.reductions; r++) {
      const int32_t* const one = set.reduction(r);
      if (one[0] >= kKMin) filling += 8 * (int64_t)one[1] * one[3] * one[3];
    }
    const int64_t rows = (kPart + 8 * slots + filling) / work, least = rows < kReduced ? kReduced : rows;
    return at_least_one(at_most(at_most(kManyTasks / tasks, kStateBytes / state), reduced / least));
  }

  // Blocks of kept rows are halved until every thread has work, which changes no bits.
  SELDOM static Cut cut(const View& view, const void* args, int64_t threads) {
    const MapReduceSettings set(view.settings);
    const Sizes sizes = sizesOf(set, args);
    int64_t block = longestBlock(view, sizes.kept);
    while (!set.ranges && block > STEP && blocks_of(sizes.kept, block) * sizes.batch < 4 * threads) block /= 2;
    const int64_t tasks = (set.ranges ? sizes.taskCount : blocks_of(sizes.kept, block)) * sizes.batch;
    const double reduced = set.ranges ? (double)kReduced : (double)sizes.reduced;
    const int64_t splits = splitsOf(view, sizes, sizes.reduced), states = splits > 1 ? splits * slotsOf(set) * block : 0;
    return Cut{tasks, chunk_of(tasks, threads, (double)block * reduced), block, (size_t)states * sizeof(T)};
  }

  // Row `row` of an input in a batch entry.
  const uint8_t* at(const Sizes& g, int32_t input, int64_t layer, int64_t row, int64_t component) const {
    const int64_t element = layer * g.strides[2 * input + 1] + row * g.strides[2 * input] + component;
    return (const uint8_t*)g.words[input] + element * kernels::kElementBytes[set.storage(input)];
  }

  static constexpr int32_t kOwnType = sizeof(T) == sizeof(double) ? 0 : 1;

  // Components of `rows` rows from `first` on, in tiles of `length`; the last again up to whole steps. Input -1 is the row's own number.
  void gatherRows(const Sizes& g, T* to, int64_t length, const int32_t* list, int64_t count, int64_t layer, int64_t first,
                  int64_t rows) const {
    for (int64_t q = 0; q < count; q++, to += length) {
      const int32_t input = list[2 * q];
      if (input < 0) {
        for (int64_t i = 0; i < whole_steps(rows); i++) to[i] = (T)(first + at_most(i, rows - 1));
        continue;
      }
      const int64_t ld = g.strides[2 * input];
      const uint8_t* const from = at(g, input, layer, first, list[2 * q + 1]);
      if (set.storage(input) == kOwnType) {
        gather(to, (const T*)from, ld, rows);
        continue;
      }
      rowFn(set.storage(input), kOwnType)(to, 1, from, ld, rows);
      for (int64_t i = rows; i < whole_steps(rows); i++) to[i] = to[rows - 1];
    }
  }

  // For machine `m` the values of pairs of the kept rows from `first` on with the reduced row `row`; the last again up to whole steps.
  void gatherPairs(const Sizes& g, int64_t layer, int64_t first, int64_t rows, int64_t row, int64_t m = 0) const {
    T* to = pairTilesOf(m);
    for (int32_t n = 0; n < paired; n++, to += tile) {
      const int32_t input = set.pair(n)[0];
      const int64_t strides[] = {g.strides[2 * input], g.columnStrides[set.pairInputs(input)]};
      const int64_t own = strides[set.axis == 1 ? 0 : 1], others = strides[set.axis == 1 ? 1 : 0];
      const int64_t element = layer * g.strides[2 * input + 1] + first * own + row * others + set.pair(n)[1];
      const uint8_t* const from = (const uint8_t*)g.words[input] + element * kernels::kElementBytes[set.storage(input)];
      rowFn(set.storage(input), kOwnType)(to, 1, from, own, rows);
      for (int64_t i = rows; i < whole_steps(rows); i++) to[i] = to[rows - 1];
    }
  }

  T* pairTilesOf(int64_t m) const { return pairTiles + m * paired * tile; }

  template <class Each>
  void eachPairMachine(const Each& each) {
    for (int64_t r = 0; r < atOnce; r++) each(pairs[r]);
    if (set.valueCode() > 0) each(chosen);
    for (int32_t g = 0; g < set.gathers; g++) each(places[g]);
  }

  // One component of a row by index for every kept row; NaN where there is no such row.
  void gatherByIndex(const Sizes& g, int64_t layer, int64_t whole, int64_t row) const {
    T* to = gatheredTiles;
    for (int32_t n = 0; n < set.gathers; n++) {
      const int32_t* const one = set.gather(n);
      const int32_t table = one[0], components = one[1];
      const double rows = (double)g.tableRows[set.tablePlace(table)];
      places[n].run(whole, row);
      const T* const wanted = places[n].root(0);
      for (int64_t i = 0; i < whole; i++) {
        const double place = (double)wanted[i] + 0.5;
        const bool there = place >= 0 && place < rows;
        for (int32_t c = 0; c < components; c++) {
          T value = (T)__builtin_nan("");
          if (there) {
            rowFn(set.storage(table), kOwnType)(&value, 1, at(g, table, layer, (int64_t)place, one[2 + c]), 1, 1);
          }
          to[c * tile + i] = value;
        }
      }
      to += components * tile;
    }
  }

  void run(const View& view, const void* args, int64_t block, int64_t begin, int64_t end) {
    const Sizes g = sizesOf(set, args);
    prepare(view);
    const int64_t blocks = blocks_of(g.kept, block);
    for (int64_t task = begin; task < end; task++) {
      if (set.ranges) {
        const int64_t layer = task / g.taskCount;
        const int64_t* const here = g.tasks + task % g.taskCount * 4;
        for (int64_t i = 0; i < here[1]; i += block) {
          runBlock(view, g, Block{layer, here[0] + i, at_most(here[1] - i, block), g.spans + 2 * here[2], here[3] - here[2]});
        }
      } else {
        const int64_t layer = task / blocks, first = task % blocks * block;
        const int64_t all[] = {0, g.reduced};
        runBlock(view, g, Block{layer, first, at_most(g.kept - first, block), all, 1});
      }
    }
  }

 private:
  int64_t ownRoots, otherRoots;

  // Kept rows of a batch entry, and the reduced rows of all of them.
  struct Block {
    int64_t layer, first, rows;
    const int64_t* spans;
    int64_t spanCount;

    int64_t reduced() const {
      int64_t sum = 0;
      for (int64_t n = 0; n < spanCount; n++) sum += lengthOf(n);
      return sum;
    }
    int64_t lengthOf(int64_t n) const { return spans[2 * n] < spans[2 * n + 1] ? spans[2 * n + 1] - spans[2 * n] : 0; }
  };

  SELDOM void prepare(const View& view) {
    own.prepare(view, nullptr, [this](int64_t i) { return i >= set.own; });
    other.prepare(view, nullptr, [this](int64_t i) { return i >= set.other; });
    const auto isScalar = [this](int64_t i) { return i >= firstOther() && i < firstGathered(); };
    findUses();
    const auto prepare = [&](Machine& one, const RootUse* used) {
      one.prepare(view, nullptr, isScalar, ManyRows{firstOther(), firstParameter(), true, used, firstPair()});
    };
    eachPairMachine([&](Machine& one) { prepare(one, nullptr); });
    for (int64_t m = 0; atOnce > 1 && m < atOnce; m++) prepare(pairs[m], uses);
    findOnes();
  }

  void runBlock(const View& view, const Sizes& g, const Block& block) {
    const int64_t reduced = block.reduced(), splits = splitsOf(view, g, at_most(reduced, g.reduced));
    readKept(g, block);
    if (splits > 1) reduceParts(view, g, block, reduced, splits);
    else reduce(g, block, 0, reduced);
    if (!set.selects()) write(g, block.layer * g.kept + block.first, block.rows, reduced);
  }

  // Parts of the reduced rows one behind the other: each by whatever thread is idle, and what they came to is added up in their order.
  SELDOM void reduceParts(const View& view, const Sizes& g, const Block& block, int64_t reduced, int64_t splits) {
    const int64_t length = blocks_of(blocks_of(reduced, splits), reducedTile) * reducedTile;
    const int64_t count = blocks_of(reduced, length), size = slotsOf(set) * tile;
    T* const states = (T*)(void*)(memory + bytes);
    const auto part = [&](int64_t n, void* scratch) {
      MapReduceFamily helping;
      const bool helps = scratch != memory;
      if (helps) {
        Arena arena{(uint8_t*)scratch, tile};
        helping.reserve(view, arena);
        helping.prepare(view);
        helping.readKept(g, block);
      }
      MapReduceFamily& one = helps ? helping : *this;
      one.reduce(g, block, n * length, at_most((n + 1) * length, reduced));
      one.eachState(states + n * size, [](const Reducer& by, T* total, T* state) { copy(state, total, by.slots() * by.tile); });
    };
    using Part = decltype(part);
    const KernelFn runPart = [](const void* context, int64_t n, int64_t, void* scratch) { (**(const Part* const*)context)(n, scratch); };
    share(runPart, &part, count, bytes, memory);
    eachState(states, [](const Reducer& by, T* total, const T* state) { copy(total, state, by.slots() * by.tile); });
    for (int64_t n = 1; n < count; n++) {
      eachState(states + n * size, [&](const Reducer& by, T* total, const T* state) {
        by.join(total, state, whole_steps(block.rows), values + atOnce * results);
      });
    }
  }

  // Every reduction with its running results, and where a state has those.
  template <class Each>
  void eachState(T* state, const Each& each) const {
    for (int32_t r = 0; r < set.reductions; r++) {
      each(reducers[r], totals[r], state);
      state += reducers[r].slots() * tile;
    }
  }

  static void copy(T* to, const T* from, int64_t count) {
    for (int64_t i = 0; i < count; i += LANES) put(to + i, get(from + i));
  }

  // Reads the kept rows and what all pairs share, and computes what depends on them alone.
  SELDOM void readKept(const Sizes& g, const Block& block) {
    const int32_t* const list = set.components();
    gatherRows(g, ownTiles, tile, list, set.own, block.layer, block.first, block.rows);
    for (int64_t q = 0; q < set.parameters; q++) {
      const int32_t* const one = list + 2 * (set.own + set.other + q);
      rowFn(set.storage(one[0]), kOwnType)(parameters + q, 1, at(g, one[0], block.layer, 0, one[1]), 1, 1);
      own.input(set.own + q, parameters + q);
      other.input(set.other + q, parameters + q);
      eachPairMachine([&](const Machine& one) { one.input(firstParameter() + q, parameters + q); });
    }
    for (int64_t q = 0; q < set.own; q++) {
      own.input(q, ownTiles + q * tile);
      eachPairMachine([&](const Machine& one) { one.input(q, ownTiles + q * tile); });
    }
    own.run(whole_steps(block.rows));
    eachPairMachine([&](const Machine& one) {
      for (int64_t q = 0; q < ownRoots; q++) one.input(firstRoot() + q, own.root(q));
      for (int64_t q = 0; q < gathered; q++) one.input(firstGathered() + q, gatheredTiles + q * tile);
      for (int64_t q = 0; q < paired; q++) one.input(firstPair() + q, pairTiles + q * tile);
    });
    for (int64_t m = 1; m < atOnce; m++) {
      for (int64_t q = 0; q < paired; q++) pairs[m].input(firstPair() + q, pairTilesOf(m) + q * tile);
    }
  }

  // Reduces the rows number `from` to `to` among those of the spans.
  void reduce(const Sizes& g, const Block& block, int64_t from, int64_t to) {
    const int64_t whole = whole_steps(block.rows);
    for (int64_t i = 0; set.selects() && i < block.rows; i++) seen[i] = 0;
    for (int32_t r = 0; !set.selects() && r < set.reductions; r++) reducers[r].clear(totals[r], whole);
    const int64_t most = reducedTile;
    int64_t pending = 0, before = 0;
    for (int64_t n = 0; n < block.spanCount && before < to; n++) {
      const int64_t span = block.spans[2 * n] - before, stop = at_most(span + to, block.spans[2 * n + 1]);
      before += block.lengthOf(n);
      for (int64_t start = span + from > block.spans[2 * n] ? span + from : block.spans[2 * n]; start < stop; start += most) {
        const int64_t count = at_most(stop - start, most);
        if (pending + count > most) pending = mergeBlocks(whole);
        if (pending == 0) clearBlocks(whole);
        reduceRows(g, block, start, count);
        pending += count;
      }
    }
    if (pending > 0) mergeBlocks(whole);
  }

  // What rows are added to: a block where there are blocks.
  Reducer adding(int32_t r) const { return reducers[r].rounds() ? reducers[r].plain() : reducers[r]; }
  T* addedTo(int32_t r) const { return reducers[r].rounds() ? parts[r] : totals[r]; }

  SELDOM void findUses() const {
    RootUse* use = uses;
    for (int32_t r = 0; atOnce > 1 && r < set.reductions; r++) {
      const Reducer one = adding(r);
      const bool sums = (one.kind == kSum || one.kind == kMean) && !one.careful();
      for (int32_t c = 0; c < one.arity(); c++) {
        *use++ = RootUse{sums ? addedTo(r) + c * tile : nullptr, one.base2() && c > 0};
      }
    }
  }

  // Weights of exponentials that need not be read.
  SELDOM void findOnes() const {
    int64_t first = 0;
    for (int32_t r = 0; !set.selects() && r < set.reductions; r++) {
      Reducer& one = reducers[r];
      for (int32_t w = 0; isExponential(one.kind) && w < at_most(one.weights, 64); w++) {
        if (pairs[0].rootIs(first + 1 + w, 1)) one.ones |= (uint64_t)1 << w;
      }
      first += one.arity();
    }
  }

  void clearBlocks(int64_t whole) const {
    for (int32_t r = 0; !set.selects() && r < set.reductions; r++) {
      if (reducers[r].rounds()) reducers[r].begin(parts[r], totals[r], whole);
    }
  }

  int64_t mergeBlocks(int64_t whole) const {
    for (int32_t r = 0; !set.selects() && r < set.reductions; r++) {
      if (reducers[r].rounds()) reducers[r].merge(totals[r], parts[r], whole, values + atOnce * results);
    }
    return 0;
  }

  void reduceRows(const Sizes& g, const Block& block, int64_t start, int64_t count) {
    const int64_t layer = block.layer, first = block.first, rows = block.rows, whole = whole_steps(rows);
    gatherRows(g, otherTiles, reducedTile, set.components() + 2 * set.own, set.other, layer, start, count);
    for (int64_t q = 0; q < set.other; q++) other.input(q, otherTiles + q * reducedTile);
    other.run(whole_steps(count));
    eachPairMachine([&](const Machine& one) {
      for (int64_t q = 0; q < set.other; q++) one.input(firstOther() + q, otherTiles + q * reducedTile);
      for (int64_t q = 0; q < otherRoots; q++) one.input(firstOther() + set.other + q, other.root(q));
    });
    for (int64_t r = 0; r < atOnce; r++) {
      for (int64_t q = 0; q < results; q++) values[r * results + q] = pairs[r].root(q);
    }
    for (int64_t q = 0; q < results; q++) factors[q] = Factor{};
    int64_t j = 0;
    for (; atOnce > 1 && j + atOnce <= count; j += atOnce) {
      for (int64_t m = 0; paired > 0 && m < atOnce; m++) gatherPairs(g, layer, first, rows, start + j + m, m);
      Machine::runRows(pairs, whole, j);
      addRows(start + j, j, whole);
    }
    for (; j < count; j++) {
      if (paired > 0) gatherPairs(g, layer, first, rows, start + j);
      if (set.gathers > 0) gatherByIndex(g, layer, whole, j);
      pairs[0].run(whole, j);
      if (set.selects()) select(g, layer * g.kept + first, rows, start, j);
      else if (set.bins()) addAtPlaces(rows);
      else addRow(values, start + j, whole);
    }
  }

  void addRow(const T* const* f, int64_t row, int64_t whole) const {
    for (int32_t r = 0; r < set.reductions; r++) {
      const Reducer one = adding(r);
      one.add(addedTo(r), f, row, whole);
      f += one.arity();
    }
  }

  // Adds a reduced row to one component of each kept row's sum, or to none.
  void addAtPlaces(int64_t rows) const {
    const T *const place = pairs[0].root(0), *const weight = pairs[0].root(1);
    for (int64_t i = 0; i < rows; i++) {
      if (place[i] >= 0 && place[i] < (T)reducers[0].dim) reducers[0].addAt(totals[0], (int64_t)place[i], i, weight[i]);
    }
  }

  // `place`: of the first of the rows among those that are read now.
  void addRows(int64_t row, int64_t place, int64_t whole) const {
    for (int64_t p = 0; p < pairs[0].productCount; p++) {
      const Product& one = pairs[0].products[p];
      for (int64_t m = 0; m < atOnce; m++) values[m * results + one.root] = pairs[m].at[one.tile];
      factors[one.root] = Factor{one.times, pairs[0].slots(place)[one.value], pairs[0].at[one.input]};
    }
    const T* const* f = values;
    for (int32_t r = 0; r < set.reductions; r++) {
      const Reducer one = adding(r);
      SeveralRows{one, results, factors + (f - values)}.add(addedTo(r), f, row, whole);
      f += one.arity();
    }
    for (int64_t p = 0; p < pairs[0].productCount; p++) {
      const int32_t root = pairs[0].products[p].root;
      values[root] = pairs[0].root(root);
    }
  }

  // Writes the pairs of a reduced row that are wanted, none beyond the room of its kept row.
  SELDOM void select(const Sizes& g, int64_t first, int64_t rows, int64_t start, int64_t row) const {
    const T* const mask = pairs[0].root(0);
    const int64_t dim = set.valueDim();
    bool computed = false;
    for (int64_t i = 0; i < rows; i += LANES) {
      if (!any((I)(get(mask + i) != splat(0)))) continue;
      if (set.valueCode() > 0 && !computed) chosen.run(whole_steps(rows), row);
      computed = true;
      for (int64_t n = i; n < at_most(i + LANES, rows); n++) {
        if (!(mask[n] != 0)) continue;
        const int64_t* const room = g.offsets + first + n;
        const int64_t to = room[0] + seen[n]++;
        if (to >= room[1]) continue;
        g.rows[to] = (int32_t)(start + row);
        for (int64_t c = 0; c < dim; c++) g.values[to * dim + c] = chosen.root(c)[n];
      }
    }
  }

  void write(const Sizes& g, int64_t first, int64_t rows, int64_t reduced) const {
    int64_t at = g.firstResult;
    for (int32_t r = 0; r < set.reductions; r++) {
      const Reducer& one = reducers[r];
      T* const out = givesValues(one.kind) ? (T*)g.words[at++] : nullptr;
      int32_t* const index = givesIndices(one.kind) ? (int32_t*)g.words[at++] : nullptr;
      for (int64_t i = 0; i < rows; i++) {
        const int64_t row = first + i;
        one.write(totals[r], i, reduced, out + row * one.valueCount(), index + row * one.indexCount());
      }
    }
  }
};
