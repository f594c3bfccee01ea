import type { Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { cholesky } from './cholesky.js';
import { eigh } from './eigh.js';
import { inv } from './inv.js';
import { lstsq } from './lstsq.js';
import {
  at,
  dense,
  flip,
  minus,
  norm1,
  productError,
  randomMatrix,
  reflected,
  rounded,
  geometric,
  THRESHOLD,
  times,
  toDense,
  toTensor,
  type Dense,
} from './matrices.test-support.js';
import { qr } from './qr.js';
import { svd } from './svd.js';

type Matrices = Tensor<'float32'>;

/** A routine on many matrices: what it gives for each, and how far that is from right, in units of what LAPACK's tests accept. */
interface Routine {
  readonly matrix: (n: number, seed: number) => Dense;
  /** A matrix of which there is no result, and the code that says so. */
  readonly bad: (n: number) => Dense;
  readonly code: (n: number) => number;
  readonly call: (
    a: Matrices,
    sides: Matrices,
  ) => Promise<{ readonly infos: Tensor<'int32'>; readonly results: readonly Tensor[] }>;
  readonly error: (a: Dense, results: readonly Dense[], sides: Dense) => number;
}

const singular = (n: number): Dense => dense(n, n, (i, j) => (i === j && i !== n - 1 ? 1 : 0));
const notFinite = (n: number): Dense => dense(n, n, () => NaN);
const definite = (n: number, seed: number): Dense => reflected(geometric(n, 1e3), seed);
const indefinite = (n: number, seed: number): Dense =>
  reflected(
    geometric(n, 1e3).map((value, i) => (i % 2 === 0 ? value : -value)),
    seed,
  );

/** A few random vectors, with which products of matrices are compared. */
const vectors = (rows: number): Dense => randomMatrix(rows, 3, 1);
const scaled = (values: Dense, by: Dense): Dense =>
  dense(by.rows, by.columns, (i, j) => (values.data[i] ?? NaN) * at(by, i, j));
const off = (left: Dense, right: Dense, size: number): number =>
  productError(left, right, size, 'float32');
const orthogonal = (q: Dense): number => {
  const c = vectors(q.columns);
  return off(times(flip(q), times(q, c)), c, norm1(c));
};

const ROUTINES: Readonly<Record<string, Routine>> = {
  cholesky: {
    matrix: definite,
    bad: singular,
    code: (n) => n,
    call: async (a) => {
      const { factor, infos } = await cholesky(a);
      return { infos, results: [factor] };
    },
    error: (a, [factor]) => {
      const c = vectors(a.rows);
      return off(times(a, c), times(factor!, times(flip(factor!), c)), norm1(a) * norm1(c));
    },
  },
  inv: {
    matrix: indefinite,
    bad: singular,
    code: (n) => n,
    call: async (a) => {
      const { inverse, infos } = await inv(a);
      return { infos, results: [inverse] };
    },
    error: (a, [inverse]) => {
      const c = vectors(a.rows);
      return off(times(inverse!, times(a, c)), c, norm1(a) * norm1(inverse!) * norm1(c));
    },
  },
  qr: {
    matrix: (n, seed) => randomMatrix(n, n, seed),
    bad: notFinite,
    code: () => -1,
    call: async (a) => {
      const { q, r, infos } = await qr(a);
      return { infos, results: [q, r] };
    },
    error: (a, [q, r]) => {
      const c = vectors(a.columns);
      const product = off(times(a, c), times(q!, times(r!, c)), norm1(a) * norm1(c));
      return Math.max(product, orthogonal(q!));
    },
  },
  svd: {
    matrix: indefinite,
    bad: notFinite,
    code: () => -1,
    call: async (a) => {
      const { u, s, vh, infos } = await svd(a);
      return { infos, results: [u, s.reshape([...s.shape, 1]), vh] };
    },
    error: (a, [u, s, vh]) => {
      const c = vectors(a.columns);
      const product = times(u!, scaled(s!, times(vh!, c)));
      return Math.max(
        off(times(a, c), product, norm1(a) * norm1(c)),
        orthogonal(u!),
        orthogonal(flip(vh!)),
      );
    },
  },
  lstsq: {
    matrix: (n, seed) => randomMatrix(n, n >> 1, seed),
    bad: (n) => dense(n, n >> 1, () => NaN),
    code: () => -1,
    call: async (a, sides) => {
      const { x, infos } = await lstsq(a, sides);
      return { infos, results: [x] };
    },
    error: (a, [x], b) => {
      const gradient = times(flip(a), minus(b, times(a, x!)));
      const zero = dense(gradient.rows, gradient.columns, () => 0);
      return off(gradient, zero, norm1(a) * (norm1(a) * norm1(x!) + norm1(b)));
    },
  },
  eigh: {
    matrix: indefinite,
    bad: notFinite,
    code: () => -1,
    call: async (a) => {
      const { values, vectors: found, infos } = await eigh(a);
      return { infos, results: [values.reshape([...values.shape, 1]), found] };
    },
    error: (a, [values, found]) => {
      const c = vectors(a.columns);
      const right = times(found!, scaled(values!, c));
      return Math.max(
        off(times(a, times(found!, c)), right, norm1(a) * norm1(c)),
        orthogonal(found!),
      );
    },
  },
};

/** A routine and an order; busy: what it enqueues does not wait for the device. */
type Order = [routine: string, order: number, wait?: 'busy'];

/** How many large matrices, of which orders. */
export interface ManyLarge {
  /** A multiple of 5: four good ones and a bad one, again and again. */
  readonly count: number;
  readonly orders: readonly Order[];
  /** Makes the call behind a device that is busy, and holds that it resolves meanwhile. */
  readonly whileBusy?: <T>(call: () => Promise<T>) => Promise<T>;
}

const LONG = { timeout: 120_000 };
const BAD = 2;

/** Many large matrices in one call, in float32: each has its result, and its code where there is none. */
export function manyLargeSuite(where: string, { count, orders, whileBusy }: ManyLarge): void {
  describe(`many large matrices, ${where}`, () => {
    it.each<Order>(orders)(
      'have their own results of %s, order %i',
      LONG,
      async (name, n, wait) => {
        const { matrix, bad, code, call, error } = ROUTINES[name]!;
        const five = [1, 2, 3, 4, 5].map((seed, z) =>
          rounded(z === BAD ? bad(n) : matrix(n, seed), 'float32'),
        );
        const sides = rounded(randomMatrix(n, 2, 9), 'float32');
        using given = await toTensor(five, 'float32');
        using b = await toTensor(sides, 'float32');
        const a = given.broadcastTo([count / 5, 5, ...given.shape.slice(1)]);
        const made = async (): ReturnType<Routine['call']> => call(a, b);
        const isBusy = wait === 'busy' && whileBusy !== undefined;
        if (isBusy) {
          // What is loaded once.
          const first = await made();
          await first.infos.ready();
          for (const one of [first.infos, ...first.results]) one.dispose();
        }
        const { infos, results } = isBusy ? await whileBusy(made) : await made();
        const codes = five.map((_, z) => (z === BAD ? code(n) : 0));
        expect(await infos.toNested()).toEqual(Array.from({ length: count / 5 }, () => codes));
        for (const round of [0, (count / 5) >> 1, count / 5 - 1]) {
          const parts = await Promise.all(results.map((one) => toDense(one.slice(round))));
          for (const [z, one] of five.entries()) {
            const own = parts.map((part) => part[z]!);
            if (z !== BAD) expect(error(one, own, sides)).toBeLessThan(THRESHOLD);
            else for (const { data } of own) expect(data.every(Number.isNaN)).toBe(true);
          }
        }
        for (const one of [infos, ...results]) one.dispose();
      },
    );
  });
}
