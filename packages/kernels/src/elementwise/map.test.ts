import { add, gt, lt, mul, pow, select, variable } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import type { CudaGeometry } from '../emitted-kernel.js';
import { packParams } from '../kernel-param.js';
import { compilerVerdict, machines } from '../testing/cpu-harness.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { defaultMaps, mapProblems } from './default-maps.test-support.js';
import { emitMap } from './emit.js';
import { planMap } from './plan-map.js';
import { otherWalks } from './map-walk.js';
import { planOne, type OneResult } from './one-result.test-support.js';

const CPU = {
  ...({ kind: 'cpu', level: 'x86-64-v3', cores: 4 } as const),
  l1Bytes: 32768,
  l2Bytes: 1 << 20,
};
const x = variable('x');
const y = variable('y');
const scale = variable('scale');
const row = variable('row');

const float = (name: string, strides: readonly number[]): OneResult['inputs'][number] => ({
  name,
  strides,
  dtype: 'float32',
});
const problem: OneResult = {
  expr: add(mul(x, scale), y),
  shape: [4, 5],
  inputs: [float('x', [5, 1]), float('unread', [1, 9]), float('y', [0, 0])],
  out: { dtype: 'float32', strides: [5, 1] },
  parameters: { scale: 2.5, unread: 1 },
};

describe('plans', () => {
  test('choose by layout and leave out what the formula does not read', () => {
    const { plan, scalars, inputs, outOffset } = planOne(problem, H200);
    expect(plan).toEqual({
      family: 'map',
      target: { kind: 'cuda' },
      results: [{ expr: problem.expr, dtype: 'float32' }],
      dtype: 'float32',
      mode: 'linear',
      rank: 1,
      parameters: ['scale'],
      indices: [],
      inputs: [
        { name: 'x', dtype: 'float32', repeated: false },
        { name: 'y', dtype: 'float32', repeated: true },
      ],
    });
    expect(Object.isFrozen(plan)).toBe(true);
    expect(scalars).toEqual({ n0: 20, d0: 1, s0_0: 1, s1_0: 0, p0: 2.5 });
    expect([inputs, outOffset]).toEqual([
      [
        { index: 0, offset: 0 },
        { index: 2, offset: 0 },
      ],
      0,
    ]);
    expect(planOne(problem, CPU).plan.target).toEqual({ kind: 'cpu', level: 'x86-64-v3' });
  });

  test('an index keeps its axis apart and walks backwards with the output', () => {
    const { plan, scalars, inputs, outOffset } = planOne(
      {
        ...problem,
        expr: lt(row, x),
        inputs: [float('x', [5, 1])],
        indices: { row: 0, other: 1 },
        out: { dtype: 'bool', strides: [-5, 1] },
      },
      H200,
    );
    expect(plan).toMatchObject({ mode: 'strided', rank: 2, dtype: 'float32', indices: ['row'] });
    expect(scalars).toEqual({
      n0: 4,
      n1: 5,
      d0: 5,
      d1: 1,
      s0_0: -5,
      s0_1: 1,
      i0: 3,
      i0_0: -1,
      i0_1: 0,
      span: 51,
    });
    expect([inputs, outOffset]).toEqual([[{ index: 0, offset: 15 }], -15]);
  });

  test('compute in float64 where an operand is, or where float32 cannot count', () => {
    const shape = [2 ** 24 + 1];
    const one: OneResult = {
      expr: gt(x, row),
      shape,
      inputs: [float('x', [1])],
      indices: { row: 0 },
      out: { dtype: 'bool', strides: [1] },
    };
    const dtypeOf = (changes: Partial<OneResult>): string =>
      planOne({ ...one, ...changes }, H200).plan.dtype;
    expect(dtypeOf({})).toBe('float64');
    expect(dtypeOf({ shape: [2 ** 24] })).toBe('float32');
    expect(dtypeOf({ expr: gt(x, 0) })).toBe('float32');
    expect(dtypeOf({ expr: x, out: { dtype: 'float64', strides: [1] } })).toBe('float64');
    const doubles = [{ name: 'x', dtype: 'float64', strides: [1] }] as const;
    expect(dtypeOf({ expr: gt(x, 0), inputs: doubles })).toBe('float64');
  });

  const sumOf = (count: number, strides: readonly number[]): OneResult => {
    const inputs = Array.from({ length: count }, (_, i) => float(`v${i}`, strides));
    const expr = inputs.map(({ name }) => variable(name)).reduce((a, b) => add(a, b));
    return { ...problem, expr, inputs, parameters: {} };
  };

  // of each operand a pointer and its strides, and the extents of the dimensions
  test.each([
    ['in a row', [5, 1], 254, 16 * 256 + 8],
    ['of two dimensions', [1, 4], 168, 24 * 170 + 24],
  ])('refuse more operands %s than a launch on a GPU addresses', (_, strides, most, bytes) => {
    expect(planOne(sumOf(most, strides), H200).inputs).toHaveLength(most);
    const more = sumOf(most + 1, strides);
    expect(() => planOne(more, H200)).toThrow(
      expect.objectContaining({
        code: 'LIMIT',
        message: expect.stringContaining(
          `${most + 1} inputs and 1 results over ${strides[1] === 1 ? 1 : 2} dimensions need ${bytes} bytes`,
        ) as string,
      }),
    );
    expect(planOne(more, CPU).inputs).toHaveLength(most + 1);
  });

  test('refuse results that a launch does not address, and more operands than a CPU has room for', () => {
    const { expr, out: layout, ...rest } = problem;
    const results = Array.from({ length: 254 }, () => ({ expr, ...layout }));
    expect(() => planMap({ ...rest, results }, H200)).toThrow(/2 inputs and 254 results/);
    const many = Array.from({ length: 2 ** 14 }, () => ({ expr: x, ...layout }));
    const onCpu = { ...rest, inputs: [float('x', [5, 1])] };
    expect(() => planMap({ ...onCpu, results: many }, CPU)).toThrow(/at most 16384 together/);
    expect(planMap({ ...onCpu, results: many.slice(1) }, CPU).inputs).toHaveLength(1);
  });

  test('refuse nine dimensions', () => {
    const shape = new Array<number>(9).fill(2);
    const strides = shape.map((_, i) => 3 ** (9 - i));
    const deep = { expr: x, shape, inputs: [float('x', strides)] };
    const out = { dtype: 'float32', strides } as const;
    expect(() => planOne({ ...deep, out }, H200)).toThrow(/9 dimensions/);
  });

  test('a variable that nothing binds is refused by the emitter', () => {
    const { plan } = planOne({ ...problem, parameters: {} }, H200);
    expect(() => emitMap(plan)).toThrow(/'scale'/);
    expect(() => emitMap({ ...plan, target: { kind: 'cpu', level: 'arm64' } })).toThrow(/'scale'/);
  });
});

