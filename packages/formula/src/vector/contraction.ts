import { FormulaError } from '../formula-error.js';
import { dimError, integer, MAX_DIM, toVector } from './check-arguments.js';
import { contract } from './nodes.js';
import type { Contraction, VectorExpr, VectorOperand } from './vector-expr.js';

const MAX_AXES = 16;
const product = (sizes: readonly number[]): number => sizes.reduce((p, n) => p * n, 1);

/**
 * The contraction of two tensors, stored row-major in `f` and `g`. `axesF[k]` of f is summed with
 * `axesG[k]` of g; the kept axes are those of f and then those of g, and `permutation[k]` is the
 * place of kept axis k in the result. As KeOps' TensorDot.
 *
 * Throws `FormulaError`: `DIM_MISMATCH` where shapes and dims do not fit, `INVALID_ARGUMENT` for bad axes.
 */
export function tensorDot(
  f: VectorOperand,
  g: VectorOperand,
  shapeF: readonly number[],
  shapeG: readonly number[],
  axesF: readonly number[],
  axesG: readonly number[],
  permutation?: readonly number[],
): VectorExpr {
  const [a, b] = [toVector('TensorDot', f), toVector('TensorDot', g)];
  checkShape('first', a.dim, shapeF);
  checkShape('second', b.dim, shapeG);
  checkAxes('first', axesF, shapeF.length);
  checkAxes('second', axesG, shapeG.length);
  const sizes = [axesF.map((k) => shapeF[k]!), axesG.map((k) => shapeG[k]!)] as const;
  if (sizes[0].join() !== sizes[1].join()) {
    throw dimError(
      'TensorDot',
      `the contracted axes have sizes [${sizes[0].join(', ')}] and [${sizes[1].join(', ')}]`,
      'Contract axes of the same size, in the same order.',
    );
  }
  const kept = keptSizes({ shapeF, shapeG, axesF, axesG });
  const places = permutation ?? kept.map((_, k) => k);
  if (
    [...places].sort((x, y) => x - y).some((at, k) => at !== k) ||
    places.length !== kept.length
  ) {
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `cannot build TensorDot: [${places.join(', ')}] is not a permutation of the ${kept.length} kept axes. ` +
        `Name each of 0 to ${kept.length - 1} once.`,
    );
  }
  const dim = product(kept);
  integer('TensorDot', 'dim', dim, 1, MAX_DIM);
  const lists = [shapeF, shapeG, axesF, axesG, places].map((list) => Object.freeze([...list]));
  return contract(a, b, dim, {
    shapeF: lists[0]!,
    shapeG: lists[1]!,
    axesF: lists[2]!,
    axesG: lists[3]!,
    permutation: lists[4]!,
  });
}

function checkShape(which: string, dim: number, shape: readonly number[]): void {
  for (const size of shape) integer('TensorDot', 'a size', size, 1, MAX_DIM);
  if (shape.length > MAX_AXES || product(shape) !== dim) {
    throw dimError(
      'TensorDot',
      `the ${which} argument has dim ${dim} and shape [${shape.join(', ')}]`,
      `Give at most ${MAX_AXES} sizes whose product is ${dim}.`,
    );
  }
}

function checkAxes(which: string, axes: readonly number[], count: number): void {
  if (
    new Set(axes).size === axes.length &&
    axes.every((k) => Number.isInteger(k) && k >= 0 && k < count)
  )
    return;
  throw new FormulaError(
    'INVALID_ARGUMENT',
    `cannot build TensorDot: [${axes.join(', ')}] are not axes of the ${which} argument, which has ${count}. ` +
      `Axes count from 0 and occur once.`,
  );
}

type Axes = Omit<Contraction, 'permutation'>;

const others = (shape: readonly number[], axes: readonly number[]): number[] =>
  shape.map((_, k) => k).filter((k) => !axes.includes(k));

/** Sizes of the kept axes, f's and then g's. */
export function keptSizes({ shapeF, shapeG, axesF, axesG }: Axes): number[] {
  return [
    ...others(shapeF, axesF).map((k) => shapeF[k]!),
    ...others(shapeG, axesG).map((k) => shapeG[k]!),
  ];
}

/** The axes of both arguments and of the result by name: equal names are summed together. */
export interface ContractionAxes {
  readonly f: readonly string[];
  readonly g: readonly string[];
  readonly out: readonly string[];
  readonly sizes: ReadonlyMap<string, number>;
}

/**
 * The axes of a contraction by name: a loop over all names, with one product of an element of f and
 * one of g in it, added to an element of the result, computes it. All are row-major.
 *
 * ```ts
 * import { axesOf, ops, vi } from '@mercer/formula/plan';
 * const node = ops.matVecMult(vi(0, 6), vi(1, 2));
 * if (node.kind === 'contract') console.log(axesOf(node.contraction)); // { f: [ 'f0', 'f1' ], g: [ 'f1' ], out: [ 'f0' ], sizes: Map(2) { 'f0' => 3, 'f1' => 2 } }
 * ```
 */
export function axesOf(c: Contraction): ContractionAxes {
  const f = c.shapeF.map((_, k) => `f${k}`);
  const g = c.shapeG.map((_, k) => {
    const pair = c.axesG.indexOf(k);
    return pair < 0 ? `g${k}` : `f${c.axesF[pair]!}`;
  });
  const kept = [
    ...others(c.shapeF, c.axesF).map((k) => f[k]!),
    ...others(c.shapeG, c.axesG).map((k) => g[k]!),
  ];
  const out: string[] = [];
  for (const [k, at] of c.permutation.entries()) out[at] = kept[k]!;
  const sizes = new Map([
    ...f.map((name, k) => [name, c.shapeF[k]!] as const),
    ...g.map((name, k) => [name, c.shapeG[k]!] as const),
  ]);
  return { f, g, out, sizes };
}

/** The sum over all axes that are in both `a` and `b` but not in `out`. */
function byName(
  a: VectorExpr,
  axesA: readonly string[],
  b: VectorExpr,
  axesB: readonly string[],
  out: readonly string[],
  sizes: ReadonlyMap<string, number>,
): VectorExpr {
  const shape = (axes: readonly string[]): number[] => axes.map((name) => sizes.get(name)!);
  const summed = axesA.filter((name) => axesB.includes(name));
  const kept = [...axesA, ...axesB].filter((name) => !summed.includes(name));
  return tensorDot(
    ...([a, b, shape(axesA), shape(axesB)] as const),
    summed.map((name) => axesA.indexOf(name)),
    summed.map((name) => axesB.indexOf(name)),
    kept.map((name) => out.indexOf(name)),
  );
}

/** The gradients of a contraction by its two arguments, applied to `adjoint` of the result's dim. */
export function contractionAdjoint(
  c: Contraction,
  argument: 0 | 1,
  other: VectorExpr,
  adjoint: VectorExpr,
): VectorExpr {
  const { f, g, out, sizes } = axesOf(c);
  return argument === 0
    ? byName(adjoint, out, other, g, f, sizes)
    : byName(adjoint, out, other, f, g, sizes);
}
