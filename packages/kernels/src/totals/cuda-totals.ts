import { simplify } from '@mercer/formula';
import { dtypeBytes } from '../dtype.js';
import { conversionsText, prelude } from '../elementwise/conversion-text.js';
import { segmentText } from '../elementwise/cuda-map.js';
import { lanesOf } from '../elementwise/cuda-packs.js';
import { elementInfo } from '../elementwise/element-type.js';
import {
  mapParams,
  mapSpelling,
  segmentCounts,
  segmentNames,
  shownFormula,
} from '../elementwise/map-params.js';
import { emitCudaExpressions } from '../emit/cuda-expression.js';
import { cudaKernel } from '../emit/cuda-kernel.js';
import { cudaHelpers } from '../emit/cuda-math.js';
import { indent, lines } from '../emit/text.js';
import { type CudaKernel, type Scalars, scalar } from '../emitted-kernel.js';
import { float64, pointer, type KernelParam } from '../kernel-param.js';
import type { TotalsPlan } from './totals-plan.js';

const THREADS = 256;

/** Pointers beside those of the runs: the numbers `f0`, ..., the results `out0`, ..., the sums of blocks, and a ticket that is 0 before. */
export function totalsParams({
  runs,
  numbers,
  results,
  parameters,
}: TotalsPlan): readonly KernelParam[] {
  return [
    ...mapParams(runs),
    ...numbers.map(({ dtype }, k) => pointer(`f${k}`, dtype, 'read')),
    ...results.map(({ dtype }, r) => pointer(`out${r}`, dtype, 'write')),
    pointer('partials', 'float64', 'readwrite'),
    pointer('ticket', 'int32', 'readwrite'),
    ...parameters.map((_, k) => float64(`p${k}`)),
  ];
}

/** Blocks of a launch, each of which has a sum for each term. */
export const totalsBlocks = ({ runs }: TotalsPlan, scalars: Scalars): number =>
  scalar(scalars, segmentNames(runs).at(-1)?.('end') ?? '');

/**
 * Totals in CUDA C++, in one launch: each block sums a part of a run, and the block that is done last adds up the sums of all in their order and computes
 * the results. So the bits of a sum depend on the extents alone.
 */
