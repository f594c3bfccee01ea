import { abs, add, div, gt, max, mul, pow, select, sqrt, variable } from '@mercer/formula';
import { eigh, matrixPower, refineEigenbasis } from '@mercer/linalg';
import {
  argSort,
  map,
  sumTo,
  takeAlongAxis,
  type Scope,
  type Stream,
  type Tensor,
} from '@mercer/tensor';
import { floats, productOf } from './along-axes.js';

const v = variable;

/** Eigenvectors of a batch of factors, (count, n, n). */
export interface Eigenbasis {
  /** (count, n), falling or nearly so. */
  readonly values: Tensor;
  /** (count, n, n): columns. */
  readonly vectors: Tensor;
  /** (count) */
  readonly infos: Tensor;
  /** (count, n), int32: which column of the old basis each came from; undefined where it is a new one. */
  readonly order: Tensor | undefined;
}

/** The exact eigenvectors of a batch of factors, in the order of falling eigenvalues. */
export async function exactBasis(
  scope: Scope,
  factors: Tensor,
  stream: Stream,
): Promise<Eigenbasis> {
  const found = await eigh(floats(factors), { stream });
  for (const one of Object.values(found)) scope.track(one as Tensor);
  const values = scope.track(found.values.flip(-1));
  const vectors = scope.track(found.vectors.flip(-1));
  return { values, vectors, infos: found.infos, order: undefined };
}

const TIMES = mul(v('x'), v('y'));

/** An old basis, ordered by what its columns now have, and taken nearer to the eigenvectors by QR iterations. */
export async function refinedBasis(
  scope: Scope,
  factors: Tensor,
  old: Tensor,
  iterations: number,
  stream: Stream,
): Promise<Eigenbasis> {
  const [count = 0, n = 0] = factors.shape;
  const turned = await productOf(scope, factors, old, { stream });
  const products = scope.track(await map(TIMES, { x: old, y: turned }, { stream }));
  const sums = scope.track(await sumTo(floats(products), [count, 1, n], { stream }));
  const order = scope.track(await argSort(sums, -1, { descending: true, stream }));
  const ordered = scope.track(await takeAlongAxis(old, order, -1, { stream }));
  const found = await refineEigenbasis(floats(factors), floats(ordered), { iterations, stream });
  for (const one of Object.values(found)) scope.track(one as Tensor);
  return { ...found, order: scope.track(order.reshape([count, n])) };
}

const TURN = abs(add(v('x'), select(gt(abs(add(v('row'), mul(-1, v('column')))), 0), 0, -1)));

/** Whether a basis of some batches is another than the identity, with which they begin. It waits for the device. */
export async function haveTurned(
  scope: Scope,
  bases: readonly Tensor[],
  stream: Stream,
): Promise<boolean> {
  const indices = { row: -2, column: -1 };
  for (const one of bases) {
    const turns = scope.track(await map(TURN, { x: one }, { indices, stream }));
    const sum = scope.track(await sumTo(floats(turns), [1, 1, 1], { stream }));
    if ((await scope.track(sum.reshape([])).item()) > 0) return true;
  }
  return false;
}

/** How inverse roots of factors are computed. */
export interface RootMethod {
  readonly method: 'eigh' | 'newton' | 'higherOrder' | 'qr';
  /** Added to the diagonal. */
  readonly eps: number;
  /** Steps of 'newton' and 'higherOrder'; undefined: those of the dtype. */
  readonly steps: number | undefined;
  /** QR iterations of a refresh. */
  readonly iterations: number;
}

/** Inverse roots of a batch of factors. */
export interface Roots {
  readonly root: Tensor;
  readonly infos: Tensor;
  /** Of method 'qr': what the next ones begin with. */
  readonly basis: Tensor | undefined;
}

const RAISED = mul(v('x'), pow(add(max(v('w'), 0), v('eps')), v('power')));

/**
 * `(factor + eps I)^(-1/k)` of each factor.
 *
 * @param how with `rounding` where factors are rounded more than their dtype has it
 * @param old the basis that QR iterations begin with; undefined: exact eigenvectors
 */
export async function inverseRoots(
  scope: Scope,
  factors: Tensor,
  k: number,
  { method, eps, steps, iterations, rounding }: RootMethod & { readonly rounding?: number },
  old: Tensor | undefined,
  stream: Stream,
): Promise<Roots> {
  const power = -1 / k;
  if (method !== 'qr') {
    const own = method === 'eigh' ? { rounding } : {};
    const found = await matrixPower(floats(factors), power, { method, eps, steps, stream, ...own });
    for (const one of Object.values(found)) scope.track(one as Tensor);
    return { root: found.result, infos: found.infos, basis: undefined };
  }
  const { values, vectors, infos } = await (old === undefined
    ? exactBasis(scope, factors, stream)
    : refinedBasis(scope, factors, old, iterations, stream));
  const [count = 0, n = 0] = values.shape;
  const w = scope.track(values.reshape([count, 1, n]));
  const parameters = { eps, power };
  const scaled = scope.track(await map(RAISED, { x: vectors, w }, { parameters, stream }));
  const root = await productOf(scope, scaled, vectors, { transposeB: true, stream });
  return { root, infos, basis: vectors };
}

const EXTENT = abs(v('x'));
const RELATIVE = select(gt(v('trace'), 0), div(v('x'), sqrt(v('trace'))), v('x'));

/** The largest element of each factor, NaN where there is NaN: 0 where nothing was added yet. */
export async function extentsOf(scope: Scope, factors: Tensor, stream: Stream): Promise<Tensor> {
  const [count = 0] = factors.shape;
  const sizes = scope.track(await map(EXTENT, { x: factors }, { stream }));
  const sums = scope.track(await sumTo(floats(sizes), [count, 1, 1], { stream }));
  return scope.track(sums.reshape([count]));
}

const DIAGONAL = select(gt(abs(add(v('row'), mul(-1, v('column')))), 0), 0, v('x'));

/** Factors divided by the roots of their traces. */
export async function dividedByTrace(
  scope: Scope,
  factors: Tensor,
  stream: Stream,
): Promise<Tensor> {
  const [count = 0] = factors.shape;
  const indices = { row: -2, column: -1 };
  const diagonals = scope.track(await map(DIAGONAL, { x: factors }, { indices, stream }));
  const trace = scope.track(await sumTo(floats(diagonals), [count, 1, 1], { stream }));
  return scope.track(await map(RELATIVE, { x: factors, trace }, { stream }));
}
