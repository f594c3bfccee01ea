import { tensor, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { cholesky } from './cholesky.js';
import { conditionEstimate } from './condition-estimate.js';
import { eigh } from './eigh.js';
import { inv } from './inv.js';
import { kron } from './kron.js';
import { logdet } from './logdet.js';
import { lstsq } from './lstsq.js';
import { emptyTensor } from './matrices.test-support.js';
import { matmul } from './matmul.js';
import { matrixPower } from './matrix-power.js';
import { qr } from './qr.js';
import { refineEigenbasis } from './refine-eigenbasis.js';
import { solveCholesky } from './solve-cholesky.js';
import { solveLU } from './solve-lu.js';
import { svd } from './svd.js';
import { solveTriangular } from './solve-triangular.js';

type Made = Readonly<Record<string, Tensor | undefined>>;
type Shape = readonly number[];

const zeros = (...shape: number[]): Tensor<'float64'> => emptyTensor(shape, 'float64');

/** 3 x 2, with singular values 4 and 3. */
const diagonal = (): Promise<Tensor<'float64'>> =>
  tensor(
    [
      [3, 0],
      [0, 4],
      [0, 0],
    ],
    { device: 'cpu', dtype: 'float64' },
  );

/** What is called, the shapes of its results, and results that hold a number all the same. */
const cases: readonly [
  name: string,
  call: () => Promise<unknown>,
  shapes: Readonly<Record<string, Shape>>,
  values?: Readonly<Record<string, unknown>>,
][] = [
  ['eigh of 0 x 0', () => eigh(zeros(0, 0)), { values: [0], vectors: [0, 0] }, { infos: 0 }],
  ['eigh of 3 of 0 x 0', () => eigh(zeros(3, 0, 0)), { vectors: [3, 0, 0] }, { infos: [0, 0, 0] }],
  ['eigh of no matrix', () => eigh(zeros(0, 2, 2)), { values: [0, 2], infos: [0] }],
  ['svd of 0 x 3', () => svd(zeros(0, 3)), { u: [0, 0], s: [0], vh: [0, 3] }, { infos: 0 }],
  ['svd of 3 x 0', () => svd(zeros(3, 0)), { u: [3, 0], s: [0], vh: [0, 0] }, { infos: 0 }],
  ['svd of 0 x 0', () => svd(zeros(0, 0)), { u: [0, 0], s: [0], vh: [0, 0] }, { infos: 0 }],
  ['qr of 0 x 3', () => qr(zeros(0, 3)), { q: [0, 0], r: [0, 3] }, { infos: 0 }],
  ['qr of 1 x 0', () => qr(zeros(1, 0)), { q: [1, 0], r: [0, 0] }, { infos: 0 }],
  ['inv of 0 x 0', () => inv(zeros(0, 0)), { inverse: [0, 0] }, { infos: 0 }],
  [
    'inv of 0 x 0 by Cholesky',
    () => inv(zeros(0, 0), { method: 'cholesky' }),
    { inverse: [0, 0] },
    { infos: 0 },
  ],
  ['cholesky of 0 x 0', () => cholesky(zeros(0, 0)), { factor: [0, 0] }, { infos: 0 }],
  [
    'conditionEstimate of 0 x 0',
    () => conditionEstimate(zeros(0, 0)),
    {},
    { condition: 0, infos: 0 },
  ],
  ['logdet of 0 x 0', () => logdet(zeros(0, 0)), {}, { sign: 1, logAbs: 0, infos: 0 }],
  ['matrixPower of 0 x 0', () => matrixPower(zeros(0, 0), 0.5), { result: [0, 0] }, { infos: 0 }],
  [
    'matrixPower of 0 x 0 by products',
    () => matrixPower(zeros(0, 0), -0.5, { method: 'newton' }),
    { result: [0, 0] },
    { infos: 0 },
  ],
  [
    'matrixPower of 0 x 0 by products, all enqueued',
    () => matrixPower(zeros(0, 0), -0.5, { method: 'higherOrder' }),
    { result: [0, 0] },
    { infos: 0 },
  ],
  [
    'matrixPower of no matrix by products',
    () => matrixPower(zeros(0, 2, 2), -0.5, { method: 'higherOrder' }),
    { result: [0, 2, 2], infos: [0] },
  ],
  [
    'refineEigenbasis of 0 x 0',
    () => refineEigenbasis(zeros(0, 0), zeros(0, 0)),
    { values: [0], vectors: [0, 0] },
    { infos: 0, errors: 0 },
  ],
  [
    'refineEigenbasis of no matrix',
    () => refineEigenbasis(zeros(0, 2, 2), zeros(2, 2)),
    { values: [0, 2], infos: [0] },
  ],
  [
    'lstsq of 0 x 2',
    () => lstsq(zeros(0, 2), zeros(0, 1)),
    { x: [2, 1] },
    { x: [[0], [0]], rank: 0, infos: 0 },
  ],
  [
    'lstsq without right-hand sides',
    async () => lstsq(await diagonal(), zeros(3, 0)),
    { x: [2, 0] },
    { rank: 2, singularValues: [expect.closeTo(4, 12), expect.closeTo(3, 12)], infos: 0 },
  ],
  [
    'lstsq without right-hand sides in rows, of two matrices',
    async () => lstsq(await diagonal(), zeros(2, 0, 3), { rightHandSides: 'rows' }),
    { x: [2, 0, 2] },
    { rank: [2, 2], infos: [0, 0] },
  ],
  ['lstsq of 3 x 0', () => lstsq(zeros(3, 0), zeros(3, 2)), { x: [0, 2] }, { rank: 0, infos: 0 }],
  [
    'solveCholesky of 0 x 0',
    () => solveCholesky(zeros(0, 0), zeros(0, 2)),
    { x: [0, 2] },
    { infos: 0 },
  ],
  ['solveLU of 0 x 0', () => solveLU(zeros(0, 0), zeros(0, 2)), { x: [0, 2] }, { infos: 0 }],
  [
    'solveTriangular of 0 x 0',
    () => solveTriangular(zeros(0, 0), zeros(0, 2)),
    { x: [0, 2] },
    { infos: 0 },
  ],
  [
    'matmul without an inner axis',
    async () => ({ c: await matmul(zeros(1, 0), zeros(0, 2)) }),
    {},
    { c: [[0, 0]] },
  ],
  ['matmul of 0 x 3', async () => ({ c: await matmul(zeros(0, 3), zeros(3, 2)) }), { c: [0, 2] }],
  ['kron of 0 x 1', async () => ({ c: await kron(zeros(0, 1), zeros(2, 2)) }), { c: [0, 2] }],
];

/** Matrices without rows or without columns, which every operation takes. */
export function emptySuite(where: string): void {
  describe(`an empty matrix, ${where}`, () => {
    it.each(cases)('%s', async (_name, call, shapes, values = {}) => {
      const made = (await call()) as Made;
      for (const [name, shape] of Object.entries(shapes)) {
        expect([name, made[name]?.shape]).toEqual([name, shape]);
      }
      for (const [name, value] of Object.entries(values)) {
        expect([name, await made[name]?.toNested()]).toEqual([name, value]);
      }
      expect(Object.keys(shapes).length + Object.keys(values).length).toBeGreaterThan(0);
    });
  });
}
