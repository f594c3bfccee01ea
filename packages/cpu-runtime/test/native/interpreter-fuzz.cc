// Tile programs under AddressSanitizer and UndefinedBehaviorSanitizer, without Node: real ones with words, counts and constants changed.
// What the reader accepts is run on exactly as much memory as its parameters say, so that every access beyond is an error.
//   interpreter-fuzz SEEDS FIRST COUNT: mutants number FIRST to FIRST + COUNT - 1 of the programs in the file SEEDS
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "error.h"
#include "interpreter/program-value.h"
#include "share.h"

namespace mercer::cpu::interpreter {
#if defined(__x86_64__)
extern const Level kLevel_x86_64_v2;
static const Level& kFuzzed = kLevel_x86_64_v2;
#else
extern const Level kLevel_arm64;
static const Level& kFuzzed = kLevel_arm64;
#endif
}  // namespace mercer::cpu::interpreter

// In place of js-error.cc, which needs Node.
void mercer::cpu::fail(const char* code, const std::string& message) { throw RuntimeError(code, message); }

// In place of the pool: every other task has scratch memory of its own, as where another thread helps.
void mercer::cpu::share(KernelFn kernel, const void* context, int64_t tasks, size_t scratchBytes, void* scratch) {
  const size_t bytes = (scratchBytes + 63) / 64 * 64;
  for (int64_t i = 0; i < tasks; ++i) {
    if (i % 2 == 0) {
      kernel(&context, i, i + 1, scratch);
      continue;
    }
    void* const own = std::aligned_alloc(64, bytes);
    std::memset(own, 0xff, bytes);
    kernel(&context, i, i + 1, own);
    std::free(own);
  }
}

namespace {

using namespace mercer::cpu::interpreter;

struct Seed {
  std::vector<int32_t> words;
  std::vector<double> constants;
};

// splitmix64
struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  size_t below(size_t n) { return next() % n; }
};

int32_t word(Random& random, const Seed& seed) {
  static const int32_t odd[] = {-1, -2, 0, 1, 2, 3, 1000000000, -1000000000, INT32_MAX, INT32_MIN, 1 << 16, 1 << 20};
  switch (random.below(5)) {
    case 0: return odd[random.below(sizeof odd / sizeof *odd)];
    case 1: return static_cast<int32_t>(random.next());
    case 2: return seed.words[random.below(seed.words.size())];
    default: return static_cast<int32_t>(random.below(64)) - 2;
  }
}

Seed mutant(Random& random, const std::vector<Seed>& seeds) {
  Seed one = seeds[random.below(seeds.size())];
  if (random.below(50) == 0)
    for (int32_t& each : one.words) each = word(random, one);
  for (size_t changes = random.below(4); changes > 0 && !one.words.empty(); --changes) {
    const size_t at = random.below(one.words.size());
    switch (random.below(8)) {
      case 0: one.words.insert(one.words.begin() + static_cast<ptrdiff_t>(at), word(random, one)); break;
      case 1: one.words.erase(one.words.begin() + static_cast<ptrdiff_t>(at)); break;
      case 2: one.words.resize(at); break;
      case 3: one.words[at] = static_cast<int32_t>(static_cast<uint32_t>(one.words[at]) + (random.below(2) == 0 ? 1u : ~0u)); break;
      case 4:
        if (!one.constants.empty()) {
          static const double odd[] = {-1, 0, 1e9, -1e300, 1e300, __builtin_inf(), __builtin_nan(""), 0.5, 5e-324};
          one.constants[random.below(one.constants.size())] = odd[random.below(sizeof odd / sizeof *odd)];
        }
        break;
      case 5: one.constants.resize(one.constants.size() / 2); break;
      default: one.words[at] = word(random, one); break;
    }
  }
  return one;
}

// Memory of a launch, each piece of its own, and the parameters that point there.
struct Arguments {
  Random& random;
  std::vector<std::unique_ptr<uint8_t[]>> pieces;
  std::vector<int64_t> words;
  int64_t total = 0;

