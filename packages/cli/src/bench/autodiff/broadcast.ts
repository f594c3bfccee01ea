import { empty, tensor, type Device, type Pending, type Tensor } from '@mercer/core';
import { asMany } from '../measuring-time.js';
import { evenlySpread } from '../statistics.js';
import type { AutodiffRow, AutodiffSizes } from './autodiff-row.js';
import { hashedNumbers } from './hashed-numbers.js';
import { relativeError } from './relative-error.js';
import { timeOfCalls } from './time-of-calls.js';

const CALLS = 10;
const CHECKED = 1000;
/** Rows of each outer product, which is a factor of the rows of all matrices. */
const HEIGHT = 256;
const FLOAT_BYTES = 4;

/** One operation on operands whose shapes or strides differ. */
interface Way {
  readonly name: string;
  /** Shapes of the operands in memory. */
  readonly shapes: readonly [readonly number[], readonly number[]];
  readonly call: (a: Tensor, b: Tensor) => Pending<Tensor>;
  /** Of the result, from its place in a row of memory. */
  readonly truth: (at: number, a: Float32Array, b: Float32Array) => number;
}

const sizeOf = (shape: readonly number[]): number => shape.reduce((all, one) => all * one, 1);

/** The peers' script measures the same. */
function waysOf([rows, columns]: AutodiffSizes['matrix']): readonly Way[] {
  const rowAndMatrix = (name: string, height: number, width: number): Way => ({
    name,
    shapes: [[height, width], [width]],
    call: (a, b) => a.add(b),
    truth: (at, a, b) => (a[at] ?? NaN) + (b[at % width] ?? NaN),
  });
  const batch = rows / HEIGHT;
  return [
    rowAndMatrix('row and matrix', rows, columns),
    rowAndMatrix('row and matrix of an odd number of columns', rows, columns - 1),
    rowAndMatrix('row and matrix of three columns', Math.floor((rows * columns) / 3), 3),
    {
      name: 'column and matrix',
      shapes: [
        [rows, columns],
        [rows, 1],
      ],
      call: (a, b) => a.mul(b),
      truth: (at, a, b) => (a[at] ?? NaN) * (b[Math.floor(at / columns)] ?? NaN),
    },
    {
      name: 'outer products',
      shapes: [
        [batch, HEIGHT, 1],
        [batch, 1, columns],
      ],
      call: (a, b) => a.mul(b),
      truth: (at, a, b) => {
        const row = Math.floor(at / columns);
        const place = Math.floor(row / HEIGHT) * columns + (at % columns);
        return (a[row] ?? NaN) * (b[place] ?? NaN);
      },
    },
    {
      name: 'matrix and transposed matrix',
      shapes: [
        [rows, columns],
        [columns, rows],
      ],
      call: (a, b) => a.add(b.transpose()),
      truth: (at, a, b) =>
        (a[at] ?? NaN) + (b[(at % columns) * rows + Math.floor(at / columns)] ?? NaN),
    },
  ];
}

/** Operations on operands that broadcast or are transposed, beside the time in which a copy moves as many bytes. */
export async function measureBroadcast(
  device: Device,
  { matrix }: AutodiffSizes,
): Promise<readonly AutodiffRow[]> {
  const usOfByte = await copyUsOfByte(device, matrix);
  const rows: AutodiffRow[] = [];
  for (const { name: way, shapes, call, truth } of waysOf(matrix)) {
    const [one, other] = shapes.map((shape, k) => hashedNumbers(sizeOf(shape), 5 + k, [0, 1])) as [
      Float32Array,
      Float32Array,
    ];
    using a = await tensor(one, { shape: shapes[0], device });
    using b = await tensor(other, { shape: shapes[1], device });
    const found = await call(a, b);
    const n = found.size;
    const numbers = await found.toTypedArray();
    found.dispose();
    const places = evenlySpread(n, CHECKED);
    const error = relativeError(
      places.map((at) => numbers[at]),
      places.map((at) => truth(at, one, other)),
    );
    const us = await timeOfCalls(device, asMany(CALLS), async () => (await call(a, b)).dispose());
    const floorUs = usOfByte * FLOAT_BYTES * (n + one.length + other.length);
    rows.push({ operation: 'broadcast', library: 'mercer', way, n, us, error, floorUs });
  }
  return rows;
}

async function copyUsOfByte(device: Device, shape: readonly number[]): Promise<number> {
  using from = empty(shape, { device });
  using to = empty(shape, { device });
  const copied = await timeOfCalls(device, asMany(CALLS), async () => {
    await to.copyFrom(from);
  });
  return copied.p10 / (from.bytes + to.bytes);
}
