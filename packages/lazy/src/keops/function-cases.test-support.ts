import { complexOf, exp1j, type LazyReduction } from '../index.js';
import { numbers, type Numbers } from '../reference.test-support.js';
import { at, batched, I, J, P, square, sums, type Case } from './case.test-support.js';

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

/** Extrema of a wave of squared distances, in batches. */
function waves(): Case {
  const [M, N] = [9, 14];
  const x = numbers(31, M, 2, { batch: [2, 1] });
  const [y, s] = [numbers(32, N, 2, { batch: [3] }), numbers(33, N, 1, { batch: [3] })];
  const rows = Array.from({ length: 6 * M }, (_, flat) => {
    const [e, i] = [Math.floor(flat / M), flat % M];
    return Array.from({ length: N }, (__, j) => {
      const d = square(x, i, y, j, Math.floor(e / 3), e % 3);
      return Math.cos(d ** 1.5 + 1) * Math.sin(d * (3.2 + at(s, j, 0, e % 3)));
    });
  });
  const value = Float64Array.from(rows, (row) => Math.min(...row));
  const index = rows.map((row, flat) => row.indexOf(value[flat] ?? NaN));
  const d = I(0, 2).sqdist(J(1, 2));
  const wave = d.pow(1.5).add(1).cos().mul(J(2, 1).add(3.2).mul(d).sin());
  const reduction = wave.reduction('MinArgMin', 'j');
  return {
    name: 'minArgMin of a wave',
    reduction,
    data: [x, y, s],
    dtype: 'float64',
    value,
    index,
  };
}

/** A vector and a number that is repeated, times b; and derivatives of it. */
function cosines(): readonly Case[] {
  const [M, N] = [30, 20];
  const [x, y, b] = [numbers(34, M, 3), numbers(35, N, 1), numbers(36, N, 1)];
  const [e, f] = [numbers(37, M, 1), numbers(38, M, 3)];
  const [a, c] = [I(0, 3), J(1, 1)];
  const formula = a.cos().sub(c).sum().mul(J(2, 1));
  const byX = formula.grad(a, I(3, 1));
  const cosine = (i: number): number =>
    Math.cos(at(x, i, 0)) + Math.cos(at(x, i, 1)) + Math.cos(at(x, i, 2));
  const sum = { dtype: 'float64', rtol: 1e-4 } as const;
  return [
    {
      ...{ ...sum, name: 'cosines less a number', data: [x, y, b] },
      reduction: formula.reduction('Sum', 'j'),
      value: sums(M, N, 1, (i, j) => (cosine(i) - 3 * at(y, j)) * at(b, j)),
    },
    {
      ...{ ...sum, name: 'cosines less a number, by x', data: [x, y, b, e] },
      reduction: byX.reduction('Sum', 'j'),
      value: sums(M, N, 3, (i, j, k) => -Math.sin(at(x, i, k)) * at(b, j) * at(e, i)),
    },
    {
      ...{ ...sum, name: 'cosines less a number, by the repeated number', data: [x, y, b, e] },
      reduction: formula.grad(c, I(3, 1)).reduction('Sum', 'i'),
      value: sums(N, M, 1, (j, i) => -3 * at(b, j) * at(e, i)),
    },
    {
      ...{ ...sum, name: 'cosines less a number, by x twice', data: [x, y, b, e, f], rtol: 1e-3 },
      reduction: byX.grad(a, I(4, 3)).reduction('Sum', 'j'),
      value: sums(M, N, 3, (i, j, k) => -Math.cos(at(x, i, k)) * at(b, j) * at(e, i) * at(f, i, k)),
    },
  ];
}

/** The normalised sinc and its derivative, at 0 and near it. */
function sincs(): readonly Case[] {
  const values = Float64Array.of(0, 1e-5, -0.3, 1, 2.7);
  const x: Numbers = { batch: [], rows: 5, dim: 1, values };
  const sinc = (t: number): number => (t === 0 ? 1 : Math.sin(Math.PI * t) / (Math.PI * t));
  const a = I(0, 1);
  const derivative = (t: number): number => {
    // The series, where the difference of two numbers near 1 would cancel.
    if (Math.abs(t) < 1e-3) return (-(Math.PI ** 2) / 3) * t + (Math.PI ** 4 / 30) * t ** 3;
    return (Math.cos(Math.PI * t) - sinc(t)) / t;
  };
  return [
    {
      ...{ name: 'sinc', data: [x], dtype: 'float64', value: values.map(sinc) },
      reduction: a.sinc().reduction('Sum', 'j'),
    },
    {
      ...{ name: 'sinc, by its argument', data: [x], dtype: 'float64' },
      ...{ reduction: a.sinc().grad(a).reduction('Sum', 'j'), value: values.map(derivative) },
    },
  ];
}