  void* bytes(int64_t count) {
    total += count;
    pieces.emplace_back(new uint8_t[static_cast<size_t>(count)]);
    uint8_t* piece = pieces.back().get();
    for (int64_t i = 0; i < count; ++i) piece[i] = static_cast<uint8_t>(random.next() >> 11);
    return piece;
  }
  void* numbers(int64_t count, int64_t each) {
    auto* piece = static_cast<uint8_t*>(bytes(count * each));
    for (int64_t i = 0; i < count; ++i) {
      const double wide = static_cast<double>(random.below(9)) - 4;
      const float narrow = static_cast<float>(wide);
      if (each == 8) std::memcpy(piece + 8 * i, &wide, 8);
      if (each == 4) std::memcpy(piece + 4 * i, &narrow, 4);
    }
    return piece;
  }
  void pointer(const void* to) { words.push_back(static_cast<int64_t>(reinterpret_cast<intptr_t>(to))); }
  void number(double value) {
    words.push_back(0);
    std::memcpy(&words.back(), &value, 8);
  }
};

constexpr int64_t kMost = 1 << 22;
const int64_t kBytes[] = {8, 4, 2, 2, 8, 4, 1, 1, 1, 2, 4, 8};

// False where a launch would take more memory than this is worth.
bool mapArguments(const View& view, Arguments& to) {
  const int32_t* s = view.settings;
  const int32_t rank = s[0], results = s[1], inputs = s[2], indices = s[3], parameters = s[4];
  if (parameters > 1024) return false;
  std::vector<int64_t> extents;
  int64_t size = 1;
  for (int32_t i = 0; i < rank; ++i) {
    extents.push_back(1 + static_cast<int64_t>(to.random.below(i == rank - 1 ? 700 : 3)));
    size *= extents.back();
  }
  std::vector<int64_t> strides(static_cast<size_t>(rank));
  int64_t step = 1;
  for (int32_t i = rank - 1; i >= 0; --i) strides[static_cast<size_t>(i)] = step, step *= extents[static_cast<size_t>(i)];
  for (int32_t q = 0; q < inputs; ++q) to.pointer(to.numbers(size, kBytes[s[5 + results + q]]));
  for (int32_t r = 0; r < results; ++r) to.pointer(to.bytes(size * kBytes[s[5 + r]]));
  to.words.insert(to.words.end(), extents.begin(), extents.end());
  for (int32_t q = 0; q < results + inputs + indices; ++q) to.words.insert(to.words.end(), strides.begin(), strides.end());
  for (int32_t q = 0; q < indices; ++q) to.words.push_back(0);
  for (int32_t q = 0; q < parameters; ++q) to.number(1.5);
  return true;
}

