// Reading and checking a program: what passes here can run without a check.
#include <cmath>
#include <string>

#include "../error.h"
#include "program-value.h"

namespace mercer::cpu::interpreter {

namespace {

constexpr int32_t kMostSegments = 512;
constexpr int32_t kVersion = 7;
constexpr int32_t kMostRegisters = 1 << 16;
constexpr int32_t kMostSlots = 1 << 21;
constexpr int32_t kMostSettings = 1 << 20;
constexpr int32_t kMostInputs = 1 << 18;
constexpr int32_t kMostComponents = 1 << 20;
constexpr int32_t kMostDims = 8;
constexpr int32_t kMostOperands = 1 << 16;
constexpr double kMostOrder = 1 << 20;

[[noreturn]] void refuse(const std::string& why) {
  fail("INVALID_ARGUMENT",
       "making a tile program failed: " + why +
           ". Pass what @mercer/kernels of the same version emitted.");
}

void require(bool holds, const char* why) {
  if (!holds) refuse(why);
}

bool givesMask(Operation operation) {
  return operation >= Operation::k_lt && operation <= Operation::k_ne;
}

bool readsOrder(Operation operation) {
  return operation == Operation::k_math_besselK || operation == Operation::k_math_radialBesselK;
}

// What an owner of a register holds, slot by slot.
enum class Held : uint8_t { kNothing, kNumber, kMask, kTable };

}  // namespace

class Reader {
 public:
  Reader(Program& program) : program_(program), words_(program.words_) {}

  void read() {
    require(next() == kVersion, "its version is another");
    const int32_t family = next(), wide = next();
    require(family >= 0 && family < kFamilies, "it is of no known family");
    require(wide == 0 || wide == 1, "its data type is neither float32 nor float64");
    program_.view_.family = static_cast<Family>(family);
    program_.view_.float64 = wide == 1;
    settingCount_ = count(kMostSettings);
    program_.view_.settings = take(settingCount_);
    const int32_t codes = count(kMostInputs);
    for (int32_t i = 0; i < codes; ++i) readCode();
    require(at_ == words_.size(), "it has words behind its end");
    program_.view_.codes = program_.codes_.data();
    program_.view_.constants = program_.constants_.data();
    checkFamily();
    for (Code& code : program_.codes_) findReaders(code);
  }

 private:
  int32_t next() {
    require(at_ < words_.size(), "it ends too early");
    return words_[at_++];
  }

  int32_t count(int32_t most) {
    const int32_t value = next();
    require(value >= 0 && value <= most, "a count is out of range");
    return value;
  }

  const int32_t* take(int32_t number) {
    require(static_cast<size_t>(number) <= words_.size() - at_, "it ends too early");
    const int32_t* first = words_.data() + at_;
    at_ += static_cast<size_t>(number);
    return first;
  }

  void readCode() {
    static_assert(sizeof(Slot) == 2 * sizeof(int32_t), "slots are read in place");
    static_assert(sizeof(Instruction) == 5 * sizeof(int32_t), "instructions are read in place");
    Code code{};
    code.slotCount = count(kMostSlots);
    code.slots = reinterpret_cast<const Slot*>(take(2 * code.slotCount));
    code.instructionCount = count(kMostSlots);
    code.instructions = reinterpret_cast<const Instruction*>(take(5 * code.instructionCount));
    code.rootCount = count(kMostInputs);
    code.roots = take(code.rootCount);
    code.registers = count(kMostRegisters);
    program_.codes_.push_back(code);
  }

  // Instructions that read the value of the one before, which nobody else reads, and those whose own value none reads.
  void findReaders(Code& code) {
    const auto operands = [](const Instruction& one, const auto& each) {
      const int32_t arity = arityOf(one.operation);
      each(one.a);
      if (arity > 1) each(one.b);
      if (arity > 2) each(one.c);
    };
    std::vector<int32_t> uses(static_cast<size_t>(code.slotCount), 0);
    std::vector<bool> isRoot(static_cast<size_t>(code.slotCount), false);
    for (int32_t i = 0; i < code.instructionCount; ++i)
      operands(code.instructions[i], [&](int32_t slot) { ++uses[static_cast<size_t>(slot)]; });
    for (int32_t i = 0; i < code.rootCount; ++i) isRoot[static_cast<size_t>(code.roots[i])] = true;
    std::vector<uint8_t> follows, unread;
    for (int32_t i = 0; i < code.instructionCount; ++i) {
      const int32_t before = i > 0 ? code.instructions[i - 1].to : -1;
      int32_t reads = 0;
      operands(code.instructions[i], [&](int32_t slot) { reads += slot == before ? 1 : 0; });
      follows.push_back(reads > 0 && uses[static_cast<size_t>(before)] == reads && !isRoot[static_cast<size_t>(before)]);
      unread.push_back(uses[static_cast<size_t>(code.instructions[i].to)] == 0);
    }
    program_.follows_.push_back(std::move(follows));
    program_.unread_.push_back(std::move(unread));
    code.follows = program_.follows_.back().data();
    code.unread = program_.unread_.back().data();
  }

