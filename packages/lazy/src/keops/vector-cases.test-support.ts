import { numbers, type Numbers } from '../reference.test-support.js';
import { I, J, P, type Case } from './case.test-support.js';
import { at, batched, square, sums } from './oracle.test-support.js';
import { ownSize } from './own-size.test-support.js';

const [M, N] = ownSize([20, 30], [200, 300]);
const tight = { atol: 1e-4, rtol: 1e-4 } as const;

/** The largest inner product: issue 243. */
function productAndArgMax(dim: number): Case {
  const [x, y] = [numbers(1, 12, dim), numbers(2, 30, dim)];
  const index = Array.from({ length: 12 }, (_, i) => {
    const products = [...sums(30, dim, 1, (j, c) => at(x, i, c) * at(y, j, c))];
    return products.indexOf(Math.max(...products));
  });
  const reduction = I(0, dim).dot(J(1, dim)).reduction('ArgMax', 'j');
  return { name: `argMax of products of ${dim}`, reduction, data: [x, y], dtype: 'float64', index };
}

/** The nearest row as one of the K nearest: issue 262. */
function nearest(dim: number): Case {
  const [x, y] = [numbers(3, 3, dim), numbers(4, 5, dim)];
  const value = Float64Array.from({ length: 3 }, (_, i) =>
    Math.min(...[0, 1, 2, 3, 4].map((j) => square(x, i, y, j))),
  );
  const reduction = I(0, dim).sqdist(J(1, dim)).reduction('KMin', 'j', { k: 1 });
  return { name: `kMin of distances of ${dim}`, reduction, data: [x, y], dtype: 'float64', value };
}

function gaussian(dim: number): Case {
  const near = { low: -0.1, high: 0.1 };
  const [x, y, b] = [numbers(5, M, dim, near), numbers(6, N, dim, near), numbers(7, N, 1)];
  const value = sums(M, N, 1, (i, j) => Math.exp(-square(x, i, y, j)) * at(b, j));
  const reduction = I(0, dim).sqdist(J(1, dim)).neg().exp().mul(J(2, 1)).reduction('Sum', 'j');
  const data = [x, y, b];
  return { name: `a gaussian of ${dim}`, reduction, data, dtype: 'float32', value, ...tight };
}

function gaussianInBatches(dim: number): Case {
  const near = { low: -0.1, high: 0.1 };
  const x = numbers(5, M, dim, { ...near, batch: [2, 3] });
  const y = numbers(6, N, dim, { ...near, batch: [2, 1] });
  const b = numbers(7, N, 1, { batch: [1, 3] });
  const value = batched(6, (e) =>
    sums(M, N, 1, (i, j) => {
      const d = square(x, i, y, j, e, Math.floor(e / 3));
      return Math.exp(-d) * at(b, j, 0, e % 3);
    }),
  );
  const { reduction } = gaussian(dim);
  const name = `gaussians of ${dim} in batches`;
  return { name, reduction, data: [x, y, b], dtype: 'float32', value, ...tight };
}

const factors = (columns: number): Case['reduction'] =>
  I(0, 3).sqdist(J(1, 3)).neg().exp().mul(J(2, columns)).reduction('Sum', 'j');

function wideSum(columns: number): Case {
  const [x, y, b] = [numbers(8, M, 3), numbers(9, N, 3), numbers(10, N, columns)];
  const value = sums(M, N, columns, (i, j, c) => Math.exp(-square(x, i, y, j)) * at(b, j, c));
  const reduction = factors(columns);
  const name = `a gaussian times ${columns} columns`;
  return { name, reduction, data: [x, y, b], dtype: 'float32', value, ...tight };
}

function wideSumInBatches(columns: number): Case {
  const x = numbers(8, M, 3, { batch: [2, 3] });
  const y = numbers(9, N, 3, { batch: [2, 1] });
  const b = numbers(10, N, columns, { batch: [1, 3] });
  const value = batched(6, (e) =>
    sums(M, N, columns, (i, j, c) => {
      const d = square(x, i, y, j, e, Math.floor(e / 3));
      return Math.exp(-d) * at(b, j, c, e % 3);
    }),
  );
  const name = `gaussians times ${columns} columns in batches`;
  return { name, reduction: factors(columns), data: [x, y, b], dtype: 'float32', value, ...tight };
}

/** The gradient by x of a gaussian of scaled distances times columns: issues 293 and 294. */
function scaledGradient(columns: number, entries: number): Case {
  const batch = entries === 1 ? [] : [entries];
  const [x, y] = [numbers(11, M, 3, { batch }), numbers(12, N, 3, { batch })];
  const [b, e] = [numbers(13, N, columns, { batch }), numbers(14, M, columns, { batch })];
  const scale: Numbers = numbers(15, 1, 3, { low: 0.5, high: 2 });
  const value = batched(entries, (entry) =>
    sums(M, N, 3, (i, j, c) => {
      let [distance, weight] = [0, 0];
      for (let k = 0; k < 3; k++) {
        distance += ((at(x, i, k, entry) - at(y, j, k, entry)) / at(scale, 0, k)) ** 2;
      }
      for (let k = 0; k < columns; k++) weight += at(b, j, k, entry) * at(e, i, k, entry);
      const difference = at(x, i, c, entry) - at(y, j, c, entry);
      return -2 * (difference / at(scale, 0, c) ** 2) * Math.exp(-distance) * weight;
    }),
  );
  const by = I(0, 3);
  const [a, other] = [by.div(P(4, 3)), J(1, 3).div(P(4, 3))];
  const gradient = a.sqdist(other).neg().exp().mul(J(2, columns)).grad(by, I(3, columns));
  return {
    name: `the gradient of a scaled gaussian times ${columns} columns, ${entries} in a batch`,
    reduction: gradient.reduction('Sum', 'j'),
    data: [x, y, b, e, scale],
    value,
    dtype: 'float32',
    ...tight,
  };
}

function nearestOverI(dim: number): Case {
  const [x, y] = [numbers(16, 12, dim), numbers(17, 7, dim)];
  const columns = Array.from({ length: 7 }, (_, j) =>
    Array.from({ length: 12 }, (__, i) => square(x, i, y, j)),
  );
  const value = Float64Array.from(columns, (column) => Math.min(...column));
  const index = columns.map((column, j) => column.indexOf(value[j] ?? NaN));
  const reduction = I(0, dim).sqdist(J(1, dim)).reduction('MinArgMin', 'i');
  const name = `minArgMin over i of distances of ${dim}`;
  return { name, reduction, data: [x, y], dtype: 'float64', value, index };
}

/** Vectors of the dims of KeOps' tests, which its kernels take in pieces; and short ones, which every kernel takes. */
export const vectorCases = (): readonly Case[] => [
  productAndArgMax(99),
  nearest(60),
  ...[gaussian(30), gaussianInBatches(30), wideSum(30), wideSumInBatches(30)],
  ...[scaledGradient(12, 1), scaledGradient(12, 2), scaledGradient(120, 2)],
  nearestOverI(99),
  nearest(24_705),
  ...[gaussian(300), gaussianInBatches(300), wideSum(300), wideSumInBatches(300)],
  nearestOverI(990),
];