bool mapReduceArguments(const View& view, Arguments& to) {
  const MapReduceSettings set(view.settings);
  const int64_t wide = view.float64 ? 8 : 4;
  const int64_t kept = 1 + static_cast<int64_t>(to.random.below(80)), reduced = static_cast<int64_t>(to.random.below(to.random.below(8) == 0 ? 1500 : 12));
  const int64_t batch = 1 + static_cast<int64_t>(to.random.below(2));
  // Components that each input must have.
  std::vector<int64_t> dims(static_cast<size_t>(set.inputs), 1);
  const auto needs = [&](int32_t input, int32_t component) {
    if (input >= 0 && dims[static_cast<size_t>(input)] <= component) dims[static_cast<size_t>(input)] = component + 1;
  };
  for (int32_t i = 0; i < set.own + set.other + set.parameters; ++i) needs(set.components()[2 * i], set.components()[2 * i + 1]);
  for (int32_t n = 0; n < set.gathers; ++n)
    for (int32_t c = 0; c < set.gather(n)[1]; ++c) needs(set.gather(n)[0], set.gather(n)[2 + c]);
  for (int32_t n = 0; n < set.pairs(); ++n) needs(set.pair(n)[0], set.pair(n)[1]);
  const int64_t longer = kept > reduced ? kept : reduced, rowsJ = set.axis == 1 ? reduced : kept;
  std::vector<int64_t> strides, tables, columns;
  for (int32_t q = 0; q < set.inputs; ++q) {
    const int64_t dim = dims[static_cast<size_t>(q)];
    const bool ofPairs = set.tablePlace(q) == kOfPairs;
    const int64_t rows = ofPairs ? kept * reduced : longer;
    if (dim > kMost / longer || rows > kMost / dim || to.total > 8 * kMost) return false;
    to.pointer(to.numbers(batch * rows * dim, kBytes[set.storage(q)]));
    strides.push_back(ofPairs ? rowsJ * dim : dim), strides.push_back(rows * dim);
    if (set.tablePlace(q) >= 0) tables.push_back(rows);
    if (ofPairs) columns.push_back(dim);
  }
  if (set.selects()) {
    // room for some of what a row may find
    const int64_t room = static_cast<int64_t>(to.random.below(4));
    auto* offsets = static_cast<int64_t*>(to.bytes(8 * (batch * kept + 1)));
    for (int64_t i = 0; i <= batch * kept; ++i) offsets[i] = i * room;
    to.pointer(offsets);
    to.pointer(to.bytes(4 * room * batch * kept));
    if (set.valueDim() > 1024) return false;
    if (set.valueDim() > 0) to.pointer(to.bytes(wide * room * batch * kept * set.valueDim()));
  }
  for (int32_t r = 0; !set.selects() && r < set.reductions; ++r) {
    const int32_t* one = set.reduction(r);
    const int64_t places = static_cast<int64_t>(one[1]) * (one[0] >= kKMin ? one[3] : 1);
    const int64_t values = one[0] == kLogSumExp ? one[2] : one[0] == kSumSoftMaxWeight ? one[2] - 1
                           : one[0] == kMaxSumShiftExp ? 1 + one[2] : places;
    if (places > 4096 || values > 4096 || to.total > 8 * kMost) return false;
    if (givesValues(one[0])) to.pointer(to.bytes(wide * batch * kept * values));
    if (givesIndices(one[0])) to.pointer(to.bytes(4 * batch * kept * places));
  }
  if (set.ranges == 1) {
    auto* task = static_cast<int64_t*>(to.bytes(32));
    auto* spans = static_cast<int64_t*>(to.bytes(32));
    task[0] = 0, task[1] = kept, task[2] = 0, task[3] = 2;
    spans[0] = 0, spans[1] = reduced / 2, spans[2] = spans[3] = reduced;
    to.pointer(task), to.pointer(spans);
  }
  to.words.push_back(set.axis == 1 ? kept : reduced);
  to.words.push_back(set.axis == 1 ? reduced : kept);
  to.words.push_back(batch);
  if (set.ranges == 1) to.words.push_back(1);
  to.words.insert(to.words.end(), strides.begin(), strides.end());
  to.words.insert(to.words.end(), tables.begin(), tables.end());
  to.words.insert(to.words.end(), columns.begin(), columns.end());
  return true;
}

bool pairwiseArguments(const View& view, Arguments& to) {
  const int64_t wide = view.float64 ? 8 : 4;
  const bool symmetric = view.settings[4] == 1;
  const int64_t m = 1 + static_cast<int64_t>(to.random.below(70));
  const int64_t n = symmetric ? m : 1 + static_cast<int64_t>(to.random.below(70)), k = static_cast<int64_t>(to.random.below(9));
  if (view.settings[5] > 1024) return false;
  to.pointer(to.numbers(m * k, wide)), to.pointer(to.numbers(n * k, wide)), to.pointer(to.bytes(wide * m * n));
  const int64_t sizes[] = {m, n, k, 1, view.settings[0] == 0 ? k : m, view.settings[1] == 0 ? k : n,
                           view.settings[2] == 0 ? n : m, m * k, n * k, m * n};
  to.words.insert(to.words.end(), sizes, sizes + 10);
  to.number(2);
  for (int32_t i = 0; i < view.settings[5]; ++i) to.words.insert(to.words.end(), {0, 0}), to.number(1.5);
  return true;
}

bool cdistGradArguments(const View& view, Arguments& to) {
  const int64_t wide = view.float64 ? 8 : 4;
  const int64_t m = 1 + static_cast<int64_t>(to.random.below(70)), n = 1 + static_cast<int64_t>(to.random.below(3));
  const int64_t o = 1 + static_cast<int64_t>(to.random.below(20)), k = static_cast<int64_t>(to.random.below(11));
  for (const int64_t size : {k * m, n * k, o * k, n * m}) to.pointer(to.numbers(size, wide));
  to.pointer(to.bytes(wide * o * n * m));
  const int64_t sizes[] = {m, n, o, k, 1, m, k, k, m, m, n * m, k * m, n * k, o * k, n * m, o * n * m};
  to.words.insert(to.words.end(), sizes, sizes + 16);
  to.words.insert(to.words.end(), {0, 0}), to.number(1.5);
  return true;
}

