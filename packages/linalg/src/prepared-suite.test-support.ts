import {
  device as deviceOf,
  empty,
  full,
  isTensor,
  type Device,
  type Tensor,
} from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { cholesky } from './cholesky.js';
import type { LinalgDType } from './checks.js';
import { conditionEstimate } from './condition-estimate.js';
import { eigh } from './eigh.js';
import { inv } from './inv.js';
import { kron } from './kron.js';
import { kronMatvec } from './kron-matvec.js';
import { lstsq } from './lstsq.js';
import { matmul } from './matmul.js';
import { definite, DTYPES, placeTensors, randomMatrix, toTensor } from './matrices.test-support.js';
import { matrixPower } from './matrix-power.js';
import { qr } from './qr.js';
import { refineEigenbasis } from './refine-eigenbasis.js';
import { logdet } from './logdet.js';
import { solveCholesky } from './solve-cholesky.js';
import { solveLU } from './solve-lu.js';
import { solveTriangular } from './solve-triangular.js';
import { svd } from './svd.js';
import { undisposedBytes } from '../../tensor/test/memory-kept.mjs';

type Options = Readonly<Record<string, unknown>>;
type Results = object;
/** A function of this package without the types of its arguments. */
type Face = ((...args: unknown[]) => PromiseLike<Results>) & {
  prepare(...args: unknown[]): Promise<(...args: unknown[]) => Results | Promise<Results>>;
};

/** Matrices of one order. */
interface Matrices {
  readonly a: Tensor<LinalgDType>;
  readonly b: Tensor<LinalgDType>;
  /** As a vector. */
  readonly x: Tensor<LinalgDType>;
}

/** What is called, with what, how, and whether its prepared calls give a promise. */
type Row = readonly [
  name: string,
  face: unknown,
  args: (matrices: Matrices) => unknown[],
  options?: Options,
  waits?: boolean,
];

const rows: readonly Row[] = [
  ['solveCholesky', solveCholesky, ({ a, b }) => [a, b]],
  [
    'solveCholesky of rows',
    solveCholesky,
    ({ a }) => [a, a],
    { rightHandSides: 'rows', uplo: 'upper' },
  ],
  ['solveCholesky refined', solveCholesky, ({ a, b }) => [a, b], { refine: 2 }],
  ['solveLU', solveLU, ({ a, b }) => [a, b]],
  ['solveLU refined', solveLU, ({ a, b }) => [a, b], { refine: 1 }],
  [
    'solveTriangular',
    solveTriangular,
    ({ a, b }) => [a, b],
    { transpose: true, unitDiagonal: true },
  ],
  ['cholesky', cholesky, ({ a }) => [a], { uplo: 'upper' }],
  ['inv', inv, ({ a }) => [a], { method: 'cholesky' }],
  ['logdet', logdet, ({ a }) => [a]],
  ['conditionEstimate', conditionEstimate, ({ a }) => [a], { method: 'cholesky' }],
  ['qr', qr, ({ b }) => [b]],
  ['matmul', matmul, ({ a, b }) => [a, b], { alpha: 2 }],
  [
    'matmul of strided operands',
    matmul,
    ({ b }) => [b.slice(null, [null, null, 2]), b.slice(null, [null, null, 2])],
    { transposeB: true },
  ],
  ['matmul in parts', matmul, ({ a, b }) => [a, b], { precision: 'tf32x3' }],
  ['kron', kron, ({ a, b }) => [a, b]],
  ['kronMatvec', kronMatvec, ({ a, b, x }) => [a, b, x]],
  ['eigh', eigh, ({ a }) => [a], {}, true],
  ['svd', svd, ({ b }) => [b], {}, true],
  ['lstsq', lstsq, ({ a, b }) => [a, b], { tolerance: 1e-3 }, true],
  ['matrixPower', matrixPower, ({ a }) => [a, 0.5], { eps: 0.1 }, true],
  ['matrixPower by products', matrixPower, ({ a }) => [a, -0.5], { method: 'newton' }, true],
  [
    'matrixPower by enqueued products',
    matrixPower,
    ({ a }) => [a, -0.5],
    { method: 'newton', steps: 20 },
    true,
  ],
  [
    'matrixPower of higher order',
    matrixPower,
    ({ a }) => [a, -0.5],
    { method: 'higherOrder' },
    true,
  ],
  ['refineEigenbasis', refineEigenbasis, ({ a }) => [a, a]],
];