  int32_t setting(int32_t i) const {
    require(i < settingCount_, "it has too few settings");
    return program_.view_.settings[i];
  }

  int32_t setting(int32_t i, int32_t least, int32_t most) const {
    const int32_t value = setting(i);
    if (value < least || value > most)
      refuse("setting " + std::to_string(i) + " is " + std::to_string(value) + ", not from " +
             std::to_string(least) + " to " + std::to_string(most));
    return value;
  }

  void settings(int32_t number) const {
    require(settingCount_ == number, "it has another number of settings than its family");
  }

  void codes(size_t number) const {
    require(program_.codes_.size() == number, "it has another number of codes than its family");
  }

  // Slots name what there is, operands were written before and not overwritten since, types fit.
  void checkCode(int32_t number, int32_t inputs, int32_t uniforms, int32_t roots) const {
    const Code& code = program_.codes_[static_cast<size_t>(number)];
    std::vector<Held> held(static_cast<size_t>(code.slotCount), Held::kNothing);
    std::vector<int32_t> owner(static_cast<size_t>(code.registers), -1);
    std::vector<bool> given(static_cast<size_t>(inputs), false);
    std::vector<int32_t> writes(static_cast<size_t>(code.registers), 0);
    for (int32_t i = 0; i < code.slotCount; ++i) {
      const Slot& slot = code.slots[i];
      const int32_t limit = limitOf(slot.kind, inputs, uniforms, code.registers);
      require(slot.index >= 0 && slot.index < limit, "a slot names what is not there");
      if (slot.kind == SlotKind::kInput) {
        require(!given[static_cast<size_t>(slot.index)], "two slots are one input");
        given[static_cast<size_t>(slot.index)] = true;
      }
      if (slot.kind == SlotKind::kTable) held[static_cast<size_t>(i)] = Held::kTable;
      else if (slot.kind != SlotKind::kRegister) held[static_cast<size_t>(i)] = Held::kNumber;
    }
    const auto use = [&](int32_t slot, Held wanted) {
      require(slot >= 0 && slot < code.slotCount, "an operand is no slot");
      require(held[static_cast<size_t>(slot)] == wanted, "an operand is not written or has another type");
      const Slot& of = code.slots[slot];
      require(of.kind != SlotKind::kRegister || owner[static_cast<size_t>(of.index)] == slot,
              "an operand was overwritten");
    };
    for (int32_t i = 0; i < code.instructionCount; ++i) {
      const Instruction& one = code.instructions[i];
      const auto operation = static_cast<int32_t>(one.operation);
      require(operation >= 0 && operation < static_cast<int32_t>(Operation::kCount),
              "an instruction has no known operation");
      const int32_t arity = arityOf(one.operation);
      use(one.a, one.operation == Operation::k_select ? Held::kMask : Held::kNumber);
      const int32_t numbers = tableLengthOf(one.operation);
      if (arity > 1) use(one.b, numbers > 0 ? Held::kTable : Held::kNumber);
      require(numbers == 0 || static_cast<size_t>(code.slots[one.b].index) + static_cast<size_t>(numbers) <=
                                  program_.constants_.size(),
              "a table is too short");
      if (readsOrder(one.operation)) {
        // the second number is how many times the function repeats its recurrence
        const double order = program_.constants_[static_cast<size_t>(code.slots[one.b].index) + 1];
        require(order >= 0 && order <= kMostOrder && order == std::floor(order), "an order is out of range");
      }
      if (arity > 2) use(one.c, Held::kNumber);
      require((arity > 1 || one.b == -1) && (arity > 2 || one.c == -1), "an operand that is not read is not -1");
      require(one.to >= 0 && one.to < code.slotCount, "a result is no slot");
      require(code.slots[one.to].kind == SlotKind::kRegister, "a result is no register");
      require(held[static_cast<size_t>(one.to)] == Held::kNothing, "a slot is written twice");
      held[static_cast<size_t>(one.to)] = givesMask(one.operation) ? Held::kMask : Held::kNumber;
      const auto place = static_cast<size_t>(code.slots[one.to].index);
      owner[place] = one.to;
      ++writes[place];
    }
    require(code.rootCount == roots, "a code has another number of results than its family");
    for (int32_t i = 0; i < code.rootCount; ++i) {
      use(code.roots[i], Held::kNumber);
      const Slot& slot = code.slots[code.roots[i]];
      require(slot.kind == SlotKind::kRegister && writes[static_cast<size_t>(slot.index)] == 1,
              "a result shares its register");
      ++writes[static_cast<size_t>(slot.index)];  // two results are two registers
    }
  }

