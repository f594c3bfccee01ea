import { argumentsStruct, parameterList, SHORT_INTEGERS } from '../emit/parameter-text.js';
import type { CpuKernel, CudaKernel, EmittedKernel } from '../emitted-kernel.js';
import { textProgram } from '../interpret/text-program.js';
import { prelude, type Dialect } from './conversion-text.js';
import { elementCount, fillCost, fillEntry, fillParams, scalar } from './copy-params.js';
import { CPU_TASK_ELEMENTS, cpuSpans } from './cpu-spans.js';
import { linearGeometry, rowsGeometry, ROW_INDEXING } from './cuda-geometry.js';
import type { FillPlan } from './fill-plan.js';
import { productOf, QUOTIENT, unravel } from './strided-text.js';

const STORAGE = { 1: 'u8', 2: 'u16', 4: 'u32', 8: 'u64' } as const;

/**
 * A fill in the given dialect. Scalars `lo` and `hi` are the low and high 32 bits of one element, so every dtype and
 * every NaN is written exactly.
 */
export function emitFill(plan: FillPlan, dialect: 'cuda'): CudaKernel;
export function emitFill(plan: FillPlan, dialect: 'cpu'): CpuKernel;
export function emitFill(plan: FillPlan, dialect: Dialect): EmittedKernel;
export function emitFill(plan: FillPlan, dialect: Dialect): EmittedKernel {
  const common = {
    name: fillEntry(plan).replace('mercer_', ''),
    entry: fillEntry(plan),
    params: fillParams(plan),
    options: [],
    cost: (scalars: Readonly<Record<string, number>>) => fillCost(plan, scalars),
  };
  return dialect === 'cuda' ? { ...common, ...cudaFill(plan) } : { ...common, ...cpuFill(plan) };
}

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

function cpuFill(plan: FillPlan): Pick<CpuKernel, 'dialect' | 'source' | 'program' | 'geometry'> {
  const T = STORAGE[plan.bytes];
  const args = argumentsStruct(fillParams(plan), {
    ...spelling(T),
    arrays: ['n', 'd'],
    apart: () => true,
  });
  const head = `extern "C" void ${fillEntry(plan)}(const void* args, int64_t begin, int64_t end, void*) {
  const Args& p = *(const Args*)args;
  const ${T} value = ${value(T, 'p.lo', 'p.hi')};`;
  const task = String(CPU_TASK_ELEMENTS);
  const source =
    plan.mode === 'linear'
      ? `${prelude('cpu')}${args}

${head}
  const i64 stop = end * ${task} < p.count ? end * ${task} : p.count;
  ${T}* dst = p.dst;
  for (i64 i = begin * ${task}; i < stop; ++i) dst[i] = value;
}
`
      : `${prelude('cpu')}${QUOTIENT}${args}

${head}
  const i64 ds = p.d[${plan.rank - 1}];
${cpuSpans(plan.rank, [{ name: 'to', stride: 'd' }], `${T}* d = p.dst + to;\n      for (i64 x = 0; x < run; ++x) d[x * ds] = value;`)}
}
`;
  const geometry: CpuKernel['geometry'] = (s) => ({
    tasks: Math.ceil(elementCount(plan, s) / CPU_TASK_ELEMENTS),
    chunk: 1,
    scratchBytes: 0,
  });
  return { dialect: 'cpu', source, program: textProgram(source), geometry };
}
