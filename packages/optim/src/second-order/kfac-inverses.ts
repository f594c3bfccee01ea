import {
  abs,
  add,
  div,
  eq,
  gt,
  le,
  lt,
  max,
  mul,
  pow,
  select,
  sqrt,
  sub,
  variable,
} from '@mercer/formula';
import { eigh, inv } from '@mercer/linalg';
import { map, Scope, sumTo, type Stream, type Tensor } from '@mercer/tensor';
import type { RuleStep } from '../rule.js';
import { floats, productOf } from './along-axes.js';
import type { BatchFactors, LayerFactors } from './kfac-layers.js';
import { streamBeside, type Refreshed } from './refreshes.js';
import { SAME } from './moves.js';

/** The two sides of a layer's curvature. */
export type Side = 'A' | 'G';
const SIDES = ['A', 'G'] as const;

const v = variable;
const isTaken = gt(v('ok'), 0);
const isFinite = le(abs(v('size')), Number.MAX_VALUE);
const DECAYED = select(
  isTaken,
  select(isFinite, add(mul(v('beta'), v('x')), mul(v('share'), v('y'))), v('x')),
  v('x'),
);
const ABSOLUTE = abs(v('x'));
const DIAGONAL = select(eq(v('row'), v('column')), v('x'), 0);
/** 1 / (1 - beta^added): of a mean that began with zeros. */
const CORRECTION = select(lt(0, v('added')), div(1, sub(1, pow(v('beta'), v('added')))), 1);
const CORRECTED = mul(v('x'), v('correction'));
const ADDED = select(isTaken, select(isFinite, add(v('x'), 1), v('x')), v('x'));
/** How damping is shared out: a factor of zeros has the root of it alone. */
const QUOTIENT = sqrt(div(div(v('a'), v('ofA')), div(v('g'), v('ofG'))));
const PI = select(lt(0, v('a')), select(lt(0, v('g')), QUOTIENT, 1), 1);
const DAMPINGS = { A: mul(PI, sqrt(v('damping'))), G: div(sqrt(v('damping')), PI) };
const DAMPED = add(v('x'), select(eq(v('row'), v('column')), v('c'), 0));
const MATRIX = { row: -2, column: -1 };
const KEPT = select(eq(v('info'), 0), v('y'), v('x'));
const FAILURES = select(eq(v('info'), 0), 0, add(v('failures'), 1));
const DIVIDED = div(v('x'), add(mul(max(v('w'), 0), max(v('u'), 0)), v('damping')));

/** The part of a slot that a layer uses: one without a bias has no row and column for it. */
export function sideOf(
  scope: Scope,
  { weight, columns, outputs }: LayerFactors,
  slot: string,
  side: Side,
): Tensor {
  const whole = weight.slots[`${slot}${side}`] as Tensor;
  const n = side === 'A' ? columns : outputs;
  if (whole.shape.at(-1) === n) return whole;
  return scope.track(whole.slice(...whole.shape.map(() => [0, n] as const)));
}

const total = async (scope: Scope, x: Tensor): Promise<Tensor> => {
  const sum = scope.track(await sumTo(floats(x), [1, 1]));
  return scope.track(sum.reshape([]));
};

/** A = beta A + (1 - beta) of the batch, and G the same, where the step is taken and the batch's are finite: the slot `added` counts how often. */
export async function updateLayers(
  scope: Scope,
  layers: readonly LayerFactors[],
  batches: readonly BatchFactors[],
  { numbers }: RuleStep,
  beta: number,
): Promise<void> {
  const lists = { x: [] as Tensor[], y: [] as Tensor[], ok: [] as Tensor[], size: [] as Tensor[] };
  const counts = { x: [] as Tensor[], ok: [] as Tensor[], size: [] as Tensor[] };
  const products = batches.flatMap(({ a, g }) => [a, g]);
  if (products.length === 0) return;
  const sizes = await map(ABSOLUTE, { x: products });
  for (const [at, layer] of layers.entries()) {
    const { a, g } = batches[at] as BatchFactors;
    const [ofA, ofG] = [sizes[2 * at], sizes[2 * at + 1]] as [Tensor, Tensor];
    const own = [await total(scope, scope.track(ofA)), await total(scope, scope.track(ofG))];
    // both or none
    const size = scope.track(await (own[0] as Tensor).add(own[1] as Tensor));
    counts.x.push(layer.weight.slots['added'] as Tensor);
    counts.ok.push(numbers.ok[layer.dtype] as Tensor);
    counts.size.push(size);
    for (const [slot, y] of [
      ['A', a],
      ['G', g],
    ] as const) {
      lists.x.push(layer.weight.slots[slot] as Tensor);
      lists.y.push(y);
      lists.ok.push(numbers.ok[layer.dtype] as Tensor);
      lists.size.push(size);
    }
  }
  await map(DECAYED, lists, { out: lists.x, parameters: { beta, share: 1 - beta } });
  await map(ADDED, counts, { out: counts.x });
}

