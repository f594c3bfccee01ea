import { numbers } from '../reference.test-support.js';
import { I, J, P, type Case } from './case.test-support.js';
import { at, sums } from './oracle.test-support.js';
import { ownSize } from './own-size.test-support.js';

const size = (shape: readonly number[]): number => shape.reduce((p, n) => p * n, 1);

/** The indices of a row-major place, and back. */
function indicesOf(shape: readonly number[], place: number): number[] {
  const indices: number[] = [];
  for (const extent of [...shape].reverse()) {
    indices.unshift(place % extent);
    place = Math.floor(place / extent);
  }
  return indices;
}
const placeOf = (shape: readonly number[], indices: readonly number[]): number =>
  shape.reduce((place, extent, axis) => place * extent + (indices[axis] ?? NaN), 0);

interface Contraction {
  readonly f: readonly number[];
  readonly g: readonly number[];
  /** Axes of f and of g that are summed in pairs. */
  readonly axesF: readonly number[];
  readonly axesG: readonly number[];
  /** Kept axis k becomes axis number `order[k]` of the result. */
  readonly order: readonly number[];
}

/** Every (place in f, place in g, place in the result) that a contraction multiplies. */
function products({ f, g, axesF, axesG, order }: Contraction): [number, number, number][] {
  const keptF = f.flatMap((_, axis) => (axesF.includes(axis) ? [] : [axis]));
  const keptG = g.flatMap((_, axis) => (axesG.includes(axis) ? [] : [axis]));
  const kept = [...keptF.map((axis) => f[axis] ?? 0), ...keptG.map((axis) => g[axis] ?? 0)];
  const shape = kept.map((_, axis) => kept[order.indexOf(axis)] ?? 0);
  const found: [number, number, number][] = [];
  for (let a = 0; a < size(f); a++) {
    const inF = indicesOf(f, a);
    for (let b = 0; b < size(g); b++) {
      const inG = indicesOf(g, b);
      if (axesF.some((axis, k) => inF[axis] !== inG[axesG[k] ?? -1])) continue;
      const values = [...keptF.map((axis) => inF[axis]), ...keptG.map((axis) => inG[axis])];
      const indices = values.map((_, axis) => values[order.indexOf(axis)] ?? NaN);
      found.push([a, b, placeOf(shape, indices)]);
    }
  }
  return found;
}

const axes = { axesF: [4, 0, 2], axesG: [1, 4, 2], order: [4, 3, 2, 0, 1] } as const;
const SMALL: Contraction = { ...axes, f: [2, 2, 1, 2, 3], g: [2, 3, 1, 1, 2, 2] };
const LARGE: Contraction = { ...axes, f: [2, 3, 2, 2, 4], g: [2, 4, 2, 3, 2, 3] };

const [M, N] = ownSize([5, 6], [11, 150]);

/** A contraction of tensors of both sides, and its gradients by both. */
function contraction(one: Contraction): readonly Case[] {
  const { f, g, axesF, axesG, order } = one;
  const [sizeF, sizeG] = [size(f), size(g)];
  const [x, y] = [numbers(21, M, sizeF), numbers(22, N, sizeG)];
  const [a, b] = [I(0, sizeF), J(1, sizeG)];
  const formula = a.tensordot(b, f, g, axesF, axesG, order);
  const e = numbers(23, M, formula.dim);
  const terms = products(one);
  const collect = (
    rows: number,
    others: number,
    dim: number,
    add: (out: Float64Array, row: number, other: number) => void,
  ): Float64Array => {
    const all = new Float64Array(rows * dim);
    for (let row = 0; row < rows; row++) {
      for (let other = 0; other < others; other++)
        add(all.subarray(row * dim, (row + 1) * dim), row, other);
    }
    return all;
  };
  const name = `a contraction of ${f.join(' x ')} with ${g.join(' x ')}`;
  const value = collect(M, N, formula.dim, (out, i, j) => {
    for (const [p, q, r] of terms) out[r]! += at(x, i, p) * at(y, j, q);
  });
  const byX = collect(M, N, sizeF, (out, i, j) => {
    for (const [p, q, r] of terms) out[p]! += at(y, j, q) * at(e, i, r);
  });
  const byY = collect(N, M, sizeG, (out, j, i) => {
    for (const [p, q, r] of terms) out[q]! += at(x, i, p) * at(e, i, r);
  });
  const seed = I(2, formula.dim);
  const sum = { dtype: 'float64', rtol: 1e-4 } as const;
  return [
    { ...sum, name, reduction: formula.reduction('Sum', 'j'), data: [x, y], value },
    {
      ...sum,
      name: `${name}, by the first`,
      data: [x, y, e],
      value: byX,
      reduction: formula.grad(a, seed).reduction('Sum', 'j'),
    },
    {
      ...sum,
      name: `${name}, by the second`,
      data: [x, y, e],
      value: byY,
      reduction: formula.grad(b, seed).reduction('Sum', 'i'),
    },
  ];
}

/** A Kronecker product, as numpy orders it. */
function kronecker(f: readonly number[], g: readonly number[]): Case {
  const [x, y] = [numbers(24, M, size(f)), numbers(25, N, size(g))];
  const shape = f.map((extent, axis) => extent * (g[axis] ?? 1));
  const value = new Float64Array(M * size(shape));
  for (let i = 0; i < M; i++) {
    for (let p = 0; p < size(f); p++) {
      for (let q = 0; q < size(g); q++) {
        const [inF, inG] = [indicesOf(f, p), indicesOf(g, q)];
        const indices = inF.map((index, axis) => index * (g[axis] ?? 1) + (inG[axis] ?? 0));
        const sum = sums(1, N, 1, (_, j) => at(x, i, p) * at(y, j, q));
        value[i * size(shape) + placeOf(shape, indices)] = sum[0] ?? NaN;
      }
    }
  }
  const formula = I(0, size(f)).kron(J(1, size(g)), f, g);
  const name = `a Kronecker product of ${f.join(' x ')} and ${g.join(' x ')}`;
  const reduction = formula.reduction('Sum', 'j');
  return { name, reduction, data: [x, y], dtype: 'float64', value, atol: 1e-6 };
}

/** A matrix times a vector, both parameters. */
function parameters(): Case {
  const [a, v] = [numbers(26, 1, 28), numbers(27, 1, 7)];
  const value = sums(1, 7, 4, (_, c, row) => at(a, 0, 7 * row + c) * at(v, 0, c));
  const reduction = P(0, 28).tensordot(P(1, 7), [4, 7], [7], [1], [0]).reduction('Sum', 'j');
  return { name: 'a contraction of parameters', reduction, data: [a, v], dtype: 'float64', value };
}

/** The contractions of KeOps' tests, and smaller ones of the same kind. */
export const contractionCases = (): readonly Case[] => [
  ...contraction(SMALL),
  kronecker([2, 1, 2, 1], [1, 2, 1, 3]),
  parameters(),
  ...contraction(LARGE),
  kronecker([3, 2, 1, 2], [1, 2, 2, 3]),
  kronecker([2, 3, 2], [2, 2, 3]),
];
