import { nvrtc } from '@mercer/cuda-runtime';
import { add, evaluate, mul, sub, variable, type Expr } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import type { DeviceLimits } from '../device-limits.js';
import type { CpuKernel, CudaKernel } from '../emitted-kernel.js';
import { PlanError } from '../plan-error.js';
import {
  compileKernel,
  compilers,
  compilerVerdict,
  cpuTestLimits,
  machines,
  runnableLevels,
} from '../testing/cpu-harness.test-support.js';
import { runCpuKernel, runInterpreted } from '../testing/cpu-program.test-support.js';
import { runCudaKernel } from '../testing/cuda-emulator.test-support.js';
import { emittedText } from '../testing/emitted-text.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { complaints } from '../testing/nvrtc-complaints.test-support.js';
import { emitMap } from './emit.js';
import { planMap } from './plan-map.js';
import type { StridedWalk } from './map-plan-types.js';
import { groupSegments, planSegments } from './map-segments.js';

const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const p = variable('p');
const g = variable('g');
const m = variable('m');
const rate = variable('rate');
const decay = variable('decay');
const moment = add(mul(decay, m), g);
const FORMULAS = [sub(p, mul(rate, moment)), moment] as const;
const PARAMETERS = { rate: 0.5, decay: 0.25 };

/** Extents with and without whole packs, of one element, and of more than a task of a CPU and a block of a GPU. */
const EXTENTS = [5, 40_000, 1, 4096, 33] as const;

/** A step of each of some vectors; `m` has one element for all. */
const mapsOf = (limits: DeviceLimits, extents: readonly number[]) =>
  extents.map((extent) => {
    const layout = { dtype: 'float32', strides: [1] } as const;
    return planMap(
      {
        shape: [extent],
        results: FORMULAS.map((expr: Expr) => ({ expr, ...layout })),
        inputs: [
          { name: 'p', ...layout },
          { name: 'g', dtype: 'int32', strides: [1] },
          { name: 'm', dtype: 'float32', strides: [0] },
        ],
        parameters: PARAMETERS,
      },
      limits,
    );
  });

const planned = (limits: DeviceLimits, extents: readonly number[]) =>
  planSegments(mapsOf(limits, extents));

const memoryOf = (extent: number, s: number) => ({
  x0: new Float32Array(extent).map((_, i) => ((i + s) % 7) - 3),
  x1: new Int32Array(extent).map((_, i) => ((i * 5) % 11) - 5),
  x2: Float32Array.of(s - 2),
  out0: new Float32Array(extent),
  out1: new Float32Array(extent),
});

/** The same element by element. */
function wanted(extents: readonly number[]) {
  return extents.map((extent, s) => {
    const memory = memoryOf(extent, s);
    const { x0, x1, x2, out0, out1 } = memory;
    for (let i = 0; i < extent; i++) {
      const values = { p: x0[i] ?? NaN, g: x1[i] ?? NaN, m: x2[0] ?? NaN, ...PARAMETERS };
      out0[i] = evaluate(FORMULAS[0], values);
      out1[i] = evaluate(FORMULAS[1], values);
    }
    return memory;
  });
}

function run(how: string): unknown {
  const { plan, scalars } = planned(how === 'as CUDA' ? H200 : cpuTestLimits(level), EXTENTS);
  const memory = EXTENTS.map(memoryOf);
  const kernel = emitMap(plan);
  const named = memory.flatMap((one, s) =>
    Object.entries(one).map(([name, array]) => [`${name}_of${s}`, array] as const),
  );
  const pointers = Object.fromEntries(named);
  if (how === 'as CUDA') {
    runCudaKernel(kernel as CudaKernel, { scalars, pointers: named.map(([, array]) => array) });
  } else if (how === 'interpreted') runInterpreted(kernel, level, { scalars, pointers });
  else {
    const library = compileKernel(compilers()[0] ?? 'c++', (kernel as CpuKernel).source, level);
    runCpuKernel(kernel as CpuKernel, library, { scalars, pointers });
  }
  return memory;
}

/** Maps of numbers into parts of other matrices: rows, a column, turned, one of many columns, and many rows of two. */
const LAYOUTS: readonly Readonly<Record<'shape' | 'out' | 'x', readonly number[]>>[] = [
  { shape: [9, 13], out: [14, 1], x: [13, 1] },
  { shape: [9, 1], out: [14, 1], x: [1, 1] },
  { shape: [2, 3, 200], out: [700, 201, 1], x: [1, 2, 6] },
  { shape: [10, 2000], out: [2003, 1], x: [0, 1] },
  { shape: [3000, 2], out: [3, 1], x: [2, 1] },
];
const TURNED = LAYOUTS.map(({ shape, out, x }) => ({
  shape,
  results: [{ expr: mul(rate, p), dtype: 'float32' as const, strides: out }],
  inputs: [{ name: 'p', dtype: 'float32' as const, strides: x }],
  parameters: PARAMETERS,
}));
type Turned = (typeof TURNED)[number];
const behind = (shape: readonly number[], strides: readonly number[]): number =>
  shape.reduce((end, extent, axis) => end + (extent - 1) * (strides[axis] ?? 0), 1);
