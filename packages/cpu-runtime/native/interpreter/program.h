// A tile program: what the interpreter runs in place of a compiled kernel. Checked once, when it is made; see DESIGN.md.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace mercer::cpu::interpreter {

enum class Family : int32_t { kMap, kMapReduce, kPairwise, kCdistGrad };
constexpr int32_t kFamilies = (int32_t)Family::kCdistGrad + 1;

enum class Operation : int32_t {
#define MERCER_UNARY(name, weight, value) k_##name,
#define MERCER_BINARY(name, weight, value) k_##name,
#define MERCER_COMPARISON(name, value) k_##name,
#define MERCER_TERNARY(name, weight, value) k_##name,
#define MERCER_TABLE(name, numbers, function) k_##name,
#include "operations.inc"
#undef MERCER_UNARY
#undef MERCER_BINARY
#undef MERCER_COMPARISON
#undef MERCER_TERNARY
#undef MERCER_TABLE
  kCount
};

constexpr int32_t kArities[] = {
#define MERCER_UNARY(name, weight, value) 1,
#define MERCER_BINARY(name, weight, value) 2,
#define MERCER_COMPARISON(name, value) 2,
#define MERCER_TERNARY(name, weight, value) 3,
#define MERCER_TABLE(name, numbers, function) 2,
#include "operations.inc"
#undef MERCER_UNARY
#undef MERCER_BINARY
#undef MERCER_COMPARISON
#undef MERCER_TERNARY
#undef MERCER_TABLE
};
constexpr int32_t arityOf(Operation operation) { return kArities[static_cast<int32_t>(operation)]; }

// How many numbers the second operand of an operation is, 0 where that is a value.
constexpr int32_t kTableLengths[] = {
#define MERCER_UNARY(name, weight, value) 0,
#define MERCER_BINARY(name, weight, value) 0,
#define MERCER_COMPARISON(name, value) 0,
#define MERCER_TERNARY(name, weight, value) 0,
#define MERCER_TABLE(name, numbers, function) numbers,
#include "operations.inc"
#undef MERCER_UNARY
#undef MERCER_BINARY
#undef MERCER_COMPARISON
#undef MERCER_TERNARY
#undef MERCER_TABLE
};
constexpr int32_t tableLengthOf(Operation operation) { return kTableLengths[static_cast<int32_t>(operation)]; }

// Functions by name: for values of tiles alone, not for those of a launch.
constexpr bool isFunction(Operation operation) { return operation >= Operation::k_math_floor; }

// Where the value of an operand is: a constant, a value that is the same for all elements (rounded, and what rounding lost),
// an input of the code, or a tile register. A table begins at a constant.
enum class SlotKind : int32_t { kConstant, kUniform, kUniformLow, kInput, kRegister, kTable };

struct Slot {
  SlotKind kind;
  int32_t index;
};

// Every field but the operation is the number of a slot.
struct Instruction {
  Operation operation;
  int32_t to, a, b, c;
};

// Straight-line code over tiles. Every root is a register that nothing else is written to.
struct Code {
  const Slot* slots;
  int32_t slotCount;
  const Instruction* instructions;
  int32_t instructionCount;
  const int32_t* roots;
  int32_t rootCount;
  int32_t registers;
  // Of every instruction whether it reads the value of the one before, which nobody else reads; and whether no instruction reads its own.
  const uint8_t* follows;
  const uint8_t* unread;
};

// Operations of which the first two operands may change places.
constexpr bool commutes(Operation operation) {
  switch (operation) {
    case Operation::k_add:
    case Operation::k_mul:
    case Operation::k_multiplyAdd:
    case Operation::k_absoluteDifference:
    case Operation::k_squaredDifference:
    case Operation::k_addAbsoluteDifference:
    case Operation::k_addSquaredDifference:
    case Operation::k_addPower3:
    case Operation::k_addPower4:
    case Operation::k_maxAbsoluteDifference:
      return true;
    default:
      return false;
  }
}

// What the levels see of a program: plain memory, because code for other processors must not share inline functions with
// the rest of the addon.
struct View {
  Family family;
  bool float64;
  const int32_t* settings;
  const double* constants;
  const Code* codes;
};

