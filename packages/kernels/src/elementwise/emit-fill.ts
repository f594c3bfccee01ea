import { parameterList, SHORT_INTEGERS } from '../emit/parameter-text.js';
import type { BuiltinKernel, CudaKernel, LaunchableKernel } from '../emitted-kernel.js';
import { elementNumber } from '../interpret/element-types.js';
import { int64 } from '../kernel-param.js';
import { prelude, type Dialect } from './conversion-text.js';
import { elementCount, fillCost, fillEntry, fillParams, scalar } from './copy-params.js';
import { dimensions, elementTasks } from './cpu-copy.js';
import { linearGeometry, rowsGeometry, ROW_INDEXING } from './cuda-geometry.js';
import type { FillPlan } from './fill-plan.js';
import { productOf, QUOTIENT, unravel } from './strided-text.js';

const STORAGE = { 1: 'u8', 2: 'u16', 4: 'u32', 8: 'u64' } as const;

/**
 * A fill: CUDA C++, or a built-in function of the CPU's runtime. Scalars `lo` and `hi` are the low and high 32 bits of one element, so every dtype and
 * every NaN is written exactly.
 */
export function emitFill(plan: FillPlan, dialect: 'cuda'): CudaKernel;
export function emitFill(plan: FillPlan, dialect: 'cpu'): BuiltinKernel;
export function emitFill(plan: FillPlan, dialect: Dialect): LaunchableKernel;
export function emitFill(plan: FillPlan, dialect: Dialect): LaunchableKernel {
  if (dialect === 'cpu') return cpuFill(plan);
  return {
    ...common(plan),
    ...cudaFill(plan),
    entry: fillEntry(plan),
    params: fillParams(plan),
    options: [],
  };
}

const common = (plan: FillPlan): Pick<CudaKernel, 'name' | 'cost'> => ({
  name: fillEntry(plan).replace('mercer_', ''),
  cost: (scalars) => fillCost(plan, scalars),
});

const value = (type: string, lo: string, hi: string): string =>
  type === 'u64' ? `(u64)(u32)${lo} | ((u64)(u32)${hi} << 32)` : `(${type})(u32)${lo}`;

const spelling = (type: string) => ({ integers: SHORT_INTEGERS, elements: { dst: type } });

function cudaFill(plan: FillPlan): Pick<CudaKernel, 'dialect' | 'source' | 'geometry'> {
  const T = STORAGE[plan.bytes];
  const lanes = 16 / plan.bytes;
  const head = `extern "C" __global__ void __launch_bounds__(256)\n${fillEntry(plan)}(${parameterList(fillParams(plan), spelling(T))}) {`;
  if (plan.mode === 'linear') {
    const source = `${prelude('cuda')}struct alignas(16) Pack { ${T} v[${lanes}]; };

${head}
  const ${T} value = ${value(T, 'lo', 'hi')};
  const i64 first = (i64)blockIdx.x * 256 + threadIdx.x;
  const i64 step = (i64)gridDim.x * 256;
  i64 done = 0;
  if ((u64)dst % 16 == 0) {
    const i64 packs = count / ${lanes};
    Pack pack;
#pragma unroll
    for (int j = 0; j < ${lanes}; ++j) pack.v[j] = value;
    for (i64 i = first; i < packs; i += step) reinterpret_cast<Pack*>(dst)[i] = pack;
    done = packs * ${lanes};
  }
  for (i64 i = done + first; i < count; i += step) dst[i] = value;
}
`;
    const geometry: CudaKernel['geometry'] = (s) => linearGeometry(scalar(s, 'count'), lanes);
    return { dialect: 'cuda', source, geometry };
  }
  const last = String(plan.rank - 1);
  const source = `${prelude('cuda')}${plan.rank > 2 ? QUOTIENT : ''}
${head}
  const ${T} value = ${value(T, 'lo', 'hi')};
  const i64 rows = ${productOf('n', plan.rank - 1)};
${ROW_INDEXING}
  for (i64 row = firstRow; row < rows; row += rowStep) {
    ${plan.rank > 1 ? 'i64 rest = row, ' : 'i64 '}to = 0;
${unravel(plan.rank - 1, [{ name: 'to', stride: 'd' }], (p, i) => p + String(i))}
    for (i64 x = firstX; x < n${last}; x += xStep) dst[to + x * d${last}] = value;
  }
}
`;
  const geometry: CudaKernel['geometry'] = (s) => {
    const inner = scalar(s, `n${last}`);
    return rowsGeometry(elementCount(plan, s) / inner, inner);
  };
  return { dialect: 'cuda', source, geometry };
}

function cpuFill(plan: FillPlan): BuiltinKernel {
  const { names, constants } = dimensions(plan, { n: 1, d: 0 });
  const own = {
    type: elementNumber(`bits${(8 * plan.bytes) as 8 | 16 | 32 | 64}`),
    rank: plan.rank,
  };
  return {
    dialect: 'builtin',
    entry: 'fill',
    ...common(plan),
    params: [
      ...fillParams(plan).filter(({ name }) => ['dst', 'lo', 'hi'].includes(name)),
      ...[...Object.keys(own), ...names].map(int64),
    ],
    constants: { ...own, ...constants },
    geometry: (scalars) => ({ tasks: elementTasks(plan, scalars), chunk: 1, scratchBytes: 0 }),
  };
}
