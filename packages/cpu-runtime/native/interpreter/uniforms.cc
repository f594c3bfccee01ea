// Values of the launch, one number each, in double precision with the C library's functions: what compiled kernels do.
#include <cmath>

#include "program.h"

namespace mercer::cpu::interpreter {

namespace {

double power(double x, double y) { return std::pow(x, y); }

double apply(Operation operation, double x, double y, double z) {
  switch (operation) {
    case Operation::k_copy: return x;
    case Operation::k_add: return x + y;
    case Operation::k_sub: return x - y;
    case Operation::k_mul: return x * y;
    case Operation::k_div: return x / y;
    case Operation::k_neg: return -x;
    case Operation::k_abs: return std::fabs(x);
    case Operation::k_sign: return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x;
    case Operation::k_sqrt: return std::sqrt(x);
    case Operation::k_rsqrt: return x == 0.0 ? 0.0 : 1.0 / std::sqrt(x);
    case Operation::k_powNonNegative:
    case Operation::k_powAny: return power(x, y);
    case Operation::k_exp: return std::exp(x);
    case Operation::k_log: return std::log(x);
    case Operation::k_tanh: return std::tanh(x);
    // A comparison with NaN is false, so the second argument's NaN is taken as it is.
    case Operation::k_min: return x < y || x != x ? x : y;
    case Operation::k_max: return x > y || x != x ? x : y;
    case Operation::k_lt: return x < y;
    case Operation::k_le: return x <= y;
    case Operation::k_gt: return x > y;
    case Operation::k_ge: return x >= y;
    case Operation::k_eq: return x == y;
    case Operation::k_ne: return x != y;
    case Operation::k_select: return x != 0.0 ? y : z;
    case Operation::k_multiplyAdd: return x * y + z;
    case Operation::k_absoluteDifference: return std::fabs(x - y);
    case Operation::k_squaredDifference: return (x - y) * (x - y);
    case Operation::k_addAbsoluteDifference: return z + std::fabs(x - y);
    case Operation::k_addSquaredDifference: return (x - y) * (x - y) + z;
    case Operation::k_maxAbsoluteDifference: return std::fmax(z, std::fabs(x - y));
    case Operation::k_addPower3: return std::pow(std::fabs(x - y), 3) + z;
    case Operation::k_addPower4: return std::pow(std::fabs(x - y), 4) + z;
    case Operation::k_addPower5: return std::pow(std::fabs(x - y), 5) + z;
    case Operation::k_addPower6: return std::pow(std::fabs(x - y), 6) + z;
    case Operation::k_addPower7: return std::pow(std::fabs(x - y), 7) + z;
    case Operation::k_addPower8: return std::pow(std::fabs(x - y), 8) + z;
    case Operation::k_scaledDifference: return x * (y - z);
    case Operation::k_scaledAbsoluteDifference: return x * std::fabs(y - z);
    case Operation::k_scaledSign: return x * apply(Operation::k_sign, y - z, 0, 0);
    case Operation::k_mulAbsolute: return x * std::fabs(y);
    case Operation::k_expOfNegative: return std::exp(-x);
    default: break;  // functions, which are refused here
  }
  return 0;
}

}  // namespace

void evaluateUniforms(const View& view, const double* inputs, double* registers, double* values) {
  const Code& code = view.codes[0];
  if (code.rootCount == 0) return;
  const auto read = [&](int32_t number) {
    const Slot& slot = code.slots[number];
    return slot.kind == SlotKind::kConstant ? view.constants[slot.index]
           : slot.kind == SlotKind::kInput  ? inputs[slot.index]
                                            : registers[static_cast<size_t>(slot.index)];
  };
  for (int32_t i = 0; i < code.instructionCount; ++i) {
    const Instruction& one = code.instructions[i];
    const double a = read(one.a);
    const int32_t arity = arityOf(one.operation);
    registers[static_cast<size_t>(code.slots[one.to].index)] =
        apply(one.operation, a, arity > 1 ? read(one.b) : 0, arity > 2 ? read(one.c) : 0);
  }
  for (int32_t i = 0; i < code.rootCount; ++i) values[i] = read(code.roots[i]);
}

}  // namespace mercer::cpu::interpreter
