import { Matrix } from 'ml-matrix';
import { elementRoutines } from './element-routines.js';
import type { ElementCall, ElementResult } from './element.js';
import type { FallbackRequest, PackedMatrices } from './messages.js';

/** Calls ml-matrix once for each batch entry. */
export function compute(
  { routine, count, matrices, numbers, vectors }: Omit<FallbackRequest, 'id'>,
  onDone: (done: number) => void,
): Record<string, Float64Array> {
  const element = elementRoutines[routine];
  const isEmpty = matrices['a']?.values?.length === 0;
  const results: Record<string, Float64Array> = {};
  for (const [name, { rows, columns }] of Object.entries(matrices)) {
    results[name] = new Float64Array(count * rows * columns).fill(NaN);
  }
  for (const name of vectors) results[name] = new Float64Array(count);
  for (let index = 0; index < count; index++) {
    const one = isEmpty ? zeros(matrices, vectors) : element(callOf(matrices, numbers, index));
    store(results, matrices, index, one);
    onDone(index + 1);
  }
  return results;
}

/** What LAPACK leaves of an empty matrix: success and zeros. */
function zeros(matrices: FallbackRequest['matrices'], vectors: readonly string[]): ElementResult {
  return {
    matrices: Object.fromEntries(
      Object.entries(matrices).map(([name, { rows, columns }]) => [
        name,
        new Matrix(rows, columns),
      ]),
    ),
    vectors: Object.fromEntries(vectors.map((name) => [name, 0])),
  };
}

function callOf(
  matrices: FallbackRequest['matrices'],
  numbers: FallbackRequest['numbers'],
  index: number,
): ElementCall {
  const inputs: Record<string, Matrix> = {};
  for (const [name, packed] of Object.entries(matrices)) {
    if (packed.values !== undefined) inputs[name] = matrixAt(packed, packed.values, index);
  }
  return { inputs, numbers };
}

function matrixAt({ rows, columns }: PackedMatrices, values: Float64Array, index: number): Matrix {
  const first = index * rows * columns;
  return Matrix.from1DArray(rows, columns, values.subarray(first, first + rows * columns));
}

/** Matrices that an element left out stay NaN. */
function store(
  results: Record<string, Float64Array>,
  shapes: FallbackRequest['matrices'],
  index: number,
  { matrices, vectors }: ElementResult,
): void {
  for (const [name, matrix] of Object.entries(matrices)) {
    const target = results[name];
    const shape = shapes[name];
    if (target === undefined || shape === undefined) continue;
    const { rows, columns } = shape;
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        target[(index * rows + i) * columns + j] = matrix.get(i, j);
      }
    }
  }
  for (const [name, value] of Object.entries(vectors)) {
    const target = results[name];
    if (target !== undefined) target[index] = value;
  }
}
