import {
  abs,
  add,
  div,
  eq,
  gt,
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
import { viewOf } from '@mercer/tensor/operation';
import type { RuleStep } from '../rule.js';
import { floats, productOf } from './along-axes.js';
import { batchesOf, partsOf, roomFor, together, type Batch } from './batches.js';
import { copyAll } from './blocks.js';
import type { BatchFactors, LayerFactors } from './kfac-layers.js';
import { streamBeside, type Refreshed } from './refreshes.js';

/** The two sides of a layer's curvature. */
export type Side = 'A' | 'G';
const SIDES = ['A', 'G'] as const;

const v = variable;
const isTaken = gt(v('ok'), 0);
/** Both factors of the layer or none. */
const isFinite = lt(add(abs(v('ofA')), abs(v('ofG'))), Infinity);
const DECAYED = select(
  isTaken,
  select(isFinite, add(mul(v('beta'), v('x')), mul(v('share'), v('y'))), v('x')),
  v('x'),
);
/** 1 / (1 - beta^added): of a mean that began with zeros. */
const CORRECTION = select(lt(0, v('added')), div(1, sub(1, pow(v('beta'), v('added')))), 1);
const CORRECTED = mul(v('x'), v('correction'));
const ADDED = select(isTaken, select(isFinite, add(v('x'), 1), v('x')), v('x'));
/** How damping is shared out: a factor of zeros has the root of it alone. */
const QUOTIENT = sqrt(div(div(v('a'), v('ofA')), div(v('g'), v('ofG'))));
const PI = select(lt(0, v('a')), select(lt(0, v('g')), QUOTIENT, 1), 1);
const DAMPINGS = { A: mul(PI, sqrt(v('damping'))), G: div(sqrt(v('damping')), PI) };
const DAMPED = add(v('x'), v('c'));
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

/** The diagonal of a square matrix: a view. */
function diagonalOf(scope: Scope, matrix: Tensor): Tensor {
  const { shape, offset, dtype } = matrix;
  const [down = 0, right = 0] = matrix.strides;
  const layout = { shape: shape.slice(0, 1), strides: [down + right], offset };
  return scope.track(viewOf(matrix, layout, dtype));
}

/** The traces of square matrices of one device: 0-d views of one tensor for each dtype. Their diagonals are copied in one launch, and summed in one. */
async function tracesOf(scope: Scope, matrices: readonly Tensor[]): Promise<readonly Tensor[]> {
  const traces: Tensor[] = [];
  for (const dtype of new Set(matrices.map((one) => one.dtype))) {
    const places = [...matrices.keys()].filter((at) => matrices[at]?.dtype === dtype);
    const own = places.map((at) => matrices[at] as Tensor);
    const [{ device }] = own as [Tensor];
    const most = Math.max(...own.map(({ shape }) => shape[0] ?? 0));
    const rows = scope.empty([own.length, most], { dtype, device });
    await rows.fill(0);
    await copyAll(
      own.map((one) => diagonalOf(scope, one)),
      own.map(({ shape: [n = 0] }, at) => scope.track(rows.slice(at, [0, n]))),
    );
    const sums = scope.track(await sumTo(floats(rows), [own.length, 1]));
    for (const [at, place] of places.entries()) traces[place] = scope.track(sums.slice(at, 0));
  }
  return traces;
}

/**
 * A = beta A + (1 - beta) of the batch, and G the same, where the step is taken and the batch's are finite: the slot `added` counts how often. What is not finite shows in the
 * traces, as the diagonals are sums of squares.
 */
export async function updateLayers(
  scope: Scope,
  layers: readonly LayerFactors[],
  { a, g }: BatchFactors,
  { numbers }: RuleStep,
  beta: number,
): Promise<void> {
  if (layers.length === 0) return;
  const traces = await tracesOf(scope, [...a, ...g]);
  const ofA = traces.slice(0, layers.length);
  const ofG = traces.slice(layers.length);
  const ok = layers.map(({ dtype }) => numbers.ok[dtype] as Tensor);
  const slot = (name: string): Tensor[] => layers.map(({ weight }) => weight.slots[name] as Tensor);
  const x = [...slot('A'), ...slot('G')];
  await map(
    DECAYED,
    { x, y: [...a, ...g], ok: [...ok, ...ok], ofA: [...ofA, ...ofA], ofG: [...ofG, ...ofG] },
    { out: x, parameters: { beta, share: 1 - beta } },
  );
  const added = slot('added');
  await map(ADDED, { x: added, ok, ofA, ofG }, { out: added });
}

/** What both sides of each layer are in their order. */
const bothSides = <R>(
  layers: readonly LayerFactors[],
  of: (layer: LayerFactors, side: Side) => R,
): R[] => layers.flatMap((layer) => SIDES.map((side) => of(layer, side)));

/** Numbers of each layer: what its factors are multiplied by, and where they are damped what is added to their diagonals. */
async function numbersNow(
  scope: Scope,
  layers: readonly LayerFactors[],
  traces: readonly Tensor[] | undefined,
  { damping, beta }: { readonly damping: Tensor; readonly beta: number },
): Promise<readonly Readonly<Record<Side | 'correction', Tensor>>[]> {
  const found: Record<Side | 'correction', Tensor>[] = [];
  // extents are numbers of the host, the same in a launch
  const groups = new Map<string, number[]>();
  for (const [at, { columns, outputs, dtype }] of layers.entries()) {
    const key = traces === undefined ? dtype : `${dtype} ${columns} ${outputs}`;
    groups.set(key, [...(groups.get(key) ?? []), at]);
  }
  for (const places of groups.values()) {
    const { columns, outputs, dtype } = layers[places[0] ?? 0] as LayerFactors;
    const added = places.map((at) => (layers[at] as LayerFactors).weight.slots['added'] as Tensor);
    const of = (side: 0 | 1): Tensor[] => places.map((at) => traces?.[2 * at + side] as Tensor);
    const made: Readonly<Record<string, readonly Tensor[]>> =
      traces === undefined
        ? await map(
            // one result of float64, so that it is computed in it
            { correction: CORRECTION, wide: CORRECTION },
            { added },
            { parameters: { beta }, dtype: { correction: dtype, wide: 'float64' } },
          )
        : await map(
            { ...DAMPINGS, correction: CORRECTION },
            { added, a: of(0), g: of(1), damping },
            {
              parameters: { beta, ofA: columns, ofG: outputs },
              dtype: { A: dtype, G: dtype, correction: dtype },
            },
          );
    for (const one of Object.values(made).flat()) scope.track(one);
    for (const [k, at] of places.entries()) {
      found[at] = Object.fromEntries(
        Object.entries(made).map(([name, all]) => [name, all[k] as Tensor]),
      ) as Record<Side | 'correction', Tensor>;
    }
  }
  return found;
}

/**
 * Corrected factors of the layers, damped where they are to be inverted: in batches of both sides' of all layers, or in the slots `pending`.
 *
 * @returns the batches, of the places of {@link bothSides}
 */
export async function factorsNow(
  scope: Scope,
  layers: readonly LayerFactors[],
  {
    isLater,
    isExact,
    ...how
  }: {
    readonly isLater: boolean;
    readonly isExact: boolean;
    readonly damping: Tensor;
    readonly beta: number;
  },
): Promise<readonly Batch[] | undefined> {
  const x = bothSides(layers, (layer, side) => sideOf(scope, layer, '', side));
  const numbers = await numbersNow(
    scope,
    layers,
    isExact ? undefined : await tracesOf(scope, x),
    how,
  );
  const batches = isLater ? undefined : roomFor(scope, x);
  const out =
    batches === undefined
      ? bothSides(layers, (layer, side) => sideOf(scope, layer, 'pending', side))
      : partsOf(scope, batches);
  if (x.length === 0) return batches;
  const correction = numbers.flatMap((own) => SIDES.map(() => own.correction));
  await map(CORRECTED, { x, correction }, { out });
  if (!isExact) {
    const diagonals = out.map((one) => diagonalOf(scope, one));
    const c = numbers.flatMap((own) => SIDES.map((side) => own[side]));
    await map(DAMPED, { x: diagonals, c }, { out: diagonals });
  }
  return batches;
}

/** The inverse of one side of a layer, or its eigenvalues and vectors; or those of several sides. */
export interface SideInverse {
  readonly slots: Readonly<Record<string, Tensor>>;
  readonly infos: Tensor;
}

/** Inverses of both sides of the layers, of factors that are given or in the slots `pending`. Those of one extent are one batch. */
export async function computeInverses(
  layers: readonly LayerFactors[],
  factors: readonly Batch[] | undefined,
  { isExact, delay }: { readonly isExact: boolean; readonly delay: number },
): Promise<Refreshed<readonly SideInverse[]>> {
  const scope = new Scope();
  try {
    const found: SideInverse[] = [];
    const [first] = layers;
    if (first === undefined) return { found, scope };
    const stream = streamBeside(first.weight.param.device, delay);
    const batches = factors ?? (await pendingOf(scope, layers, stream));
    for (const { places, whole } of batches) {
      const { slots, infos } = await invertedSides(scope, whole, isExact, stream);
      for (const [at, place] of places.entries()) {
        const own = Object.entries(slots).map(
          ([slot, all]) => [slot, scope.track(all.slice(at))] as const,
        );
        found[place] = { slots: Object.fromEntries(own), infos: scope.track(infos.slice(at)) };
      }
    }
    return { found, scope };
  } catch (error) {
    scope.dispose();
    throw error;
  }
}

async function pendingOf(
  scope: Scope,
  layers: readonly LayerFactors[],
  stream: Stream,
): Promise<readonly Batch[]> {
  const pending = bothSides(layers, (layer, side) => sideOf(scope, layer, 'pending', side));
  const batches = roomFor(scope, pending);
  const [wholes = []] = await together(scope, batches, [pending], stream);
  return batchesOf(batches, wholes);
}

async function invertedSides(
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
  found: readonly SideInverse[],
): Promise<Tensor | undefined> {
  const lists = { x: [] as Tensor[], y: [] as Tensor[], info: [] as Tensor[] };
  const [first] = layers;
  if (first === undefined) return undefined;
  const { device } = first.weight.param;
  const all = scope.empty([found.length], { dtype: 'float32', device });
  const info = found.map(({ infos }) => infos);
  const failures = bothSides(layers, ({ weight }, side) =>
    scope.track((weight.slots['failures'] as Tensor).slice(SIDES.indexOf(side))),
  );
  const sides = bothSides(layers, (layer, side) => ({ layer, side }));
  for (const [at, { layer, side }] of sides.entries()) {
    const { slots, infos } = found[at] as SideInverse;
    for (const [slot, y] of Object.entries(slots)) {
      lists.x.push(sideOf(scope, layer, slot, side));
      lists.y.push(y);
      lists.info.push(infos);
    }
  }
  await map(KEPT, lists, { out: lists.x });
  const copy = found.map((_, at) => scope.track(all.slice(at)));
  await map(
    { failures: FAILURES, copy: FAILURES },
    { failures, info },
    { out: { failures, copy } },
  );
  return await all.max();
}

/** G⁻¹ ∇ A⁻¹ of the layers' gradients (outputs, columns), in batches. */
export async function preconditioned(
  scope: Scope,
  layers: readonly LayerFactors[],
  gradients: readonly Batch[],
  isExact: boolean,
  damping: Tensor,
): Promise<readonly Batch[]> {
  const slots = isExact ? ['basis', 'values'] : ['inverse'];
  const [a, g, w, u] = await together(
    scope,
    gradients,
    slots.flatMap((slot) =>
      SIDES.map((side) => layers.map((layer) => sideOf(scope, layer, slot, side))),
    ),
  );
  const each = async (
    of: readonly Tensor[],
    make: (one: Tensor, a: Tensor, g: Tensor) => Promise<Tensor>,
  ): Promise<readonly Tensor[]> => {
    const made: Tensor[] = [];
    for (const [at, one] of of.entries())
      made.push(await make(one, a?.[at] as Tensor, g?.[at] as Tensor));
    return made;
  };
  const wholes = gradients.map(({ whole }) => whole);
  if (!isExact) {
    const turned = await each(wholes, async (one, ofA, ofG) =>
      productOf(scope, await productOf(scope, ofG, one), ofA),
    );
    return batchesOf(gradients, turned);
  }
  const turned = await each(wholes, async (one, ofA, ofG) =>
    productOf(scope, await productOf(scope, ofG, one, { transposeA: true }), ofA),
  );
  const along = (of: readonly Tensor[] | undefined, axis: 1 | 2): Tensor[] =>
    (of ?? []).map((one) => {
      const [count = 0, n = 0] = one.shape;
      return scope.track(one.reshape(axis === 1 ? [count, 1, n] : [count, n, 1]));
    });
  if (turned.length > 0) {
    const lists = { x: turned, w: along(w, 1), u: along(u, 2), damping };
    await map(DIVIDED, lists, { out: turned });
  }
  const back = await each(turned, async (one, ofA, ofG) =>
    productOf(scope, await productOf(scope, ofG, one), ofA, { transposeB: true }),
  );
  return batchesOf(gradients, back);
}