  int32_t limitOf(SlotKind kind, int32_t inputs, int32_t uniforms, int32_t registers) const {
    switch (kind) {
      case SlotKind::kConstant:
      case SlotKind::kTable:
        return static_cast<int32_t>(program_.constants_.size());
      case SlotKind::kUniform:
      case SlotKind::kUniformLow:
        return uniforms;
      case SlotKind::kInput:
        return inputs;
      case SlotKind::kRegister:
        return registers;
    }
    refuse("a slot is of no known kind");
  }

  // Code 0 of the families that have values of the launch: `inputs` numbers in, as many uniform values out as it has results.
  int32_t checkUniforms(int32_t inputs) const {
    const Code& code = program_.codes_[0];
    const int32_t uniforms = code.rootCount;
    checkCode(0, inputs, 0, uniforms);
    for (int32_t i = 0; i < code.instructionCount; ++i)
      require(!isFunction(code.instructions[i].operation), "a value of the launch calls a function");
    return uniforms;
  }

  void checkFamily() {
    switch (program_.view_.family) {
      case Family::kMap:
        return checkMap();
      case Family::kMapReduce:
        return checkMapReduce();
      case Family::kPairwise:
        return checkPairwise();
      case Family::kCdistGrad:
        return checkCdistGrad();
    }
  }

  void args(int32_t words) { program_.argBytes_ = 8 * static_cast<size_t>(words); }

  void checkMap() {
    codes(2);
    const int32_t rank = setting(0, 1, kMostDims), results = setting(1, 1, kMostOperands);
    const int32_t inputs = setting(2, 0, kMostOperands);
    const int32_t indices = setting(3, 0, kMostOperands), parameters = setting(4, 0, kMostInputs);
    const int32_t operands = results + inputs;
    for (int32_t i = 0; i < operands; ++i) setting(5 + i, 0, 7);
    const int32_t segments = setting(5 + operands, 1, kMostSegments);
    settings(6 + operands);
    checkCode(1, inputs + indices, checkUniforms(parameters), results);
    args(segments * (operands + rank * (1 + operands + indices) + indices) + parameters);
  }