// Reads and checks gradients, and does not run them: their parameters are many.
bool arguments(const View& view, Arguments& to) {
  switch (view.family) {
    case Family::kMap: return mapArguments(view, to);
    case Family::kMapReduce: return mapReduceArguments(view, to);
    case Family::kPairwise: return pairwiseArguments(view, to);
    case Family::kCdistGrad: return cdistGradArguments(view, to);
    default: return false;
  }
}

// Whether it was accepted, and whether it was run.
struct Outcome {
  bool accepted, run;
};

Outcome judge(const Seed& seed, Random& random) {
  std::shared_ptr<const Program> program;
  try {
    // copies of their exact size: a read beyond is seen
    const std::unique_ptr<int32_t[]> words(new int32_t[seed.words.size()]);
    const std::unique_ptr<double[]> constants(new double[seed.constants.size()]);
    std::copy(seed.words.begin(), seed.words.end(), words.get());
    std::copy(seed.constants.begin(), seed.constants.end(), constants.get());
    program = Program::make(words.get(), seed.words.size(), constants.get(), seed.constants.size());
  } catch (const mercer::cpu::RuntimeError&) {
    return {false, false};
  }
  Arguments to{random, {}, {}, 0};
  if (!arguments(program->view(), to)) return {true, false};
  if (program->argBytes() != 8 * to.words.size()) {
    std::fprintf(stderr, "the parameters are %zu bytes, and the program takes %zu\n", 8 * to.words.size(), program->argBytes());
    std::abort();
  }
  const Cut cut = kFuzzed.cut(program->view(), to.words.data(), 2);
  if (cut.scratchBytes > size_t{1} << 26) return {true, false};
  const size_t scratchBytes = (cut.scratchBytes + 63) / 64 * 64;
  void* scratch = std::aligned_alloc(64, scratchBytes);
  std::memset(scratch, 0xff, scratchBytes);
  kFuzzed.run(program->view(), to.words.data(), cut.block, 0, cut.tasks, scratch);
  std::free(scratch);
  return {true, true};
}

std::vector<Seed> readSeeds(const char* path) {
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr) std::exit(2);
  std::vector<Seed> seeds;
  int32_t counts[2];
  while (std::fread(counts, sizeof(int32_t), 2, file) == 2) {
    Seed seed;
    seed.words.resize(static_cast<size_t>(counts[0]));
    seed.constants.resize(static_cast<size_t>(counts[1]));
    if (std::fread(seed.words.data(), sizeof(int32_t), seed.words.size(), file) != seed.words.size()) std::exit(2);
    if (std::fread(seed.constants.data(), sizeof(double), seed.constants.size(), file) != seed.constants.size()) std::exit(2);
    seeds.push_back(std::move(seed));
  }
  std::fclose(file);
  return seeds;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const std::vector<Seed> seeds = readSeeds(arguments[1]);
  const long long first = std::atoll(arguments[2]), number = std::atoll(arguments[3]);
  long long accepted = 0, run = 0;
  // The seeds themselves first: all of them are accepted.
  for (size_t i = 0; first == 0 && i < seeds.size(); ++i) {
    Random random{i};
    if (!judge(seeds[i], random).accepted) {
      std::fprintf(stderr, "program %zu was refused as it is\n", i);
      return 1;
    }
  }
  for (long long i = first; i < first + number; ++i) {
    std::fprintf(stderr, "\r%lld", i);  // the last is the one that failed
    Random random{static_cast<uint64_t>(i) * 0x2545f4914f6cdd1d};
    const Seed one = mutant(random, seeds);
    const Outcome outcome = judge(one, random);
    accepted += outcome.accepted, run += outcome.run;
  }
  std::printf("%zu programs, %lld mutants: %lld accepted, %lld run\n", seeds.size(), number, accepted, run);
  return 0;
}
