import { complexOf, exp1j } from '../index.js';
import { numbers, type Numbers } from '../reference.test-support.js';
import { I, J, P, type Case } from './case.test-support.js';
import { at, sums } from './oracle.test-support.js';
import { ownSize } from './own-size.test-support.js';

type Pair = readonly [re: number, im: number];
const times = ([a, b]: Pair, [c, d]: Pair): Pair => [a * c - b * d, a * d + b * c];
const turn = (angle: number): Pair => [Math.cos(angle), Math.sin(angle)];
const pair = (x: Numbers, row: number, n = 0): Pair => [at(x, row, 2 * n), at(x, row, 2 * n + 1)];

/** Sums of complex terms, real and imaginary part in turn. */
function complexSums(
  kept: number,
  reduced: number,
  dim: number,
  term: (row: number, other: number, n: number) => Pair,
): Float64Array {
  return sums(
    kept,
    reduced,
    2 * dim,
    (row, other, c) => term(row, other, Math.floor(c / 2))[c % 2] ?? NaN,
  );
}

/** Sums of complex numbers, with and without functions of them. */
function complexes(): readonly Case[] {
  const [M, N] = ownSize([200, 300], [1000, 1000]);
  const [x, y] = [numbers(39, M, 6), numbers(40, N, 6)];
  const [z, w] = [complexOf(I(0, 6)), complexOf(J(1, 6))];
  const sum = z.mul(w).mul(w.real()).add(z).add(z.real()).sum().pairs().reduction('Sum', 'j');
  const single = { dtype: 'float32', atol: 1e-3 } as const;
  const by = I(0, 6);
  const squares = complexOf(by).mul(w).mul(w).real();
  const e = numbers(41, M, 3);
  const frequencies = numbers(42, 50, 1, { low: -8, high: 8 });
  const [times1, signal] = [numbers(43, M, 1), numbers(44, M, 2)];
  const phase = P(2, 1)
    .mul(I(0, 1))
    .mul(J(1, 1))
    .mul(-2 * Math.PI);
  const factor = numbers(45, 1, 1, { low: 0.5, high: 1 });
  const [v, a] = [numbers(46, N, 2), numbers(47, N, 2, { low: -1, high: 0 })];
  const steps: Numbers = { batch: [], rows: 6, dim: 1, values: Float64Array.of(0, 1, 2, 3, 4, 5) };
  return [
    {
      ...single,
      name: 'complex products with real parts',
      reduction: sum,
      data: [x, y],
      value: complexSums(M, N, 1, (i, j) => {
        let [re, im] = [0, 0];
        for (const n of [0, 1, 2]) {
          const [p, q] = [pair(x, i, n), pair(y, j, n)];
          const product = times(p, q);
          re += product[0] * q[0] + 2 * p[0];
          im += product[1] * q[0] + p[1];
        }
        return [re, im];
      }),
    },
    {
      ...single,
      name: 'complex products, by their pairs',
      data: [x, y, e],
      reduction: squares.grad(by, I(2, 3)).reduction('Sum', 'j'),
      // Re(z w w) = re(z) re(w w) - im(z) im(w w)
      value: complexSums(M, N, 3, (i, j, n) => {
        const [re, im] = times(pair(y, j, n), pair(y, j, n));
        return [re * at(e, i, n), -im * at(e, i, n)];
      }),
    },
    {
      ...single,
      name: 'a Fourier sum over i',
      data: [times1, frequencies, factor, signal],
      reduction: exp1j(phase)
        .mul(complexOf(I(3, 2)))
        .pairs()
        .reduction('Sum', 'i'),
      value: complexSums(50, M, 1, (j, i) => {
        const angle = -2 * Math.PI * at(factor, 0) * at(times1, i) * at(frequencies, j);
        return times(turn(angle), pair(signal, i));
      }),
    },
    {
      name: 'a Vandermonde sum',
      data: [steps, a, v],
      dtype: 'float64',
      reduction: complexOf(J(1, 2))
        .mul(I(0, 1))
        .exp()
        .mul(complexOf(J(2, 2)))
        .pairs()
        .reduction('Sum', 'j'),
      value: complexSums(6, N, 1, (i, j) => {
        const [re, im] = times(pair(a, j), [at(steps, i), 0]);
        return times(times([Math.exp(re), 0], turn(im)), pair(v, j));
      }),
    },
  ];
}

/** A Fourier sum at points of a grid with angles of hundreds, where fast sines of large arguments would show: issue 328. */
function grid(): Case {
  const [side, count] = [ownSize(8, 64), 100];
  const k = numbers(48, count, 3, { low: -100, high: 100 });
  const w = numbers(49, count, 1);
  const values = Float64Array.from({ length: 3 * side ** 3 }, (_, flat) =>
    Math.fround((Math.floor(Math.floor(flat / 3) / side ** (flat % 3)) % side) / side),
  );
  const x: Numbers = { batch: [], rows: side ** 3, dim: 3, values };
  const reduction = exp1j(I(0, 3).dot(J(1, 3)))
    .mul(J(2, 1))
    .pairs()
    .reduction('Sum', 'j');
  const value = complexSums(side ** 3, count, 1, (i, j) => {
    const angle = at(x, i, 0) * at(k, j, 0) + at(x, i, 1) * at(k, j, 1) + at(x, i, 2) * at(k, j, 2);
    return times(turn(angle), [at(w, j), 0]);
  });
  const name = 'a Fourier sum over a grid';
  return { name, reduction, data: [x, k, w], dtype: 'float32', value, atol: 5e-4 };
}

/** The complex sums of KeOps' tests and reports. */
export const complexCases = (): readonly Case[] => [...complexes(), grid()];
