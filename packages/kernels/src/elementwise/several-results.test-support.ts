import { add, evaluate, lt, max, mul, sub, variable, type Expr } from '@mercer/formula';
import type { DType } from '../dtype.js';
import type { MapProblem } from './map-plan-types.js';

const x = variable('x');
const y = variable('y');
const scale = variable('scale');
const row = variable('row');

export interface SeveralCase {
  readonly shape: readonly number[];
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly results: readonly {
    readonly expr: Expr;
    readonly dtype: DType;
    readonly strides: readonly number[];
  }[];
}

/** Maps with several results: of several dtypes, packed and strided, with what they share, an input as it is, and a comparison. */
export const SEVERAL_CASES: readonly (readonly [name: string, one: SeveralCase])[] = [
  [
    'packed',
    {
      shape: [1003],
      x: [1],
      y: [1],
      results: [
        { expr: add(mul(x, scale), y), dtype: 'float32', strides: [1] },
        { expr: mul(add(mul(x, scale), y), x), dtype: 'float32', strides: [1] },
        { expr: x, dtype: 'float32', strides: [1] },
      ],
    },
  ],
  [
    'of several dtypes',
    {
      shape: [6, 50],
      x: [50, 1],
      y: [0, 0],
      results: [
        { expr: sub(mul(x, y), scale), dtype: 'float64', strides: [50, 1] },
        { expr: lt(x, y), dtype: 'bool', strides: [50, 1] },
        { expr: add(x, y), dtype: 'int32', strides: [50, 1] },
      ],
    },
  ],
  [
    'in layouts of their own',
    {
      shape: [20, 30],
      x: [30, 1],
      y: [1, 20],
      results: [
        { expr: max(x, row), dtype: 'float32', strides: [31, 1] },
        { expr: sub(y, x), dtype: 'float64', strides: [1, 20] },
      ],
    },
  ],
];

/** The problem of a case, its inputs of float32 and int32. */
export const severalProblem = ({ shape, results, ...strides }: SeveralCase): MapProblem => ({
  shape,
  results,
  parameters: { scale: 1.5 },
  indices: { row: 0 },
  inputs: [
    { name: 'x', dtype: 'float32', strides: strides.x },
    { name: 'y', dtype: 'int32', strides: strides.y },
  ],
});

const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  bool: Uint8Array,
} as const;

type Memory = InstanceType<(typeof ARRAYS)[keyof typeof ARRAYS]>;

const place = (index: readonly number[], strides: readonly number[]): number =>
  index.reduce((sum, i, axis) => sum + i * (strides[axis] ?? 0), 0);

const roomFor = (shape: readonly number[], strides: readonly number[]): number =>
  shape.reduce((sum, extent, axis) => sum + (extent - 1) * (strides[axis] ?? 0), 1);

/** Small whole numbers, so that every dtype holds every result. */
export function severalMemory(one: SeveralCase): {
  readonly x: Float32Array;
  readonly y: Int32Array;
  readonly outs: readonly Memory[];
} {
  return {
    x: new Float32Array(roomFor(one.shape, one.x)).map((_, i) => (i * 7) % 13),
    y: new Int32Array(roomFor(one.shape, one.y)).map((_, i) => ((i * 5) % 11) - 5),
    outs: one.results.map(
      ({ dtype, strides }) => new ARRAYS[dtype as keyof typeof ARRAYS](roomFor(one.shape, strides)),
    ),
  };
}

/** What a case gives, element by element. */
export function severalWanted(one: SeveralCase): readonly Memory[] {
  const { x: a, y: b, outs } = severalMemory(one);
  const size = one.shape.reduce((product, extent) => product * extent, 1);
  for (let at = 0; at < size; at++) {
    let rest = at;
    const index = one.shape.toReversed().map((extent) => {
      const i = rest % extent;
      rest = (rest - i) / extent;
      return i;
    });
    index.reverse();
    const values = {
      x: a[place(index, one.x)] ?? NaN,
      y: b[place(index, one.y)] ?? NaN,
      scale: 1.5,
      row: index[0] ?? NaN,
    };
    for (const [r, { expr, strides }] of one.results.entries()) {
      const memory = outs[r] as Float64Array;
      memory[place(index, strides)] = evaluate(expr, values);
    }
  }
  return outs;
}