describe('texts', () => {
  test('the names of a formula never reach a compiler', () => {
    for (const limits of [H200, CPU]) {
      const { plan } = planOne(
        {
          ...problem,
          expr: mul(variable('while'), add(variable('blockIdx'), variable('p'))),
          inputs: [float('while', [5, 1])],
          parameters: { blockIdx: 1 },
          indices: { p: 0 },
        },
        limits,
      );
      expect(emitMap(plan).source).not.toMatch(/\bwhile\b|double blockIdx/);
    }
  });

  test('of one formula in other names are the same', () => {
    const other: OneResult = {
      ...problem,
      expr: add(mul(variable('u'), variable('k')), variable('v')),
      inputs: [float('u', [5, 1]), float('v', [0, 0])],
      parameters: { k: 7 },
    };
    expect(emitMap(planOne(other, H200).plan).source).toBe(
      emitMap(planOne(problem, H200).plan).source,
    );
  });

  test.each([H200, CPU])('$kind: parameters, geometry and cost belong together', (limits) => {
    const problems = mapProblems();
    expect(problems.length).toBeGreaterThan(25);
    for (const each of problems) {
      const { plan, scalars } = planOne(each, limits);
      const kernel = emitMap(plan);
      const count = each.shape.reduce((a, b) => a * b, 1);
      const named = kernel.params.flatMap((p) => (p.kind === 'scalar' ? [p.name] : []));
      expect(named.sort()).toEqual(Object.keys(scalars).sort());
      expect(kernel.source.split(kernel.entry).length).toBe(2);
      expect(kernel.source.includes('#include')).toBe(limits.kind === 'cpu');
      expect(kernel.cost?.(scalars).bytes).toBeGreaterThanOrEqual(count);
      expect(packParams(kernel.params).bytes).toBeLessThan(4096);
      const geometry = kernel.geometry(scalars);
      if ('tasks' in geometry) expect(geometry.tasks).toBeGreaterThan(0);
      else {
        const threads = geometry.block.reduce((a, b) => a * b);
        expect(threads).toBeGreaterThan(plan.mode === 'linear' ? 255 : 128);
        expect(threads).toBeLessThanOrEqual(256);
      }
    }
    expect(defaultMaps(limits).length).toBeGreaterThan(25);
  });

  const floats = (shape: readonly number[], xs: readonly number[], ys: readonly number[]) => {
    const strides = shape.map((_, i) => shape.slice(i + 1).reduce((a, b) => a * b, 1));
    const { plan, scalars } = planOne(
      {
        expr: add(x, y),
        shape,
        inputs: [float('x', xs), float('y', ys)],
        out: { dtype: 'float32', strides },
      },
      H200,
    );
    const { grid, block } = emitMap(plan).geometry(scalars) as CudaGeometry;
    return { walk: plan.walk, scalars, grid, block };
  };

  test('an input that runs across the rows gets narrow blocks', () => {
    expect(floats([300, 300], [300, 1], [1, 300]).block).toEqual([4, 64, 1]);
    // rows that are not whole packs are written by threads beside each other
    expect(floats([301, 301], [301, 1], [1, 301]).block).toEqual([16, 16, 1]);
  });

  test('rows follow each other where such an input lies together', () => {
    const { scalars } = floats([20, 30, 40], [1200, 40, 1], [1, 20, 600]);
    expect(scalars).toMatchObject({ n0: 30, n1: 20, n2: 40, d0: 40, d1: 1200, s1_1: 1 });
  });

  test('threads have packs where rows are long or whole packs, and one element where not', () => {
    const lanes = (inner: number): number | undefined =>
      floats([50, inner], [inner, 1], [0, 1]).walk?.lanes;
    expect([3, 15, 16, 17, 20].map(lanes)).toEqual([1, 1, 4, 4, 4]);
  });

  test('blocks fit the rows, and have several rows where there are many', () => {
    // 196 packs, and 4096 * 256 rows in 16384 blocks
    const outer = floats([4096, 256, 784], [256, 1, 0], [784, 0, 1]);
    expect([outer.grid, outer.block]).toEqual([
      [1, 16384, 1],
      [196, 1, 1],
    ]);
    expect(outer.scalars).toMatchObject({ span: 64, inverse1: 2 ** 24 - 1 });
    const small = floats([1024, 256], [256, 1], [0, 1]);
    expect([small.grid, small.block, small.scalars['span']]).toEqual([[1, 256, 1], [64, 4, 1], 4]);
  });

  test('maps that lie alike have up to three kernels, with the same parameters', () => {
    const sizes = [
      [30, 50, 64],
      [30, 50, 3],
      [30000, 50, 2000],
      [2 ** 20, 1000, 3],
    ] as const;
    const plans = sizes.map((shape) => {
      const [, rows, columns] = shape;
      const matrices = [rows * columns, columns, 1];
      return planOne(
        {
          expr: add(x, y),
          shape,
          inputs: [float('x', matrices), float('y', [columns, 0, 1])],
          out: { dtype: 'float32', strides: matrices },
        },
        H200,
      );
    });
    expect(plans.map(({ plan }) => plan.walk)).toEqual([
      { lanes: 4, index: 'i32' },
      { lanes: 1, index: 'i32' },
      { lanes: 4, index: 'i64' },
      { lanes: 4, index: 'i64' },
    ]);
    for (const { plan } of plans) {
      const all = [plan, ...otherWalks(plan)];
      expect(all).toHaveLength(3);
      for (const other of plans) {
        expect(all).toContainEqual(other.plan);
        expect(emitMap(other.plan).params).toEqual(emitMap(plan).params);
        expect(Object.keys(other.scalars)).toEqual(Object.keys(plans[0]?.scalars ?? {}));
      }
    }
    const linear = planOne(
      {
        expr: x,
        shape: [8],
        inputs: [float('x', [1])],
        out: { dtype: 'float32', strides: [1] },
      },
      H200,
    );
    expect(otherWalks(linear.plan)).toEqual([]);
  });

  test('places are counted in 32 bits where no operand reaches further', () => {
    const index = (shape: readonly number[], xs: readonly number[]): string | undefined =>
      floats(shape, xs, [0, 1]).walk?.index;
    expect(index([30000, 64000], [64000, 1])).toBe('i32');
    expect(index([35000, 64000], [0, 1])).toBe('i64');
    expect(index([2, 64000], [2 ** 31, 1])).toBe('i64');
    expect(index([2, 64000], [-(2 ** 31), 1])).toBe('i64');
  });

  test.each(machines())(
    '%s compiles every host text for %s without a warning',
    (compiler, level) => {
      const few = defaultMaps({ ...CPU, level }).filter((_, i) => i % 4 === 0);
      const logs = few.map(({ kernel }) => compilerVerdict(compiler, kernel.source, level).log);
      expect(logs.filter((log) => log !== '')).toEqual([]);
    },
    120_000,
  );

  test('read like this', () => {
    const { plan } = planOne(
      {
        ...problem,
        expr: select(lt(row, y), pow(x, scale), 0),
        inputs: [float('x', [1, 8]), { ...float('y', [5, 1]), dtype: 'int32' }],
        indices: { row: 0 },
      },
      H200,
    );
    const { source, name } = emitMap(plan);
    expect(name).toMatchInlineSnapshot(
      `"map f32 i32 -> f32 strided2: select(row < y, x ^ scale, 0)"`,
    );
    expect(source.slice(source.indexOf('extern'))).toMatchInlineSnapshot(`
      "extern "C" __global__ void __launch_bounds__(256)
      mercer_map(const float* x0, const i32* x1, float* out, i64 n0, i64 n1, i64 d0, i64 d1, i64 s0_0, i64 s0_1, i64 s1_0, i64 s1_1, i64 i0_0, i64 i0_1, i64 i0, i64 span, double p0) {
        const double tu0_wide = p0;
        const float tu0 = (float)tu0_wide;
        const auto value = [&](float x0, float x1, float i0) {
          const float t1 = pow_any(x0, tu0);
          const float t2 = (i0 < x1) ? t1 : 0.0f;
          return store(t2);
        };
        const Index rows = (Index)n0, packs = ((Index)n1 + 0) / 1;
        const Index height = blockDim.y, rowBlock = blockIdx.y, y = threadIdx.y;
        const Index column = (Index)blockIdx.x * blockDim.x + threadIdx.x;
        const Index begin = rowBlock * (Index)span, end = begin + (Index)span < rows ? begin + (Index)span : rows;
        Index x[1];
        x[0] = column;
        if (column < packs) for (Index row = begin + y; row < end; row += 4 * height) {
          Index to[4], from0[4], from1[4], index0[4];
          #pragma unroll
          for (int r = 0; r < 4; ++r) {
            Index rest = row + r * height < end ? row + r * height : row;
            to[r] = (Index)0;
            from0[r] = (Index)0;
            from1[r] = (Index)0;
            index0[r] = (Index)i0;
            { const Index i = rest; to[r] += i * (Index)d0; from0[r] += i * (Index)s0_0; from1[r] += i * (Index)s1_0; index0[r] += i * (Index)i0_0; }
          }
          Pack_f32 in_x0[4];
          #pragma unroll
          for (int r = 0; r < 4; ++r) {
            #pragma unroll
            for (int j = 0; j < 1; ++j) {
              in_x0[r].v[j] = x0[from0[r] + x[j] * (Index)s0_1];
            }
          }
          Pack_i32 in_x1[4];
          #pragma unroll
          for (int r = 0; r < 4; ++r) {
            #pragma unroll
            for (int j = 0; j < 1; ++j) {
              in_x1[r].v[j] = x1[from1[r] + x[j] * (Index)s1_1];
            }
          }
          #pragma unroll
          for (int r = 0; r < 4; ++r) {
            if (row + r * height >= end) break;
            Pack_f32 made;
            #pragma unroll
            for (int j = 0; j < 1; ++j) {
              made.v[j] = value(load_f32(in_x0[r].v[j]), load_i32(in_x1[r].v[j]), (float)(index0[r] + x[j] * (Index)i0_1));
            }
            #pragma unroll
            for (int j = 0; j < 1; ++j) {
              out[to[r] + x[j] * (Index)d1] = made.v[j];
            }
          }
        }
      }
      "
    `);
  });
});