/** Sums of complex numbers, with and without functions of them. */
function complexes(): readonly Case[] {
  const [M, N] = [200, 300];
  const [x, y] = [numbers(39, M, 6), numbers(40, N, 6)];
  const [z, w] = [complexOf(I(0, 6)), complexOf(J(1, 6))];
  const sum: LazyReduction = z
    .mul(w)
    .mul(w.real())
    .add(z)
    .add(z.real())
    .sum()
    .pairs()
    .reduction('Sum', 'j');
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
      ...{ ...single, name: 'complex products with real parts', reduction: sum, data: [x, y] },
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
      ...{ ...single, name: 'complex products, by their pairs', data: [x, y, e] },
      reduction: squares.grad(by, I(2, 3)).reduction('Sum', 'j'),
      // Re(z w w) = re(z) re(w w) - im(z) im(w w)
      value: complexSums(M, N, 3, (i, j, n) => {
        const [re, im] = times(pair(y, j, n), pair(y, j, n));
        return [re * at(e, i, n), -im * at(e, i, n)];
      }),
    },
    {
      ...{ ...single, name: 'a Fourier sum over i', data: [times1, frequencies, factor, signal] },
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
      ...{ name: 'a Vandermonde sum', data: [steps, a, v], dtype: 'float64' },
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
  const [side, count] = [8, 100];
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

/** A Matern-5/2 matrix in a batch, as its product with the unit matrix: issue 335. */
function matern(): Case {
  const [entries, M, N] = [30, 20, 12];
  const [x, y] = [numbers(50, M, 3, { batch: [entries] }), numbers(51, N, 3, { batch: [entries] })];
  const unit = Float64Array.from({ length: N * N }, (_, at) => (at % (N + 1) === 0 ? 1 : 0));
  const value = batched(entries, (entry) =>
    sums(M, 1, N, (i, _, j) => {
      const d = square(x, i, y, j, entry, entry);
      return (1 + Math.sqrt(5 * d) + (5 / 3) * d) * Math.exp(-Math.sqrt(5 * d));
    }),
  );
  const d = I(0, 3).sqdist(J(1, 3));
  const r = d.mul(5).sqrt();
  const kernel = r
    .add(1)
    .add(d.mul(5 / 3))
    .mul(r.neg().exp());
  const data = [x, y, { batch: [], rows: N, dim: N, values: unit }];
  const reduction = kernel.mul(J(2, N)).reduction('Sum', 'j');
  return {
    name: 'a batch of Matern matrices',
    reduction,
    data,
    dtype: 'float32',
    value,
    atol: 1e-5,
  };
}

/** Means with weights e ^ distance. */
function softmax(): Case {
  const [M, N] = [10, 6];
  const [x, y, b] = [numbers(52, M, 3), numbers(53, N, 3), numbers(54, N, 3)];
  const factor = (i: number, j: number): number => Math.exp(square(x, i, y, j));
  const totals = sums(M, N, 1, factor);
  const value = sums(M, N, 3, (i, j, c) => (factor(i, j) * at(b, j, c)) / (totals[i] ?? NaN));
  const reduction = I(0, 3)
    .sqdist(J(1, 3))
    .reduction('SumSoftMaxWeight', 'j', { weight: J(2, 3) });
  return {
    name: 'a softmax of distances',
    reduction,
    data: [x, y, b],
    dtype: 'float64',
    value,
    atol: 1e-6,
  };
}

/** Functions, complex numbers and kernels of KeOps' tests and reports. */
export const functionCases = (): readonly Case[] => [
  waves(),
  ...cosines(),
  ...sincs(),
  ...complexes(),
  grid(),
  matern(),
  softmax(),
];