async function matricesOf(n: number, count: number, dtype: LinalgDType): Promise<Matrices> {
  const several = async (columns: number | undefined): Promise<Tensor<LinalgDType>> => {
    const all = Array.from({ length: count }, (_, at) =>
      columns === undefined ? definite(n, at + 1) : randomMatrix(n, columns, at + 9),
    );
    const rows = all.flatMap(({ data }) => [...data]);
    const one = { rows: count * n, columns: columns ?? n, data: Float64Array.from(rows) };
    return (await toTensor(one, dtype)).reshape([count, n, columns ?? n]);
  };
  const [a, b, x] = [await several(undefined), await several(3), await several(3 * n)];
  return { a, b, x: x.slice(null, 0) };
}

const named = (results: Results): Readonly<Record<string, Tensor>> =>
  isTensor(results) ? { result: results } : (results as Readonly<Record<string, Tensor>>);

async function numbersOf(results: Results): Promise<Record<string, unknown>> {
  const read: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(named(results))) read[name] = await one.toNested();
  return read;
}

/** Prepared calls, outs by name, and calls that come again, of every operation. */
export function preparedSuite(where: string, on: () => Device = () => deviceOf('cpu')): void {
  beforeAll(() => {
    placeTensors(on());
  });

  for (const [name, given, argsOf, options = {}, waits = false] of rows) {
    describe(`${name}, prepared ${where}`, () => {
      const face = given as Face;
      const dtypes = name.includes('refined')
        ? (['float64'] as const)
        : name.includes('parts')
          ? (['float32'] as const)
          : DTYPES;

      it.each(dtypes)('gives of %s what a call gives, for any sizes', async (dtype) => {
        const prepared = await face.prepare(...argsOf(await matricesOf(4, 2, dtype)), options);
        for (const [n, count] of [
          [4, 2],
          [7, 3],
          [7, 3],
        ] as const) {
          const args = argsOf(await matricesOf(n, count, dtype));
          const found = prepared(...args);
          expect(found instanceof Promise).toBe(waits);
          expect(await numbersOf(await found)).toEqual(
            await numbersOf(await face(...args, options)),
          );
        }
      });

      it('writes into tensors by name, of any strides, and leaves the others to the call', async () => {
        const args = argsOf(await matricesOf(5, 2, dtypes[dtypes.length - 1] as LinalgDType));
        const wanted = await numbersOf(await face(...args, options));
        const like = named(await face(...args, options));
        for (const some of Object.keys(like)) {
          const isAlone = some === 'result' && Object.keys(like).length === 1;
          const outOf = (target: Tensor): unknown => (isAlone ? target : { [some]: target });
          const out = outOf(await turned(like[some] as Tensor));
          const prepared = await face.prepare(...args, { ...options, out });
          const call = (given: unknown) => face(...args, { ...options, out: given });
          const again = (given: unknown) => prepared(...args, { out: given });
          for (const one of [call, call, again, again]) {
            const target = await turned(like[some] as Tensor);
            const found = await one(outOf(target));
            expect(named(found)[some]).toBe(target);
            expect(await numbersOf(found)).toEqual(wanted);
          }
        }
      });

      it('computes the same with debug, and a preparation refuses what makes a call wait', async () => {
        const args = argsOf(await matricesOf(3, 1, 'float32'));
        if (!name.includes('refined')) {
          const debug = (): void => undefined;
          const wanted = await numbersOf(await face(...args, options));
          expect(await numbersOf(await face(...args, { ...options, debug }))).toEqual(wanted);
          const prepared = await face.prepare(...args, { ...options, debug });
          expect(await numbersOf(await prepared(...args))).toEqual(wanted);
        }
        for (const waiting of ['checkErrors', 'onProgress', 'onJitter', 'jitter', 'device']) {
          const prepared = face.prepare(...args, { ...options, [waiting]: undefined });
          await expect(prepared, waiting).rejects.toThrow(`no option '${waiting}'`);
        }
      });
    });
  }

  describe(`prepared ${where}`, () => {
    it('alpha and beta are those of the call, each time it is made', async () => {
      const { a, b } = await matricesOf(4, 2, 'float64');
      const prepared = await matmul.prepare(a, b, { alpha: 3 });
      const product = (await numbersOf(await matmul(a, b)))['result'] as number[][][];
      const scaled = (alpha: number, beta: number): number[][][] =>
        product.map((rows) => rows.map((row) => row.map((one) => alpha * one + beta)));
      const ones = (): Promise<Tensor<LinalgDType>> =>
        full(b.shape, 1, { dtype: 'float64', device: on() });
      for (const alpha of [2, -1, 0, 1]) {
        for (const beta of [0, 1, 5]) {
          const out = await ones();
          for (const call of [
            () => matmul(a, b, { alpha, beta, out }),
            () => prepared(a, b, { alpha, beta, out }),
          ]) {
            await out.fill(1);
            expect(await call()).toBe(out);
            expectClose(await out.toNested(), scaled(alpha, beta));
          }
        }
        expectClose(await (await matmul(a, b, { alpha })).toNested(), scaled(alpha, 0));
        expectClose(await prepared(a, b, { alpha }).toNested(), scaled(alpha, 0));
      }
      expectClose(await prepared(a, b).toNested(), scaled(3, 0));
      // back to the default and away from it again
      for (const alpha of [5, 1, 5]) {
        expectClose(await (await matmul(a, b, { alpha })).toNested(), scaled(alpha, 0));
        expectClose(await prepared(a, b, { alpha }).toNested(), scaled(alpha, 0));
      }
      expect(() => prepared(a, b, { beta: 1 })).toThrow('there is no out');
      expect(() => prepared(a, b, { alpha: 'two' as never })).toThrow('alpha is "two"');
      await expect(matmul(a, b, { alpha: null as never })).rejects.toThrow('alpha is null');
    });

    it('in place, results are other handles for what was written over', async () => {
      const { a, b } = await matricesOf(4, 2, 'float64');
      const wanted = await numbersOf(await solveCholesky(a, b));
      const prepared = await solveCholesky.prepare(a, b, { overwriteA: true, overwriteB: true });
      for (const call of [
        prepared,
        prepared,
        (x: typeof a, y: typeof b) => solveCholesky(x, y, { overwriteA: true, overwriteB: true }),
        (x: typeof a, y: typeof b) => solveCholesky(x, y, { overwriteA: true, overwriteB: true }),
      ]) {
        const [factor, sides] = [await a.clone(), await b.clone()];
        const { x, infos } = await call(factor as never, sides as never);
        expect(x).not.toBe(sides);
        expect(x.storage).toBe(sides.storage);
        expect(await numbersOf({ x, infos })).toEqual(wanted);
        // on a GPU another kernel computes it, and may round otherwise
        const written = await factor.toTypedArray();
        const same = await (await cholesky(a as never)).factor.toTypedArray();
        for (const [at, value] of same.entries()) {
          expect(Math.abs((written[at] ?? NaN) - value)).toBeLessThan(8 * 2 ** -53);
        }
        x.dispose();
        expect(sides.disposed).toBe(false);
      }
    });

    it('refuses one place twice, tensors of other results and results that there are not', async () => {
      const { a, b } = await matricesOf(3, 1, 'float64');
      const x = empty(b.shape, { dtype: 'float64', device: on() });
      const bad: readonly (readonly [object, string])[] = [
        [{ out: x, overwriteB: true }, 'both out and overwriteB'],
        [{ out: { x }, overwriteB: true }, 'both out and overwriteB'],
        [{ out: { y: x } }, "no option 'y'"],
        [{ out: { infos: x } }, 'out is float64'],
        [{ out: { x: a } }, 'shares memory'],
        [{ out: 3 }, 'out'],
      ];
      for (const [options, message] of bad) {
        await expect(solveLU(a as never, b as never, options)).rejects.toThrow(message);
      }
      const { q } = await qr(a as never);
      await expect(qr(a as never, { out: { q, r: q } })).rejects.toMatchObject({
        code: 'OVERLAP',
        message: expect.stringMatching(
          /^qr: the output .* shares memory with the output .*\. Pass memory of its own for each result\.$/,
        ) as string,
      });
    });

    it('keeps nothing of what it computed in', async () => {
      const device = on();
      for (const [, given, argsOf, options = {}] of rows) {
        const face = given as Face;
        if (options['precision'] !== undefined) continue;
        const args = argsOf(await matricesOf(4, 2, 'float64'));
        const prepared = await face.prepare(...args, options);
        const release = (results: Results): void => {
          for (const one of Object.values(named(results))) one.dispose();
        };
        release(await prepared(...args));
        release(await face(...args, options));
        const before = undisposedBytes(device);
        for (let turn = 0; turn < 3; turn++) {
          release(await prepared(...args));
          release(await face(...args, options));
        }
        expect(undisposedBytes(device)).toBe(before);
      }
    });
  });
}

/** A tensor like another whose last two axes lie the other way round. */
async function turned(like: Tensor): Promise<Tensor> {
  const { shape, dtype, device, rank } = like;
  if (rank < 2)
    return (await full([...shape, 2], 0, { dtype, device })).slice(...shape.map(() => null), 0);
  const [rows = 0, columns = 0] = shape.slice(-2);
  return (await full([...shape.slice(0, -2), columns, rows], 0, { dtype, device })).transpose();
}

function expectClose(found: unknown, wanted: number[][][]): void {
  const [left, right] = [found, wanted].map((one) => (one as number[][][]).flat(2));
  expect(left).toHaveLength(right?.length ?? -1);
  for (const [at, value] of (right ?? []).entries()) expect(left?.[at]).toBeCloseTo(value, 10);
}