// The reductions of the map-reduce family; packages/kernels/src/interpret/map-reduce-program.ts has the same list.
enum Reduction : int32_t {
  kSum, kProd, kMean, kAny, kAll, kCount, kLogSumExp, kSumSoftMaxWeight, kMaxSumShiftExp, kVar,
  kMin, kMax, kArgMin, kArgMax, kMinArgMin, kMaxArgMax,
  kKMin, kArgKMin, kKMinArgKMin, kKMax, kArgKMax, kKMaxArgKMax,
};

constexpr bool isExponential(int32_t kind) { return kind >= kLogSumExp && kind <= kMaxSumShiftExp; }
constexpr bool isLeast(int32_t kind) {
  return kind == kMin || kind == kArgMin || kind == kMinArgMin || (kind >= kKMin && kind <= kKMinArgKMin);
}
constexpr bool givesValues(int32_t kind) {
  return kind != kArgMin && kind != kArgMax && kind != kArgKMin && kind != kArgKMax;
}
constexpr bool givesIndices(int32_t kind) {
  return kind >= kArgMin && kind != kKMin && kind != kKMax;
}

// How sums are added up: of blocks, of terms, with what each addition lost, and the first two in double precision.
enum Sums : int32_t { kBlocks, kTerms, kCompensated, kWideBlocks, kWideTerms };

// In place of a table's number: an input with values of pairs.
constexpr int32_t kOfPairs = -2;

// The settings of a map-reduce, whose program is written by packages/kernels/src/interpret/map-reduce-program.ts: nine numbers,
// of each reduction its kind, dim, weights, k and sums, of each input its element type and its place among the tables (or -1, or
// kOfPairs), of each component of own rows, other rows and parameters its input and place, of each gathered row its table and
// components; where inputs have values of pairs the number of components of such values, and of each its input and place.
struct MapReduceSettings {
  MapReduceSettings() = default;
  explicit MapReduceSettings(const int32_t* settings)
      : s(settings), axis(s[0]), ranges(s[1]), selection(s[2]), reductions(s[3]), inputs(s[4]), own(s[5]),
        other(s[6]), parameters(s[7]), gathers(s[8]) {}

  const int32_t* s;
  int32_t axis, ranges, selection, reductions, inputs, own, other, parameters, gathers;

  bool selects() const { return selection > 0; }
  // A sum of which every pair has one component at most: it computes the place and what is added there.
  bool bins() const { return selection < 0; }
  int32_t valueDim() const { return selection - 1; }
  const int32_t* reduction(int32_t r) const { return s + 9 + 5 * r; }
  int32_t storage(int32_t input) const { return s[9 + 5 * reductions + 2 * input]; }
  int32_t tablePlace(int32_t input) const { return s[10 + 5 * reductions + 2 * input]; }
  const int32_t* components() const { return s + 9 + 5 * reductions + 2 * inputs; }
  const int32_t* gather(int32_t n) const {
    const int32_t* one = components() + 2 * (own + other + parameters);
    for (; n > 0; n--) one += 2 + one[1];
    return one;
  }
  // Inputs with values of pairs before `input`.
  int32_t pairInputs(int32_t before) const {
    int32_t count = 0;
    for (int32_t i = 0; i < before; i++) count += tablePlace(i) == kOfPairs;
    return count;
  }
  int32_t pairs() const { return pairInputs(inputs) > 0 ? gather(gathers)[0] : 0; }
  const int32_t* pair(int32_t n) const { return gather(gathers) + 1 + 2 * n; }
  // Codes: own rows, other rows, pairs, what a selection writes, places of gathered rows.
  int32_t valueCode() const { return selection > 1 ? 3 : 0; }
  int32_t gatherCode(int32_t n) const { return (selection > 1 ? 4 : 3) + n; }
};

// How a launch is cut. `block` is the level's own: kept rows of a task.
struct Cut {
  int64_t tasks;
  int64_t chunk;
  int64_t block;
  size_t scratchBytes;
};

// The interpreter as built for one instruction set.
struct Level {
  const char* name;
  Cut (*cut)(const View& view, const void* args, int64_t threads);
  void (*run)(const View& view, const void* args, int64_t block, int64_t begin, int64_t end,
              void* scratch);
};

// Values that are the same for all elements, in double precision: the roots of code 0.
void evaluateUniforms(const View& view, const double* inputs, double* registers, double* values);

}  // namespace mercer::cpu::interpreter