export function emitTotals(plan: TotalsPlan): CudaKernel {
  const { runs, terms, numbers, results, parameters } = plan;
  const [{ dtype }] = runs.inputs as [(typeof runs.inputs)[0]];
  const term = emitCudaExpressions(
    terms.map(({ expr }) => simplify(expr)),
    { dtype: 'float64', bindings: { x: 'x' } },
  );
  const named = [
    ...terms.map(({ name }, r) => [name, `sum${r}`] as const),
    ...numbers.map(({ name }, k) => [name, `number${k}`] as const),
    ...parameters.map((name, k) => [name, `p${k}`] as const),
  ];
  const finish = emitCudaExpressions(
    results.map(({ expr }) => simplify(expr)),
    { dtype: 'float64', bindings: Object.fromEntries(named), prefix: 'z' },
  );
  const helpers = new Set([...term.helpers, ...finish.helpers]);
  const loads = new Set([dtype, ...numbers.map((one) => one.dtype)]);
  const stores = new Set(results.map((one) => one.dtype));
  const { storage, bytes } = elementInfo(dtype);
  const lanes = lanesOf(runs);
  const count = terms.length;
  const before = lines(
    prelude('cuda').trimEnd(),
    conversionsText(
      [
        ...[...loads].map((from) => ({
          name: `load_${elementInfo(from).tag}`,
          from,
          to: 'float64' as const,
        })),
        ...[...stores].map((to) => ({
          name: `store_${elementInfo(to).tag}`,
          from: 'float64' as const,
          to,
        })),
      ],
      'cuda',
    ).trimEnd(),
    cudaHelpers(helpers, 'float64'),
    `struct alignas(${lanes * bytes}) Pack { ${storage} v[${lanes}]; };`,
    `struct Sums { double v[${count}]; };`,
    // a tree, whose order is that of the threads
    `FN void add_up(Sums (&shared)[${THREADS}], const Sums& own) {`,
    '  shared[threadIdx.x] = own;',
    '#pragma unroll 1',
    `  for (int half = ${THREADS / 2}; half > 0; half /= 2) {`,
    '    __syncthreads();',
    `    if (threadIdx.x < half) for (int r = 0; r < ${count}; ++r) shared[threadIdx.x].v[r] += shared[threadIdx.x + half].v[r];`,
    '  }',
    '  __syncthreads();',
    '}',
  );
  const load = `load_${elementInfo(dtype).tag}`;
  const body = lines(
    `  __shared__ Sums shared[${THREADS}];`,
    '  __shared__ int is_last;',
    segmentText(runs),
    '  Sums own = {};',
    '  const auto add = [&](double x) {',
    indent(lines(...term.uniformStatements, ...term.statements), 4),
    ...term.results.map((value, r) => `    own.v[${r}] += ${value};`),
    '  };',
    `  const i64 first = block * ${THREADS} + threadIdx.x, step = blocks * ${THREADS};`,
    '  i64 done = 0;',
    '  if ((u64)x0 % sizeof(Pack) == 0) {',
    `    const i64 packs = n0 / ${lanes};`,
    '#pragma unroll 2',
    '    for (i64 i = first; i < packs; i += step) {',
    '      const Pack pack = reinterpret_cast<const Pack*>(x0)[i];',
    '#pragma unroll',
    `      for (int j = 0; j < ${lanes}; ++j) add(${load}(pack.v[j]));`,
    '    }',
    `    done = packs * ${lanes};`,
    '  }',
    `  for (i64 i = done + first; i < n0; i += step) add(${load}(x0[i]));`,
    '  add_up(shared, own);',
    '  if (threadIdx.x == 0) {',
    `    for (int r = 0; r < ${count}; ++r) partials[(i64)blockIdx.x * ${count} + r] = shared[0].v[r];`,
    '    __threadfence();',
    '    is_last = atomicAdd(ticket, 1) == (int)gridDim.x - 1;',
    '  }',
    '  __syncthreads();',
    '  if (!is_last) return;',
    '  __threadfence();',
    `  for (int r = 0; r < ${count}; ++r) own.v[r] = 0;`,
    `  for (i64 i = threadIdx.x; i < gridDim.x; i += ${THREADS})`,
    `    for (int r = 0; r < ${count}; ++r) own.v[r] += __ldcg(partials + i * ${count} + r);`,
    '  add_up(shared, own);',
    '  if (threadIdx.x != 0) return;',
    ...terms.map((_, r) => `  const double sum${r} = shared[0].v[${r}];`),
    ...numbers.map(
      (one, k) => `  const double number${k} = load_${elementInfo(one.dtype).tag}(*f${k});`,
    ),
    indent(lines(...finish.uniformStatements, ...finish.statements)),
    ...results.map(
      (one, r) => `  *out${r} = store_${elementInfo(one.dtype).tag}(${finish.results[r] ?? ''});`,
    ),
  );
  const own = [
    ...numbers.map((one, k) => [`f${k}`, elementInfo(one.dtype).storage] as const),
    ...results.map((one, r) => [`out${r}`, elementInfo(one.dtype).storage] as const),
    ['partials', 'double'] as const,
    ['ticket', 'int'] as const,
  ];
  const spelling = mapSpelling(runs);
  return cudaKernel({
    name: `totals of ${runs.segments ?? 1} runs: ${terms.map(({ expr }) => shownFormula(expr)).join('; ')}`,
    entry: 'mercer_totals',
    params: totalsParams(plan),
    list: {
      ...spelling,
      elements: { ...spelling.elements, ...Object.fromEntries(own) },
      restricts: () => false,
    },
    before: `${before}\n`,
    threads: THREADS,
    body,
    grid: (scalars) => totalsBlocks(plan, scalars),
    cost: (scalars) => {
      const elements = segmentCounts(runs, scalars).reduce((sum, n) => sum + n, 0);
      return { bytes: elements * dtypeBytes(dtype), flops: elements * 2 * count };
    },
  });
}
