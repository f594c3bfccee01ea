import { dtypeBytes } from '../dtype.js';
import { argumentsStruct, snakeCase, STANDARD_INTEGERS } from '../emit/parameter-text.js';
import type { CpuKernel } from '../emitted-kernel.js';
import { textProgram } from '../interpret/text-program.js';
import { PARAMETER_VALUE } from './cpu-uniforms.js';
import type { CpuPairwisePlan } from './cpu-plan.js';
import { diagonalLength, diagonalParams } from './params.js';

const ENTRY = 'mercer_pairwise_diagonal';
/** Elements of one task. */
const TASK_ELEMENTS = 4096;

/** What the text of the step depends on. */
type DiagonalPlan = Pick<CpuPairwisePlan, 'dtype' | 'layoutOut' | 'diagonal'>;

/** The last step of a plan that regularises a diagonal of the output. */
export function cpuDiagonalKernel(plan: DiagonalPlan): CpuKernel {
  const total = (scalars: Readonly<Record<string, number>>): number =>
    (scalars['batch'] ?? 0) * diagonalLength(scalars);
  const source = sourceText(plan);
  return {
    dialect: 'cpu',
    name: `pairwise ${plan.dtype} diagonal ${plan.diagonal ?? ''}`,
    entry: ENTRY,
    source,
    program: textProgram(source),
    params: diagonalParams(plan.dtype),
    options: [],
    geometry: (scalars) => ({
      tasks: Math.ceil(total(scalars) / TASK_ELEMENTS),
      chunk: 1,
      scratchBytes: 0,
    }),
    cost: (scalars) => ({
      bytes: total(scalars) * dtypeBytes(plan.dtype) * (plan.diagonal === 'set' ? 1 : 2),
      flops: total(scalars),
    }),
  };
}

/** `batchStrideOut` as `batch_out`, `regularizationAt` as `at`. */
const nameOf = (name: string): string =>
  snakeCase(name.replace('batchStride', 'batch').replace(/^(regularization|diagonal)/, '')).replace(
    /^_/,
    '',
  );

function sourceText(plan: DiagonalPlan): string {
  const [row, column] = plan.layoutOut === 'row' ? ['ldo', '1'] : ['1', 'ldo'];
  return `#include <stdint.h>
#define INLINE static inline __attribute__((always_inline, unused))
typedef ${plan.dtype === 'float32' ? 'float' : 'double'} T;
${PARAMETER_VALUE}
${argumentsStruct(diagonalParams(plan.dtype), {
  integers: STANDARD_INTEGERS,
  inLines: true,
  dtypeOfT: plan.dtype,
  nameOf,
})}

// elements with n = m + offset
extern "C" void ${ENTRY}(const void* args, int64_t begin, int64_t end, void*) {
  const Args& g = *(const Args*)args;
  const int64_t row = g.offset < 0 ? -g.offset : 0, column = g.offset > 0 ? g.offset : 0;
  const int64_t rows = g.m - row, columns = g.n - column, count = rows < columns ? rows : columns;
  if (count <= 0) return;
  const int64_t ldo = g.ldo, total = count * g.batch;
  const int64_t last = end * ${TASK_ELEMENTS} < total ? end * ${TASK_ELEMENTS} : total;
  for (int64_t e = begin * ${TASK_ELEMENTS}; e < last; e++) {
    const int64_t layer = e / count, i = e - layer * count;
    const double r = parameter_value(g.at, g.stride, g.value, layer);
    T& element = g.out[layer * g.batch_out + (row + i) * ${row} + (column + i) * ${column}];
    element = (T)(${plan.diagonal === 'set' ? '1' : '(double)element'} + r);
  }
}
`;
}
