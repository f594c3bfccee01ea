import { numbers, type Numbers } from '../reference.test-support.js';
import { I, J, type Case } from './case.test-support.js';
import { at, batched, square, sums } from './oracle.test-support.js';
import { ownSize } from './own-size.test-support.js';

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
  const [M, N] = ownSize([30, 20], [100, 100]);
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
      ...sum,
      name: 'cosines less a number',
      data: [x, y, b],
      reduction: formula.reduction('Sum', 'j'),
      value: sums(M, N, 1, (i, j) => (cosine(i) - 3 * at(y, j)) * at(b, j)),
    },
    {
      ...sum,
      name: 'cosines less a number, by x',
      data: [x, y, b, e],
      reduction: byX.reduction('Sum', 'j'),
      value: sums(M, N, 3, (i, j, k) => -Math.sin(at(x, i, k)) * at(b, j) * at(e, i)),
    },
    {
      ...sum,
      name: 'cosines less a number, by the repeated number',
      data: [x, y, b, e],
      reduction: formula.grad(c, I(3, 1)).reduction('Sum', 'i'),
      value: sums(N, M, 1, (j, i) => -3 * at(b, j) * at(e, i)),
    },
    {
      ...sum,
      name: 'cosines less a number, by x twice',
      data: [x, y, b, e, f],
      rtol: 1e-3,
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
      name: 'sinc',
      data: [x],
      dtype: 'float64',
      value: values.map(sinc),
      reduction: a.sinc().reduction('Sum', 'j'),
    },
    {
      name: 'sinc, by its argument',
      data: [x],
      dtype: 'float64',
      reduction: a.sinc().grad(a).reduction('Sum', 'j'),
      value: values.map(derivative),
    },
  ];
}

/** A Matern-5/2 matrix in a batch, as its product with the unit matrix: issue 335. */
function matern(): Case {
  const [entries, M, N] = [30, ownSize(20, 10_000), 12];
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

/** Functions and kernels of KeOps' tests and reports. */
export const functionCases = (): readonly Case[] => [
  waves(),
  ...cosines(),
  ...sincs(),
  matern(),
  softmax(),
];
