import {
  abs,
  add,
  constant,
  div,
  eq,
  gt,
  max,
  mul,
  pow,
  select,
  sqrt,
  variable,
  type RealExpr,
} from '@mercer/formula';
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
const INDICES = { row: -2, column: -1 } as const;
const onDiagonal = (x: RealExpr): RealExpr => select(eq(v('row'), v('column')), x, 0);

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

const TURN = abs(add(v('x'), onDiagonal(constant(-1))));

/** Whether a basis of some batches is another than the identity, with which they begin. It waits for the device. */
export async function haveTurned(
  scope: Scope,
  bases: readonly Tensor[],
  stream: Stream,
): Promise<boolean> {
  for (const one of bases) {
    const turns = scope.track(await map(TURN, { x: one }, { indices: INDICES, stream }));
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

/** What the diagonal has at least, in roundings of the largest eigenvalue: 1.2e-5 of it in float32. */
const LEAST_RIDGE = 100;
/** Roundings above this are those of float32 and narrower. */
const ROUNDING_OF_WIDE = 2 ** -40;
const RIDGED = add(v('x'), onDiagonal(max(v('eps'), mul(v('least'), v('extent')))));

/**
 * `(factor + eps I)^(-1/k)` of each factor. Iterations by products have no root where rounding has made an eigenvalue negative that `eps` does not lift, and exact ones take the noise of a factor
 * without full rank for its least eigenvalues, whose inverse roots are the largest. So for products, and for all methods where factors are float32,
 * eps is at least {@link LEAST_RIDGE} `rounding` times the bound in `extents`, as in Shi et al. 2023, whose code has `max(rel_epsilon lambda_max, abs_epsilon)` with that bound and recommends
 * 1e-5 in float32.
 *
 * @param extents see {@link extentsOf}
 * @param how with the relative rounding of the factors' elements
 * @param old the basis that QR iterations begin with; undefined: exact eigenvectors
 */
export async function inverseRoots(
  scope: Scope,
  factors: Tensor,
  extents: Tensor,
  k: number,
  { method, eps, steps, iterations, rounding }: RootMethod & { readonly rounding: number },
  old: Tensor | undefined,
  stream: Stream,
): Promise<Roots> {
  const power = -1 / k;
  const isByProducts = method === 'newton' || method === 'higherOrder';
  const isLifted = isByProducts || rounding > ROUNDING_OF_WIDE;
  const lift = async (): Promise<Tensor> => {
    const extent = scope.track(extents.reshape([extents.size, 1, 1]));
    const least = LEAST_RIDGE * rounding;
    const options = { indices: INDICES, parameters: { eps, least }, stream };
    return scope.track(await map(RIDGED, { x: factors, extent }, options));
  };
  const a = isLifted ? await lift() : factors;
  const more = isLifted ? 0 : eps;
  if (method !== 'qr') {
    const own = method === 'eigh' ? { eps: more, rounding } : { steps };
    const found = await matrixPower(floats(a), power, { method, stream, ...own });
    for (const one of Object.values(found)) scope.track(one as Tensor);
    return { root: found.result, infos: found.infos, basis: undefined };
  }
  const { values, vectors, infos } = await (old === undefined
    ? exactBasis(scope, a, stream)
    : refinedBasis(scope, a, old, iterations, stream));
  const [count = 0, n = 0] = values.shape;
  const w = scope.track(values.reshape([count, 1, n]));
  const parameters = { eps: more, power };
  const scaled = scope.track(await map(RAISED, { x: vectors, w }, { parameters, stream }));
  const root = await productOf(scope, scaled, vectors, { transposeB: true, stream });
  return { root, infos, basis: vectors };
}

const EXTENT = abs(v('x'));
const RELATIVE = select(gt(v('trace'), 0), div(v('x'), sqrt(v('trace'))), v('x'));

/** The largest sum of a row's sizes of each factor, which bounds its eigenvalues: 0 where nothing was added yet. (count) */
export async function extentsOf(scope: Scope, factors: Tensor, stream: Stream): Promise<Tensor> {
  const [count = 0, n = 0] = factors.shape;
  const sizes = scope.track(await map(EXTENT, { x: factors }, { stream }));
  const sums = scope.track(await sumTo(floats(sizes), [count, 1, n], { stream }));
  return scope.track(await sums.max([1, 2], { stream }));
}

const DIAGONAL = onDiagonal(v('x'));

/** Factors divided by the roots of their traces. */
export async function dividedByTrace(
  scope: Scope,
  factors: Tensor,
  stream: Stream,
): Promise<Tensor> {
  const [count = 0] = factors.shape;
  const diagonals = scope.track(await map(DIAGONAL, { x: factors }, { indices: INDICES, stream }));
  const trace = scope.track(await sumTo(floats(diagonals), [count, 1, 1], { stream }));
  return scope.track(await map(RELATIVE, { x: factors, trace }, { stream }));
}
