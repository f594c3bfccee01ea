import type { CudaKernel, Scalars } from '../emitted-kernel.js';
import { dtypeBytes } from '../dtype.js';
import { emitCudaExpressions } from '../emit/cuda-expression.js';
import { cudaLiteral, cudaType } from '../emit/cuda-literal.js';
import { cudaHelpers } from '../emit/cuda-math.js';
import { indent, lines } from '../emit/indent.js';
import { withWorkspace, type PairwiseProgram } from '../pairwise/program.js';
import { CUDA_THREADS } from './choose-tile.js';
import { firstStepText } from './cuda-first-step.js';
import { outputText, parameterList, stateWords } from './cuda-text.js';
import { fromList } from './expression-list.js';
import { mapReduceCost, mapReduceParams, rowsOf } from './params.js';
import type { CudaMapReducePlan } from './plan.js';
import { reducerOf } from './reducers/reducer-of.js';
import type { Reducer, ReducerDialect } from './reducers/reducer.js';
import { stateText } from './reducers/state-text.js';
import { usedComponents } from './used-components.js';

const MAX_GRID_Z = 65535;
/** Blocks of a multiprocessor at least: said so that the assembler spills nothing to fit more of them. */
const LEAST_BLOCKS = 4;

/**
 * The kernels of a map-reduce on a GPU: rows of a thread in registers, tiles of the reduced rows in shared
 * memory. Where they are split, blocks leave running results in the workspace, and a second kernel
 * merges them in order.
 */
export function emitCudaMapReduce(plan: CudaMapReducePlan): PairwiseProgram {
  const reducer = reducerOf({ ...plan, kind: plan.reduction, dialect: cudaReducerDialect(plan) });
  const first = firstKernel(plan, reducer);
  if (plan.splits === 1) return { steps: [{ kernel: first }], workspaceBytes: () => 0 };
  const bytes = plan.splits * reducer.slots.length * dtypeBytes(plan.dtype);
  return {
    steps: [{ kernel: first }, { kernel: secondKernel(plan, reducer) }],
    workspaceBytes: (scalars) => resultRows(plan, scalars) * bytes,
  };
}

const resultRows = (plan: CudaMapReducePlan, scalars: Scalars): number => {
  const { batch = 0 } = scalars;
  return rowsOf(plan, scalars).kept * batch;
};

/** How a reduction is written in CUDA C++. */
export function cudaReducerDialect({ dtype }: Pick<CudaMapReducePlan, 'dtype'>): ReducerDialect {
  const call = (float: string, double: string) => (x: string) =>
    `${dtype === 'float32' ? float : double}(${x})`;
  return {
    lit: (value) => cudaLiteral(value, dtype),
    exp: call('expf', 'exp'),
    log: call('logf', 'log'),
    abs: call('fabsf', 'fabs'),
  };
}

/** What the text of a running result needs. */
export function reducerPrelude(
  { dtype }: Pick<CudaMapReducePlan, 'dtype'>,
  reducer: Reducer,
): string {
  const type = cudaType(dtype);
  const lane = dtype === 'float32' ? 'int' : 'long long';
  return lines(
    '#define INLINE __device__ __forceinline__',
    '#define UNUSED',
    `typedef ${type} V;`,
    `typedef ${lane} I;`,
    'INLINE I number(I x) { return x; }',
    'INLINE V real(I x) { return (V)x; }',
    'INLINE bool any(I x) { return x != 0; }',
    stateText(reducer),
  );
}

function firstKernel(plan: CudaMapReducePlan, reducer: Reducer): CudaKernel {
  const entry = 'map_reduce';
  const split = plan.splits > 1;
  const values = fromList(plan.values);
  const used = usedComponents(plan, values);
  const body = emitCudaExpressions(values, {
    dtype: plan.dtype,
    bindings: Object.fromEntries(used.names.map((name) => [name, name])),
  });
  const params = mapReduceParams(plan, reducer);
  const all = split ? withWorkspace(params, 'write') : params;
  return {
    dialect: 'cuda',
    name: plan.summary,
    entry,
    source: lines(
      reducerPrelude(plan, reducer),
      cudaHelpers(body.helpers, plan.dtype),
      `extern "C" __global__ void __launch_bounds__(${String(CUDA_THREADS)}, ${String(LEAST_BLOCKS)})`,
      `${entry}(${parameterList(all, plan.dtype)}) {`,
      indent(firstStepText(plan, reducer, used, body)),
      '}',
      '',
    ).concat('\n'),
    params: all,
    options: [],
    geometry: (scalars) => {
      const { batch = 0 } = scalars;
      const blocks = Math.ceil(rowsOf(plan, scalars).kept / (CUDA_THREADS * plan.rowsPerThread));
      return {
        grid: [blocks, plan.splits, Math.min(batch, MAX_GRID_Z)],
        block: [CUDA_THREADS, 1, 1],
        sharedMemBytes: 0,
      };
    },
    cost: (scalars) => mapReduceCost(plan, reducer, scalars),
  };
}

function secondKernel(plan: CudaMapReducePlan, reducer: Reducer): CudaKernel {
  const entry = 'map_reduce_merge';
  const { load } = stateWords(plan, reducer);
  const params = withWorkspace(mapReduceParams(plan, reducer), 'read');
  const words = plan.splits * reducer.slots.length;
  return {
    dialect: 'cuda',
    name: `${plan.summary}, merge`,
    entry,
    source: lines(
      reducerPrelude(plan, reducer),
      `extern "C" __global__ void __launch_bounds__(${String(CUDA_THREADS)})`,
      `${entry}(${parameterList(params, plan.dtype)}) {`,
      `  const long long kept = ${plan.axis === 1 ? 'rowsI' : 'rowsJ'};`,
      `  const long long place = (long long)blockIdx.x * ${String(CUDA_THREADS)} + threadIdx.x;`,
      '  if (place >= kept * batch) return;',
      '  const long long layer = place / kept, row = place - layer * kept;',
      '  State s = empty();',
      '  #pragma unroll 1',
      `  for (int part = 0; part < ${String(plan.splits)}; ++part) {`,
      '    State t;',
      indent(load('t'), 4),
      '    merge(s, t);',
      '  }',
      indent(outputText(plan, reducer)),
      '}',
      '',
    ).concat('\n'),
    params,
    options: [],
    geometry: (scalars) => ({
      grid: [Math.ceil(resultRows(plan, scalars) / CUDA_THREADS), 1, 1],
      block: [CUDA_THREADS, 1, 1],
      sharedMemBytes: 0,
    }),
    cost: (scalars) => ({
      bytes: resultRows(plan, scalars) * (words + reducer.slots.length) * dtypeBytes(plan.dtype),
      flops: resultRows(plan, scalars) * words,
    }),
  };
}