  void checkMapReduce() {
    for (int32_t i = 0; i < 2; ++i) setting(i, 0, 1);
    setting(2, -1, 1 + kMostInputs);
    setting(3, 1, kMostInputs);
    for (int32_t i = 4; i < 9; ++i) setting(i, 0, kMostInputs);
    const MapReduceSettings set(program_.view_.settings);
    const int32_t components = set.own + set.other + set.parameters;
    int32_t end = 9 + 5 * set.reductions + 2 * set.inputs + 2 * components;
    require(end <= settingCount_, "it has too few settings");
    int32_t results = 0, pointers = 0;
    for (int32_t r = 0; r < set.reductions; ++r) {
      results += checkReduction(9 + 5 * r, &pointers);
      require(results <= kMostInputs, "it reduces too many values");
    }
    int32_t tables = 0;
    for (int32_t i = 0, at = 9 + 5 * set.reductions; i < set.inputs; ++i, at += 2) {
      const int32_t own = program_.view_.float64 ? 0 : 1;
      setting(at, own, program_.view_.float64 ? 0 : 3);
      if (setting(at + 1, kOfPairs, tables) >= 0) ++tables;
      require(setting(at + 1) < 0 || setting(at + 1) == tables - 1, "tables are out of order");
    }
    for (int32_t i = 0, at = end - 2 * components; i < components; ++i, at += 2) {
      const int32_t input = setting(at, i < set.own + set.other ? -1 : 0, set.inputs - 1);
      require(input < 0 || set.tablePlace(input) != kOfPairs, "a row is read of values of pairs");
      setting(at + 1, 0, kMostComponents);
    }
    int32_t gathered = 0;
    for (int32_t n = 0; n < set.gathers; ++n) {
      const int32_t table = setting(end, 0, set.inputs - 1), count = setting(end + 1, 0, kMostInputs);
      require(set.tablePlace(table) >= 0, "rows by index are of no table");
      for (int32_t c = 0; c < count; ++c) setting(end + 2 + c, 0, kMostComponents);
      gathered += count, end += 2 + count;
      require(gathered <= kMostInputs, "it gathers too much");
    }
    const int32_t pairInputs = set.pairInputs(set.inputs);
    const int32_t pairs = pairInputs > 0 ? setting(end++, 0, kMostInputs) : 0;
    for (int32_t n = 0; n < pairs; ++n, end += 2) {
      require(set.tablePlace(setting(end, 0, set.inputs - 1)) == kOfPairs, "values of pairs are of other inputs");
      setting(end + 1, 0, kMostComponents);
    }
    settings(end);
    codes(static_cast<size_t>(set.gatherCode(set.gathers)));
    const int32_t ownRoots = program_.codes_[0].rootCount, otherRoots = program_.codes_[1].rootCount;
    const int32_t inputs = components + ownRoots + otherRoots + gathered + pairs;
    checkCode(0, set.own + set.parameters, 0, ownRoots);
    checkCode(1, set.other + set.parameters, 0, otherRoots);
    if (set.bins()) {
      require(set.reductions == 1 && set.reduction(0)[0] == kSum, "places are of one sum alone");
      require(set.reduction(0)[4] != kBlocks && set.reduction(0)[4] != kWideBlocks, "sums at places are of blocks");
    }
    checkCode(2, inputs, 0, set.selects() ? 1 : set.bins() ? 2 : results);
    if (set.valueCode() > 0) checkCode(set.valueCode(), inputs, 0, set.valueDim());
    for (int32_t n = 0; n < set.gathers; ++n) checkCode(set.gatherCode(n), inputs, 0, 1);
    if (set.selects()) pointers = set.valueDim() > 0 ? 3 : 2;
    args(3 * set.inputs + pointers + (set.ranges == 1 ? 6 : 3) + tables + pairInputs);
  }

  // How many values a reduction takes; what it writes is counted.
  int32_t checkReduction(int32_t at, int32_t* pointers) const {
    const int32_t kind = setting(at, 0, kKMaxArgKMax), dim = setting(at + 1, 1, kMostInputs);
    const int32_t weights = setting(at + 2, 0, kMostInputs), k = setting(at + 3, 1, kMostInputs);
    const int32_t sums = setting(at + 4, kBlocks, kWideTerms);
    require(isExponential(kind) ? dim == 1 && weights >= 1 : weights == 0,
            "the numbers of values do not fit the reduction");
    require(static_cast<int64_t>(dim) * k + weights <= kMostInputs, "the result is too long");
    require(sums == kBlocks || kind == kSum || kind == kMean || isExponential(kind),
            "a reduction without sums says how they are added up");
    require(sums < kWideBlocks || !program_.view_.float64, "sums are wider than float64");
    *pointers += (givesValues(kind) ? 1 : 0) + (givesIndices(kind) ? 1 : 0);
    return dim + weights;
  }

  void checkPairwise() {
    settings(6), codes(3);
    for (int32_t i = 0; i < 3; ++i) setting(i, 0, 1);
    setting(3, 0, 2), setting(4, 0, 1);
    const int32_t parameters = setting(5, 0, kMostInputs);
    const int32_t uniforms = checkUniforms(1 + parameters);
    checkCode(1, 3, uniforms, 1);
    checkCode(2, 1, uniforms, 1);
    args(14 + 3 * parameters);
  }

  void checkCdistGrad() {
    settings(0), codes(2);
    checkCode(1, 3, checkUniforms(1), 1);
    args(24);
  }

  Program& program_;
  const std::vector<int32_t>& words_;
  size_t at_ = 0;
  int32_t settingCount_ = 0;
};

std::shared_ptr<const Program> Program::make(const int32_t* words, size_t wordCount,
                                             const double* constants, size_t constantCount) {
  std::shared_ptr<Program> program(new Program());
  program->words_.assign(words, words + wordCount);
  program->constants_.assign(constants, constants + constantCount);
  Reader(*program).read();
  return program;
}

}  // namespace mercer::cpu::interpreter
