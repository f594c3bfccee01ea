import { cudaKernel } from '../emit/cuda-kernel.js';
import { cudaType } from '../emit/literals.js';
import { indent, lines } from '../emit/text.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { cudaNormFunctions } from './cuda-norm.js';
import { rowsCost, rowsParams, type RowsPlan } from './plan-rows.js';

const THREADS = 256;
/** Rows, and steps of k, of a tile that turns a column-major operand. */
const TILE = 32;
const GROUPS = THREADS / TILE;

/** The kernel that scales and normalises rows on a GPU. */
export function cudaRowsKernel(plan: RowsPlan): CudaKernel {
  const perBlock = plan.layout === 'column' ? TILE : THREADS / plan.threadsPerRow;
  const type = cudaType(plan.dtype);
  return cudaKernel({
    name: plan.summary,
    entry: 'rows_prepare',
    params: rowsParams(plan),
    list: { lines: ['ldx', 'scaleAt'] },
    before: plan.normalise || plan.norms ? `${cudaNormFunctions(plan)}\n` : '',
    threads: THREADS,
    body: indent(plan.layout === 'column' ? columnText(plan, type) : rowText(plan, type)),
    // tiles of a column-major operand end with their batch entry
    grid: ({ m = 0, batch = 0 }) =>
      plan.layout === 'column'
        ? Math.ceil(m / perBlock) * batch
        : Math.ceil((m * batch) / perBlock),
    cost: (scalars) => rowsCost(plan, scalars),
  });
}

/** Text that declares `value(c)`: the scaled element of a row at step c of k, in double. */
function valueText(plan: RowsPlan, element: string): string {
  const scaled = plan.scale
    ? `(double)${element} * (scaleAt == nullptr ? scaleValue : (double)scaleAt[layer * scaleBatchStride + c * scaleStride])`
    : `(double)${element}`;
  return `const auto value = [&](long long c) { return ${scaled}; };`;
}

/** The result for a scaled element, as text. */
function resultText(plan: RowsPlan, type: string, value: string): string {
  return plan.normalise ? `(${type})divide(${value}, norm)` : `(${type})${value}`;
}

function rowText(plan: RowsPlan, type: string): string {
  const wholeBlock = plan.threadsPerRow > 32;
  const row =
    plan.threadsPerRow === THREADS
      ? 'blockIdx.x'
      : `(long long)blockIdx.x * ${THREADS / plan.threadsPerRow} + threadIdx.x / ${plan.threadsPerRow}`;
  return lines(
    `const int lane = threadIdx.x % ${plan.threadsPerRow};`,
    `const long long index = ${row};`,
    'if (index >= m * batch) return;',
    'const long long layer = index / m, row = index - layer * m;',
    `const ${type}* const source = x + layer * batchStrideX + row * ldx;`,
    `${type}* const target = out + layer * batchStrideOut + row * ldo;`,
    valueText(plan, 'source[c]'),
    (plan.normalise || plan.norms) &&
      lines(
        wholeBlock && '__shared__ double parts[8];',
        `const Norm norm = norm_of(value, lane, ${plan.threadsPerRow}, k, ${wholeBlock ? 'BlockShare{parts}' : 'WarpShare{}'});`,
      ),
    plan.norms && `if (lane == 0) norms[index] = (${type})(norm.unit * norm.root);`,
    `for (long long c = lane; c < k; c += ${plan.threadsPerRow}) target[c] = ${resultText(plan, type, 'value(c)')};`,
  );
}

function columnText(plan: RowsPlan, type: string): string {
  return lines(
    `__shared__ ${type} turned[${TILE}][${TILE + 1}];`,
    `const int lane = threadIdx.x % ${TILE}, group = threadIdx.x / ${TILE};`,
    `const long long tiles = (m + ${TILE - 1}) / ${TILE}, layer = blockIdx.x / tiles;`,
    `const long long start = (blockIdx.x - layer * tiles) * ${TILE}, row = start + lane;`,
    'const bool live = row < m;',
    '// a lane past the end reads the last row and writes nothing',
    `const ${type}* const source = x + layer * batchStrideX + (live ? row : m - 1);`,
    `${type}* const target = out + layer * batchStrideOut + start * ldo;`,
    valueText(plan, 'source[c * ldx]'),
    (plan.normalise || plan.norms) &&
      lines(
        `__shared__ double parts[${GROUPS}][${TILE}];`,
        `const Norm norm = norm_of(value, group, ${GROUPS}, k, GroupShare{&parts[0][0] + lane});`,
      ),
    plan.norms &&
      `if (live && group == 0) norms[layer * m + row] = (${type})(norm.unit * norm.root);`,
    `for (long long from = 0; from < k; from += ${TILE}) {`,
    '  __syncthreads();',
    `  for (int c = group; c < ${TILE} && from + c < k; c += ${GROUPS}) turned[c][lane] = ${resultText(plan, type, 'value(from + c)')};`,
    '  __syncthreads();',
    `  for (int r = group; r < ${TILE} && start + r < m; r += ${GROUPS})`,
    '    if (from + lane < k) target[r * ldo + from + lane] = turned[lane][r];',
    '}',
  );
}
