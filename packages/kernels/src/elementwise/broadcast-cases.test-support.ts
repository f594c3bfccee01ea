import { add, evaluate, mul, sub, variable, type Expr } from '@mercer/formula';
import type { MapProblem } from './map-plan-types.js';

const [x, y, place] = [variable('x'), variable('y'), variable('place')];
const SUM = sub(add(x, mul(2, y)), place);

const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  bool: Uint8Array,
} as const;
type Kind = keyof typeof ARRAYS;
export type Memory = InstanceType<(typeof ARRAYS)[Kind]>;

/** One operand: strides, and elements before its first one, as negative strides and bases that are not aligned need. */
export interface Operand {
  readonly strides: readonly number[];
  readonly start?: number;
  readonly dtype?: Kind;
}

export interface BroadcastCase {
  readonly shape: readonly number[];
  readonly x: Operand;
  readonly y: Operand;
  readonly out: Operand;
  readonly more?: Operand;
}

/** Rows of a matrix whose extents are whole packs or not, and rows that begin elsewhere. */
export const BROADCAST_CASES: Readonly<Record<string, BroadcastCase>> = {
  'a row and a matrix': {
    shape: [9, 20],
    x: { strides: [20, 1] },
    y: { strides: [0, 1] },
    out: { strides: [20, 1] },
  },
  'a column and a matrix, of odd rows': {
    shape: [9, 21],
    x: { strides: [21, 1] },
    y: { strides: [1, 0] },
    out: { strides: [21, 1] },
  },
  'outer products': {
    shape: [3, 5, 24],
    x: { strides: [5, 1, 0] },
    y: { strides: [24, 0, 1] },
    out: { strides: [120, 24, 1] },
  },
  'outer products of odd rows': {
    shape: [3, 5, 17],
    x: { strides: [5, 1, 0] },
    y: { strides: [17, 0, 1] },
    out: { strides: [85, 17, 1] },
  },
  'rows of three': {
    shape: [300, 3],
    x: { strides: [3, 1] },
    y: { strides: [0, 1] },
    out: { strides: [3, 1] },
  },
  'short rows in planes': {
    shape: [3, 30, 6],
    x: { strides: [6, 0, 1] },
    y: { strides: [200, 6, 1] },
    out: { strides: [180, 6, 1] },
  },
  'short rows with gaps': {
    shape: [40, 10],
    x: { strides: [11, 1] },
    y: { strides: [0, 2] },
    out: { strides: [12, 1] },
  },
  'a transposed matrix': {
    shape: [70, 36],
    x: { strides: [36, 1] },
    y: { strides: [1, 70] },
    out: { strides: [36, 1] },
  },
  'a transposed matrix of odd rows': {
    shape: [33, 35],
    x: { strides: [35, 1] },
    y: { strides: [1, 33] },
    out: { strides: [35, 1] },
  },
  'axes turned round': {
    shape: [4, 6, 16],
    x: { strides: [1, 4, 24] },
    y: { strides: [96, 16, 1] },
    out: { strides: [96, 16, 1] },
  },
  'backwards along rows and columns': {
    shape: [7, 20],
    x: { strides: [-20, 1], start: 120 },
    y: { strides: [20, -1], start: 19 },
    out: { strides: [20, 1] },
  },
  'a base that is not aligned, of an input': {
    shape: [6, 32],
    x: { strides: [32, 1], start: 1 },
    y: { strides: [0, 1] },
    out: { strides: [32, 1] },
  },
  'a base that is not aligned, of the result': {
    shape: [6, 32],
    x: { strides: [32, 1] },
    y: { strides: [0, 1] },
    out: { strides: [32, 1], start: 3 },
  },
  'parts of wider matrices': {
    shape: [6, 32],
    x: { strides: [33, 1] },
    y: { strides: [40, 1] },
    out: { strides: [36, 1] },
  },
  'a result with gaps': {
    shape: [6, 32],
    x: { strides: [32, 1] },
    y: { strides: [0, 1] },
    out: { strides: [64, 2] },
  },
  'one element for all': {
    shape: [6, 32],
    x: { strides: [32, 1] },
    y: { strides: [0, 0] },
    out: { strides: [33, 1] },
  },
  'every second element, in one dimension': {
    shape: [1030],
    x: { strides: [2] },
    y: { strides: [1] },
    out: { strides: [1] },
  },
  'dtypes of 1, 4 and 8 bytes': {
    shape: [5, 24],
    x: { strides: [24, 1], dtype: 'uint8' },
    y: { strides: [0, 1], dtype: 'int64' },
    out: { strides: [24, 1], dtype: 'int32' },
  },
  'float64 and bool': {
    shape: [5, 26],
    x: { strides: [26, 1], dtype: 'float64' },
    y: { strides: [1, 0], dtype: 'bool' },
    out: { strides: [26, 1], dtype: 'float64' },
  },
  'a second result across': {
    shape: [8, 20],
    x: { strides: [20, 1] },
    y: { strides: [0, 1] },
    out: { strides: [20, 1] },
    more: { strides: [1, 8], dtype: 'float64' },
  },
  'a second result that is not aligned': {
    shape: [8, 20],
    x: { strides: [20, 1] },
    y: { strides: [0, 1] },
    out: { strides: [20, 1] },
    more: { strides: [24, 1], start: 2 },
  },
  'six dimensions': {
    shape: [2, 3, 2, 3, 2, 4],
    x: { strides: [300, 0, 100, 0, 20, 1] },
    y: { strides: [0, 50, 0, 10, 0, 2] },
    out: { strides: [144, 48, 24, 8, 4, 1] },
  },
};

