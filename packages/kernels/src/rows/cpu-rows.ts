import { argumentsStruct, snakeCase, STANDARD_INTEGERS } from '../emit/parameter-text.js';
import type { CpuKernel } from '../emitted-kernel.js';
import { textProgram } from '../interpret/text-program.js';
import { SAFE_SQUARES } from './cuda-norm.js';
import { rowsCost, rowsParams } from './rows-params.js';
import type { RowsPlan } from './rows-plan.js';

const ENTRY = 'mercer_rows';
/** Rows of one task. */
const TASK_ROWS = 64;
/** Elements that make a chunk of tasks worth fetching. */
const CHUNK_ELEMENTS = 1 << 18;

/** The kernel that scales and normalises rows on a CPU. */
export function cpuRowsKernel(plan: RowsPlan): CpuKernel {
  const source = sourceText(plan);
  return {
    dialect: 'cpu',
    name: plan.summary,
    entry: ENTRY,
    source,
    program: textProgram(source),
    params: rowsParams(plan),
    options: [],
    geometry: ({ m = 0, k = 0, batch = 0 }) => ({
      tasks: Math.ceil(m / TASK_ROWS) * batch,
      chunk: Math.max(1, Math.floor(CHUNK_ELEMENTS / (TASK_ROWS * Math.max(k, 1)))),
      scratchBytes: 0,
    }),
    cost: (scalars) => rowsCost(plan, scalars),
  };
}

function argsText(plan: RowsPlan): string {
  const nameOf = (name: string): string =>
    snakeCase(name.replace('batchStride', 'batch').replace('BatchStride', 'Batch'));
  const spelling = { integers: STANDARD_INTEGERS, inLines: true };
  return argumentsStruct(rowsParams(plan), { ...spelling, dtypeOfT: plan.dtype, nameOf });
}

function sourceText(plan: RowsPlan): string {
  const needsNorm = plan.normalise || plan.norms;
  const place = plan.layout === 'row' ? 'source[r * g.ldx + c]' : 'source[c * g.ldx + r]';
  return `#include <stdint.h>
#if defined(__clang__)
#pragma clang fp contract(fast)
#endif
typedef ${plan.dtype === 'float32' ? 'float' : 'double'} T;
constexpr int64_t ROWS = ${TASK_ROWS};
${argsText(plan)}

extern "C" void ${ENTRY}(const void* args, int64_t begin, int64_t end, void*) {
  const Args& g = *(const Args*)args;
  const int64_t blocks = (g.m + ROWS - 1) / ROWS;
  for (int64_t task = begin; task < end; task++) {
    const int64_t layer = task / blocks, start = task % blocks * ROWS;
    const int64_t rows = g.m - start < ROWS ? g.m - start : ROWS;
    const T* source = g.x + layer * g.batch_x + start * ${plan.layout === 'row' ? 'g.ldx' : '1'};
    T* target = g.out + layer * g.batch_out + start * g.ldo;
${
  plan.scale
    ? `    const T* scales = g.scale_at == nullptr ? nullptr : g.scale_at + layer * g.scale_batch;
    const auto scale = [&](int64_t c) { return scales == nullptr ? g.scale_value : (double)scales[c * g.scale_stride]; };
`
    : ''
}    const auto value = [&](int64_t r, int64_t c) { return (double)${place}${plan.scale ? ' * scale(c)' : ''}; };
${needsNorm ? normText(plan) : ''}${outputText(plan)}
  }
}
`;
}

/** The norms of a task's rows as unit * root. */
function normText(plan: RowsPlan): string {
  const sums =
    plan.layout === 'row'
      ? `    for (int64_t r = 0; r < rows; r++) {
      double part[8] = {};
      int64_t c = 0;
      for (; c + 8 <= g.k; c += 8) {
        for (int64_t i = 0; i < 8; i++) { const double v = value(r, c + i); part[i] += v * v; }
      }
      for (; c < g.k; c++) { const double v = value(r, c); part[0] += v * v; }
      root[r] = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    }
`
      : `    for (int64_t c = 0; c < g.k; c++) {
      for (int64_t r = 0; r < rows; r++) { const double v = value(r, c); root[r] += v * v; }
    }
`;
  const careful = `      if (!(sum >= ${SAFE_SQUARES.least} && sum <= ${SAFE_SQUARES.most})) {
        // squares may have left the range of numbers: again, divided by the largest
        double largest = 0, scaled = 0;
        for (int64_t c = 0; c < g.k; c++) { const double v = __builtin_fabs(value(r, c)); largest = v > largest ? v : largest; }
        if (sum != sum || largest == 0 || largest == __builtin_inf()) {
          root[r] = sum != sum ? sum : largest;
          continue;
        }
        for (int64_t c = 0; c < g.k; c++) { const double v = value(r, c) / largest; scaled += v * v; }
        unit[r] = largest;
        root[r] = __builtin_sqrt(scaled);
        continue;
      }
`;
  const wide = plan.dtype === 'float64';
  return `    double ${wide ? 'unit[ROWS], ' : ''}root[ROWS] = {};
${sums}    for (int64_t r = 0; r < rows; r++) {
      const double sum = root[r];
${wide ? `      unit[r] = 1;\n${careful}` : ''}      root[r] = __builtin_sqrt(sum);
    }
${plan.norms ? `    for (int64_t r = 0; r < rows; r++) g.norms[layer * g.m + start + r] = (T)${wide ? '(unit[r] * root[r])' : 'root[r]'};\n` : ''}`;
}

function outputText(plan: RowsPlan): string {
  // a row of zeros stays as it is
  const factor = plan.normalise
    ? plan.dtype === 'float32'
      ? '      const double inverse = root[r] == 0 ? 1 : 1 / root[r];\n'
      : '      const double divisor = root[r] == 0 ? 1 : root[r];\n'
    : '';
  const result = !plan.normalise
    ? 'value(r, c)'
    : plan.dtype === 'float32'
      ? 'value(r, c) * inverse'
      : 'value(r, c) / unit[r] / divisor';
  return `    for (int64_t r = 0; r < rows; r++) {
${factor}      for (int64_t c = 0; c < g.k; c++) target[r * g.ldo + c] = (T)(${result});
    }`;
}
