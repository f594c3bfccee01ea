import { describe, expect, test } from 'vitest';
import { packParams } from '../kernel-param.js';
import { PlanError } from '../plan-error.js';
import { isEmitted } from '../emitted-kernel.js';
import { planCopy, planFill } from './plan-copy.js';
import { defaultElementwisePlans } from './default-elementwise.test-support.js';
import { emitCopy } from './emit.js';

const f32 = { from: 'float32', to: 'float32' } as const;

describe('plans', () => {
  test('choose by layout and are plain frozen values', () => {
    const linear = planCopy({ ...f32, shape: [4, 5], srcStrides: [5, 1], dstStrides: [5, 1] });
    expect(linear).toEqual({
      plan: { family: 'copy', from: 'bits32', to: 'bits32', mode: 'linear', rank: 1 },
      scalars: { count: 20 },
      srcOffset: 0,
      dstOffset: 0,
    });
    expect(Object.isFrozen(linear.plan)).toBe(true);
    expect(JSON.parse(JSON.stringify(linear.plan))).toEqual(linear.plan);
    const transposed = planCopy({
      ...f32,
      shape: [40, 50],
      srcStrides: [1, 40],
      dstStrides: [50, 1],
    });
    expect(transposed.plan).toMatchObject({ mode: 'tiled', rank: 2 });
    // Narrow sides gain nothing from tiles.
    const narrow = planCopy({ ...f32, shape: [40, 3], srcStrides: [1, 40], dstStrides: [3, 1] });
    expect(narrow.plan).toMatchObject({ mode: 'strided', rank: 2 });
    const cast = planCopy({
      from: 'int64',
      to: 'bool',
      shape: [3],
      srcStrides: [2],
      dstStrides: [1],
    });
    expect(cast.plan).toMatchObject({ from: 'int64', to: 'bool', mode: 'strided', rank: 1 });
  });

  test('refuse more than eight dimensions', () => {
    const shape = new Array<number>(9).fill(2);
    const strides = shape.map((_, i) => 3 ** i);
    expect(() =>
      planCopy({ ...f32, shape, srcStrides: strides, dstStrides: strides.toReversed() }),
    ).toThrow(PlanError);
    expect(() => planFill({ dtype: 'int32', shape, strides })).toThrow(/at most 8/);
  });
});

describe('every default plan', () => {
  const plans = defaultElementwisePlans();

  test('shows each dtype pair, mode, rank and width', () => {
    expect(plans.length).toBe(208);
    const text = plans.map((plan) => JSON.stringify(plan));
    expect(new Set(text).size).toBe(plans.length);
  });

  test.each(['cuda', 'cpu'] as const)(
    '%s: name, parameters, geometry and cost belong together',
    (dialect) => {
      const entries = new Set<string>();
      for (const plan of plans) {
        const kernel = emitCopy(plan, dialect);
        entries.add(kernel.name);
        expect(isEmitted(kernel)).toBe(dialect === 'cuda');
        if (isEmitted(kernel)) {
          expect(kernel.source.split(kernel.entry).length).toBe(2);
          expect(kernel.source).not.toContain('#include');
        }
        const scalars = Object.fromEntries(
          kernel.params.flatMap((p) =>
            p.kind === 'scalar' ? [[p.name, p.name.startsWith('n') ? 5 : 1]] : [],
          ),
        );
        const count = plan.mode === 'linear' ? 1 : 5 ** plan.rank;
        expect(kernel.cost?.(scalars).bytes).toBeGreaterThanOrEqual(count);
        const geometry = kernel.geometry(scalars);
        if ('tasks' in geometry) {
          expect(geometry.tasks).toBeGreaterThan(0);
        } else {
          const [x, y, z] = geometry.block;
          expect(x * y * z).toBeLessThanOrEqual(256);
          expect(Math.min(...geometry.grid)).toBeGreaterThan(0);
          expect(geometry.grid[1]).toBeLessThanOrEqual(65535);
        }
        expect(packParams(kernel.params).bytes % 8).toBe(0);
      }
      expect(entries.size).toBe(plans.length);
    },
  );

  test('geometry of huge launches stays inside the limits of the grid', () => {
    const copy = (mode: 'linear' | 'strided' | 'tiled') =>
      emitCopy(
        { family: 'copy', from: 'bits8', to: 'bits8', mode, rank: mode === 'linear' ? 1 : 2 },
        'cuda',
      );
    expect(copy('linear').geometry({ count: 2 ** 50 }).grid[0]).toBe(2 ** 31 - 1);
    const scalars = { n0: 2 ** 40, n1: 3, s0: 1, s1: 1, d0: 1, d1: 1 };
    expect(copy('strided').geometry(scalars)).toEqual({
      grid: [1, 65535, 1],
      block: [4, 64, 1],
      sharedMemBytes: 0,
    });
    expect(copy('tiled').geometry({ ...scalars, n1: 2 ** 40 }).grid[0]).toBe(2 ** 31 - 1);
  });
});

test('a cast reads like this', () => {
  const kernel = emitCopy(
    { family: 'copy', from: 'float64', to: 'bfloat16', mode: 'strided', rank: 1 },
    'cuda',
  );
  expect(kernel.source.slice(kernel.source.indexOf('#define'))).toMatchInlineSnapshot(`
    "#define FN static __device__ __forceinline__
    FN u32 bits_of(float x) { return __float_as_uint(x); }
    FN float float_of(u32 x) { return __uint_as_float(x); }
    FN u16 bfloat_of(float x) {
      const u32 u = bits_of(x);
      const u32 rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
      return (u16)((u & 0x7fffffffu) > 0x7f800000u ? ((u >> 16) | 0x40u) : rounded);
    }
    FN float odd_float(double x) {
      const float f = (float)x;
      const double back = (double)f;
      if (back == x || x != x) return f;
      const u32 u = bits_of(f);
      const double magnitude = x < 0.0 ? -x : x, reached = back < 0.0 ? -back : back;
      return float_of((u - (reached > magnitude ? 1u : 0u)) | 1u);
    }
    FN u16 convert(double x) { return bfloat_of(odd_float(x)); }

    extern "C" __global__ void __launch_bounds__(256)
    mercer_cast_f64_bf16_strided1(const double* __restrict__ src, u16* __restrict__ dst, i64 n0, i64 s0, i64 d0) {
      const i64 rows = 1;
      const i64 firstRow = (i64)blockIdx.y * blockDim.y + threadIdx.y, rowStep = (i64)gridDim.y * blockDim.y;
      const i64 firstX = (i64)blockIdx.x * blockDim.x + threadIdx.x, xStep = (i64)gridDim.x * blockDim.x;
      for (i64 row = firstRow; row < rows; row += rowStep) {
        i64 from = 0, to = 0;

        for (i64 x = firstX; x < n0; x += xStep) dst[to + x * d0] = convert(src[from + x * s0]);
      }
    }
    "
  `);
});
