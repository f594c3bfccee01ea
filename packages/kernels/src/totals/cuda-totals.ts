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
import { PlanError } from '../plan-error.js';
import type { TotalsPlan } from './plan-totals.js';

/** Most threads of a block. */
const THREADS = 256;
/** Shared memory that every GPU has, less a number that is no sum. */
const SHARED_BYTES = 48 * 2 ** 10 - 8;

/** Threads of a block, whose sums of all terms lie in shared memory together. @throws PlanError LIMIT where there are too many for a warp */
function threadsOf(terms: number): number {
  let threads = THREADS;
  while (threads * terms * 8 > SHARED_BYTES) threads /= 2;
  if (threads >= 32) return threads;
  throw new PlanError(
    'LIMIT',
    `emitTotals: there are ${terms} terms. Pass ${Math.floor(SHARED_BYTES / 256)} at most.`,
  );
}

/** Pointers beside those of the runs: the numbers `f0`, ..., the results `out0`, ..., the sums, those of blocks, and a ticket that is 0 before. */
export function totalsParams({
  runs,
  numbers,
  results,
  sums,
  parameters,
}: TotalsPlan): readonly KernelParam[] {
  return [
    ...mapParams(runs),
    ...numbers.map(({ dtype }, k) => pointer(`f${k}`, dtype, 'read')),
    ...results.map(({ dtype }, r) => pointer(`out${r}`, dtype, 'write')),
    ...(sums ? [pointer('sums', 'float64', 'write')] : []),
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
  const { runs, terms, numbers, results, sums, parameters } = plan;
  const [{ dtype }] = runs.inputs as [(typeof runs.inputs)[0]];
  const threads = threadsOf(terms.length);
  // of each memory of a run its pointer and what an element of it is called
  const elements = runs.inputs.map((_, k) => ({ from: `x${k}`, name: k === 0 ? 'x' : `x_${k}` }));
  const term = emitCudaExpressions(
    terms.map(({ expr }) => simplify(expr)),
    {
      dtype: 'float64',
      bindings: Object.fromEntries(
        runs.inputs.map(({ name }, k) => [name, elements[k]?.name ?? '']),
      ),
    },
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
    `FN void add_up(Sums (&shared)[${threads}], const Sums& own) {`,
    '  shared[threadIdx.x] = own;',
    '#pragma unroll 1',
    `  for (int half = ${threads / 2}; half > 0; half /= 2) {`,
    '    __syncthreads();',
    `    if (threadIdx.x < half) for (int r = 0; r < ${count}; ++r) shared[threadIdx.x].v[r] += shared[threadIdx.x + half].v[r];`,
    '  }',
    '  __syncthreads();',
    '}',
  );
  const load = `load_${elementInfo(dtype).tag}`;
  const loaded = (at: (one: (typeof elements)[0]) => string): string =>
    elements.map((one) => `${load}(${at(one)})`).join(', ');
  const places = elements.map(({ from }) => `(u64)${from}`).join(' | ');
  const isPacked = `${elements.length === 1 ? places : `(${places})`} % sizeof(Pack) == 0`;
  const body = lines(
    `  __shared__ Sums shared[${threads}];`,
    '  __shared__ int is_last;',
    segmentText(runs),
    '  Sums own = {};',
    `  const auto add = [&](${elements.map(({ name }) => `double ${name}`).join(', ')}) {`,
    indent(lines(...term.uniformStatements, ...term.statements), 4),
    ...term.results.map((value, r) => `    own.v[${r}] += ${value};`),
    '  };',
    `  const i64 first = block * ${threads} + threadIdx.x, step = blocks * ${threads};`,
    '  i64 done = 0;',
    `  if (${isPacked}) {`,
    `    const i64 packs = n0 / ${lanes};`,
    `#pragma unroll ${elements.length === 1 ? 2 : 1}`,
    '    for (i64 i = first; i < packs; i += step) {',
    ...elements.map(
      ({ from, name }) =>
        `      const Pack pack${name.slice(1)} = reinterpret_cast<const Pack*>(${from})[i];`,
    ),
    '#pragma unroll',
    `      for (int j = 0; j < ${lanes}; ++j) add(${loaded(({ name }) => `pack${name.slice(1)}.v[j]`)});`,
    '    }',
    `    done = packs * ${lanes};`,
    '  }',
    `  for (i64 i = done + first; i < n0; i += step) add(${loaded(({ from }) => `${from}[i]`)});`,
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
    `  for (i64 i = threadIdx.x; i < gridDim.x; i += ${threads})`,
    `    for (int r = 0; r < ${count}; ++r) own.v[r] += __ldcg(partials + i * ${count} + r);`,
    '  add_up(shared, own);',
    sums && `  for (int r = threadIdx.x; r < ${count}; r += ${threads}) sums[r] = shared[0].v[r];`,
    results.length > 0 && '  if (threadIdx.x != 0) return;',
    ...(results.length === 0 ? [] : terms).map(
      (_, r) => `  const double sum${r} = shared[0].v[${r}];`,
    ),
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
    ['sums', 'double'] as const,
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
    threads,
    body,
    grid: (scalars) => totalsBlocks(plan, scalars),
    cost: (scalars) => {
      const elements = segmentCounts(runs, scalars).reduce((sum, n) => sum + n, 0);
      return {
        bytes: elements * runs.inputs.length * dtypeBytes(dtype),
        flops: elements * 2 * count,
      };
    },
  });
}