const turnedMemory = ({ shape, results: [to], inputs: [from] }: Turned, s: number) => ({
  x: new Float32Array(behind(shape, from?.strides ?? [])).map((_, i) => ((7 * i + s) % 23) - 11),
  out: new Float32Array(behind(shape, to?.strides ?? [])).fill(-99),
});

/** The same element by element; what lies between stays. */
function turned(problem: Turned, s: number) {
  const { shape, results, inputs } = problem;
  const memory = turnedMemory(problem, s);
  for (let flat = 0; flat < shape.reduce((a, b) => a * b); flat++) {
    let [rest, to, from] = [flat, 0, 0];
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const extent = shape[axis] ?? 1;
      to += (rest % extent) * (results[0]?.strides[axis] ?? 0);
      from += (rest % extent) * (inputs[0]?.strides[axis] ?? 0);
      rest = Math.floor(rest / extent);
    }
    memory.out[to] = PARAMETERS.rate * (memory.x[from] ?? NaN);
  }
  return memory;
}

describe('maps of segments', () => {
  test.each(['compiled', 'interpreted', 'as CUDA'])('give what each gives alone, %s', (how) => {
    expect(run(how)).toEqual(wanted(EXTENTS));
  });

  test('go together where one text does them', () => {
    const plain = mapsOf(H200, [7, 1, 9]);
    const strided = planMap(
      {
        shape: [4, 5],
        results: FORMULAS.map((expr) => ({ expr, dtype: 'float32', strides: [5, 1] })),
        inputs: [
          { name: 'p', dtype: 'float32', strides: [1, 4] },
          { name: 'g', dtype: 'int32', strides: [5, 1] },
          { name: 'm', dtype: 'float32', strides: [0, 0] },
        ],
        parameters: PARAMETERS,
      },
      H200,
    );
    expect(groupSegments([...plain, strided, strided], H200)).toEqual([
      [0, 2, 1],
      [3, 4],
    ]);
    const onCpu = planMap(TURNED[0] as Turned, cpuTestLimits(level));
    expect(groupSegments([onCpu, onCpu], cpuTestLimits(level))).toEqual([[0], [1]]);
    const other = planMap(
      {
        shape: [1],
        results: [{ expr: p, dtype: 'float32', strides: [1] }],
        inputs: [{ name: 'p', dtype: 'float32', strides: [1] }],
      },
      H200,
    );
    expect(groupSegments([other, ...plain], H200)).toEqual([[1, 3, 2], [0]]);
  });

  test('whose places need 32 and 64 bits go together, with 64', () => {
    const maps = TURNED.map((problem, s) => {
      const { plan, scalars } = planMap(problem, H200);
      const walk: StridedWalk = s === 2 ? { lanes: 4, index: 'i64' } : { lanes: 1, index: 'i32' };
      return { plan: { ...plan, walk }, scalars };
    });
    expect(groupSegments(maps, H200)).toEqual([[0, 1, 2, 3, 4]]);
    const { plan, scalars } = planSegments(maps);
    expect(plan.walk).toEqual({ lanes: 4, index: 'i64' });
    const memory = TURNED.map(turnedMemory);
    const pointers = memory.flatMap(({ x, out }) => [x, out]);
    runCudaKernel(emitMap(plan) as CudaKernel, { scalars, pointers });
    expect(memory).toEqual(TURNED.map(turned));
  });

  test('that are not linear go together whatever their ranks, and give what each gives alone, as CUDA', () => {
    const maps = TURNED.map((problem) => planMap(problem, H200));
    expect(maps.map(({ plan }) => [plan.mode, plan.rank])).toEqual([
      ['strided', 2],
      ['strided', 1],
      ['strided', 3],
      ['strided', 2],
      ['strided', 2],
    ]);
    expect(groupSegments(maps, H200)).toEqual([[0, 1, 2, 3, 4]]);
    const { plan, scalars } = planSegments(maps);
    const kernel = emitMap(plan) as CudaKernel;
    const memory = TURNED.map(turnedMemory);
    runCudaKernel(kernel, { scalars, pointers: memory.flatMap(({ x, out }) => [x, out]) });
    expect(memory).toEqual(TURNED.map(turned));
    expect(kernel.name).toBe('map f32 -> f32 strided3 in 5 segments: rate * p');
    // packs of four, 256 threads of which are 4 by 64, 3 by 85, 13 by 19 (four beside each other), 250 by 1 (two), and 1 by 256
    expect(kernel.geometry(scalars).grid[0]).toBe(1 + 1 + 4 + 2 * 10 + 12);
    const elements = TURNED.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b), 0);
    expect(kernel.cost?.(scalars).bytes).toBe(8 * elements);
  });

  test('are as many as 4096 bytes of parameters hold', () => {
    // five pointers, an extent and an end each, and two numbers
    const maps = mapsOf(H200, new Array<number>(100).fill(8));
    expect(groupSegments(maps, H200).map(({ length }) => length)).toEqual([72, 28]);
    const { plan } = planSegments(maps.slice(0, 72));
    expect(8 * emitMap(plan).params.length).toBe(4048);
  });

  test('count blocks and bytes of all', () => {
    const { plan, scalars } = planned(H200, EXTENTS);
    const kernel = emitMap(plan) as CudaKernel;
    // 4096 elements a block
    expect(kernel.geometry(scalars).grid).toEqual([1 + 10 + 1 + 1 + 1, 1, 1]);
    const elements = EXTENTS.reduce((sum, one) => sum + one, 0);
    expect(kernel.cost?.(scalars).bytes).toBe(16 * elements + 4 * EXTENTS.length);
    expect(kernel.name).toBe(
      'map f32 i32 f32 -> f32 f32 linear in 5 segments: p - rate * (decay * m + g); decay * m + g',
    );
  });

  test('are refused where there is no map', () => {
    expect(() => planSegments([])).toThrow(
      new PlanError('INVALID_ARGUMENT', 'planSegments: there is no map. Pass one or more.'),
    );
  });

  test('are text that finds its segment by halves', () => {
    const layout = { dtype: 'float32', strides: [1] } as const;
    const one = planMap(
      { shape: [8], results: [{ expr: mul(p, p), ...layout }], inputs: [{ name: 'p', ...layout }] },
      H200,
    );
    expect(emittedText(emitMap(planSegments([one, one, one]).plan), 'kernel'))
      .toMatchInlineSnapshot(`
        "extern "C" __global__ void __launch_bounds__(256)
        mercer_map(const float* x0_of0, float* out_of0, i64 n0_of0, i64 end_of0, const float* x0_of1, float* out_of1, i64 n0_of1, i64 end_of1, const float* x0_of2, float* out_of2, i64 n0_of2, i64 end_of2) {
          const auto value = [&](float x0) {
            const float t0 = x0 * x0;
            return store(t0);
          };
          const float* x0;
          float* out;
          i64 n0, block = blockIdx.x, blocks;
          if (block < end_of0) {
            x0 = x0_of0; out = out_of0; n0 = n0_of0;
            blocks = end_of0;
          } else {
            if (block < end_of1) {
              x0 = x0_of1; out = out_of1; n0 = n0_of1;
              block -= end_of0; blocks = end_of1 - end_of0;
            } else {
              x0 = x0_of2; out = out_of2; n0 = n0_of2;
              block -= end_of1; blocks = end_of2 - end_of1;
            }
          }
          const i64 first = block * 256 + threadIdx.x;
          const i64 step = blocks * 256;
          i64 done = 0;
          if (((u64)x0 % sizeof(Pack_f32) | (u64)out % sizeof(Pack_f32)) == 0) {
            const i64 packs = n0 / 4;
        #pragma unroll 1
            for (i64 i = first; i < packs; i += step) {
              const Pack_f32 in_x0 = reinterpret_cast<const Pack_f32*>(x0)[i];
              Pack_f32 result;
        #pragma unroll
              for (int j = 0; j < 4; ++j) result.v[j] = value(load_f32(in_x0.v[j]));
              reinterpret_cast<Pack_f32*>(out)[i] = result;
            }
            done = packs * 4;
          }
          for (i64 i = done + first; i < n0; i += step) out[i] = value(load_f32(x0[i]));
        }
        "
      `);
  });

  test.each(machines())(
    'compile for a host without a warning: %s, %s',
    (compiler, level) => {
      const { plan } = planned(cpuTestLimits(level), EXTENTS);
      expect(compilerVerdict(compiler, emitMap(plan).source, level).log).toBe('');
    },
    120_000,
  );
});

useNvrtc();
describe.skipIf(!nvrtc.isAvailable())(
  'through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(['sm_90a', 'sm_80'])('compile for %s without a spill', async (arch) => {
      const maps = mapsOf(H200, new Array<number>(72).fill(8));
      const strided = TURNED.map((problem) => planMap(problem, H200));
      const kernels = [maps, maps.slice(0, 5), strided].map((some) => ({
        name: `${some.length} segments`,
        kernel: emitMap(planSegments(some).plan),
      }));
      expect(await complaints(kernels, arch)).toEqual([]);
    });
  },
);