export const operandsOf = ({ x: a, y: b, out, more }: BroadcastCase): readonly Operand[] =>
  [a, b, out, more].filter((one) => one !== undefined);

/** Every index of a shape. */
const indicesOf = (shape: readonly number[]): number[][] =>
  shape.reduce<number[][]>(
    (all, extent) => all.flatMap((i) => Array.from({ length: extent }, (_, j) => [...i, j])),
    [[]],
  );

const placeOf = (index: readonly number[], { strides, start = 0 }: Operand): number =>
  index.reduce((sum, i, axis) => sum + i * (strides[axis] ?? 0), start);

/** Small whole numbers, which every dtype holds; results full of 99. */
export function memoryOf(one: BroadcastCase): Memory[] {
  const indices = indicesOf(one.shape);
  return operandsOf(one).map((operand, k) => {
    const { dtype = 'float32' } = operand;
    const length = 1 + Math.max(...indices.map((index) => placeOf(index, operand)));
    const numberAt = (i: number): number => (k > 1 ? 99 : dtype === 'bool' ? i % 2 : (7 * i) % 13);
    const made: Memory = new ARRAYS[dtype](length);
    for (let i = 0; i < length; i++)
      (made as Float64Array)[i] = (dtype === 'int64' ? BigInt(numberAt(i)) : numberAt(i)) as number;
    return made;
  });
}

export const problemOf = ({ shape, x: a, y: b, out, more }: BroadcastCase): MapProblem => ({
  shape,
  inputs: [
    { name: 'x', dtype: a.dtype ?? 'float32', strides: a.strides },
    { name: 'y', dtype: b.dtype ?? 'float32', strides: b.strides },
  ],
  indices: { place: 0 },
  results: [out, ...(more === undefined ? [] : [more])].map(
    ({ dtype = 'float32', strides }, r) => ({
      expr: r === 0 ? SUM : mul(x, y),
      dtype,
      strides,
    }),
  ),
});

/** What a case gives, element by element. */
export function wanted(one: BroadcastCase): Memory[] {
  const memory = memoryOf(one);
  const { results } = problemOf(one);
  for (const index of indicesOf(one.shape)) {
    const values = {
      x: Number(memory[0]?.[placeOf(index, one.x)]),
      y: Number(memory[1]?.[placeOf(index, one.y)]),
      place: index[0] ?? NaN,
    };
    for (const [r, operand] of [one.out, ...(one.more ? [one.more] : [])].entries()) {
      const to = memory[2 + r] as Float64Array;
      to[placeOf(index, operand)] = evaluate(results[r]?.expr as Expr, values);
    }
  }
  return memory;
}