/** Corrected factors of each layer, damped where they are to be inverted: in tensors of their own, or in the slots `pending`. */
export async function factorsNow(
  scope: Scope,
  layers: readonly LayerFactors[],
  {
    isLater,
    isExact,
    damping,
    beta,
  }: {
    readonly isLater: boolean;
    readonly isExact: boolean;
    readonly damping: Tensor;
    readonly beta: number;
  },
): Promise<readonly Readonly<Record<Side, Tensor>>[] | undefined> {
  const found: Record<Side, Tensor>[] = [];
  for (const layer of layers) {
    const { dtype, columns, outputs } = layer;
    // one result of float64, so that it is computed in it
    const { own: correction, wide } = await map(
      { own: CORRECTION, wide: CORRECTION },
      { added: layer.weight.slots['added'] as Tensor },
      { parameters: { beta }, dtype: { own: dtype, wide: 'float64' } },
    );
    for (const one of [correction, wide]) scope.track(one);
    const now = {} as Record<Side, Tensor>;
    const traces = {} as Record<Side, Tensor>;
    for (const side of SIDES) {
      const x = sideOf(scope, layer, '', side);
      now[side] = scope.track(await map(CORRECTED, { x, correction }));
      const diagonal = scope.track(await map(DIAGONAL, { x: now[side] }, { indices: MATRIX }));
      traces[side] = await total(scope, diagonal);
    }
    const shares = isExact
      ? undefined
      : await map(
          DAMPINGS,
          { a: traces.A, g: traces.G, damping },
          { parameters: { ofA: columns, ofG: outputs }, dtype: { A: dtype, G: dtype } },
        );
    for (const side of SIDES) {
      const out = isLater ? { out: sideOf(scope, layer, 'pending', side) } : {};
      const x = now[side];
      const made = await (shares === undefined
        ? map(SAME, { x }, out)
        : map(DAMPED, { x, c: scope.track(shares[side]) }, { ...out, indices: MATRIX }));
      if (!isLater) now[side] = scope.track(made);
    }
    found.push(now);
  }
  return isLater ? undefined : found;
}

/** The inverse of one side of a layer, or its eigenvalues and vectors. */
interface SideInverse {
  readonly slots: Readonly<Record<string, Tensor>>;
  readonly infos: Tensor;
}

export type LayerInverse = Readonly<Record<Side, SideInverse>>;

/** Inverses of factors that are given or in the slots `pending`. */
export async function computeInverses(
  layers: readonly LayerFactors[],
  factors: readonly Readonly<Record<Side, Tensor>>[] | undefined,
  { isExact, delay }: { readonly isExact: boolean; readonly delay: number },
): Promise<Refreshed<readonly LayerInverse[]>> {
  const scope = new Scope();
  try {
    const found: LayerInverse[] = [];
    for (const [at, layer] of layers.entries()) {
      const stream = streamBeside(layer.weight.param.device, delay);
      const one = async (side: Side): Promise<SideInverse> => {
        const x = factors?.[at]?.[side] ?? sideOf(scope, layer, 'pending', side);
        return invertedSide(scope, x, isExact, stream);
      };
      found.push({ A: await one('A'), G: await one('G') });
    }
    return { found, scope };
  } catch (error) {
    scope.dispose();
    throw error;
  }
}

async function invertedSide(
  scope: Scope,
  x: Tensor,
  isExact: boolean,
  stream: Stream,
): Promise<SideInverse> {
  if (isExact) {
    const { values, vectors, infos } = await eigh(floats(x), { stream });
    for (const one of [values, vectors, infos]) scope.track(one);
    return { slots: { basis: vectors, values }, infos };
  }
  const { inverse, infos } = await inv(floats(x), { method: 'cholesky', stream });
  for (const one of [inverse, infos]) scope.track(one);
  return { slots: { inverse }, infos };
}

/**
 * Puts inverses in their slots; where there is none the old ones stay, and are counted.
 *
 * @returns how often in a row a matrix had none, of the one with most: 0-d, for the caller to dispose; undefined without layers
 */
export async function landInverses(
  scope: Scope,
  layers: readonly LayerFactors[],
  found: readonly LayerInverse[],
): Promise<Tensor | undefined> {
  const lists = { x: [] as Tensor[], y: [] as Tensor[], info: [] as Tensor[] };
  const counts = { failures: [] as Tensor[], info: [] as Tensor[] };
  const copies: Tensor[] = [];
  const [first] = layers;
  if (first === undefined) return undefined;
  const { device } = first.weight.param;
  const all = scope.empty([2 * layers.length], { dtype: 'float32', device });
  for (const [at, layer] of layers.entries()) {
    for (const [k, side] of SIDES.entries()) {
      const { slots, infos } = (found[at] as LayerInverse)[side];
      for (const [slot, y] of Object.entries(slots)) {
        lists.x.push(sideOf(scope, layer, slot, side));
        lists.y.push(y);
        lists.info.push(infos);
      }
      counts.failures.push(scope.track((layer.weight.slots['failures'] as Tensor).slice(k)));
      counts.info.push(infos);
      copies.push(scope.track(all.slice(2 * at + k)));
    }
  }
  await map(KEPT, lists, { out: lists.x });
  const out = { failures: counts.failures, copy: copies };
  await map({ failures: FAILURES, copy: FAILURES }, counts, { out });
  return await all.max();
}

/** G⁻¹ ∇ A⁻¹ of a layer's gradient (outputs, columns). */
export async function preconditioned(
  scope: Scope,
  layer: LayerFactors,
  gradient: Tensor,
  isExact: boolean,
  damping: Tensor,
): Promise<Tensor> {
  const of = (slot: string, side: Side): Tensor => sideOf(scope, layer, slot, side);
  if (!isExact) {
    const half = await productOf(scope, of('inverse', 'G'), gradient);
    return productOf(scope, half, of('inverse', 'A'));
  }
  const [a, g] = [of('basis', 'A'), of('basis', 'G')];
  const half = await productOf(scope, g, gradient, { transposeA: true });
  const turned = await productOf(scope, half, a);
  const w = scope.track(of('values', 'A').reshape([1, layer.columns]));
  const u = scope.track(of('values', 'G').reshape([layer.outputs, 1]));
  const { dtype } = layer;
  const divided = scope.track(await map(DIVIDED, { x: turned, w, u, damping }, { dtype }));
  const back = await productOf(scope, g, divided);
  return productOf(scope, back, a, { transposeB: true });
}
