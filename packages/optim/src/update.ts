import { gt, select, variable, type RealExpr } from '@mercer/formula';
import { map, type Tensor } from '@mercer/tensor';

/** A number that the device knows, 0-d: in float32, and in float64 for parameters of that dtype. */
export interface DeviceNumber {
  readonly float32: Tensor | undefined;
  readonly float64: Tensor | undefined;
}

/** A parameter with what an optimiser remembers of it. */
export interface UpdatedLeaf {
  readonly name: string;
  readonly param: Tensor;
  /** By slot. The slot `master` is what a parameter of float16 or bfloat16 is computed in. */
  readonly slots: Readonly<Record<string, Tensor>>;
}

/** What {@link updateInPlace} does. */
export interface InPlaceUpdate {
  readonly leaves: readonly UpdatedLeaf[];
  /** What becomes of the parameter, `p`, and of slots, by their names: formulas of these, of the lists, the numbers and the parameters. */
  readonly formulas: Readonly<Record<string, RealExpr>>;
  /** What is read beside, one tensor for each leaf: gradients as `g`, or directions. */
  readonly lists?: Readonly<Record<string, readonly Tensor[]>>;
  /** Numbers of the device. Nothing is written where `ok` is 0. */
  readonly numbers: Readonly<Record<string, DeviceNumber>> & { readonly ok: DeviceNumber };
  /** Numbers of the host. */
  readonly parameters?: Readonly<Record<string, number>>;
}

/** The dtype in which state of a parameter is kept: float32, and float64 for float64. */
export const stateDType = (param: Tensor): 'float32' | 'float64' =>
  param.dtype === 'float64' ? 'float64' : 'float32';

/** Whether a parameter has a master: what it is rounded from. */
export const hasMaster = (param: Tensor): boolean =>
  param.dtype === 'float16' || param.dtype === 'bfloat16';

/** Formulas that keep what they write where `ok` is 0. */
const kept = new WeakMap<object, Readonly<Record<string, RealExpr>>>();

function keeping(formulas: Readonly<Record<string, RealExpr>>): Readonly<Record<string, RealExpr>> {
  let found = kept.get(formulas);
  if (found === undefined) {
    const ok = gt(variable('ok'), 0);
    found = Object.fromEntries(
      Object.entries(formulas).map(([name, one]) => [name, select(ok, one, variable(name))]),
    );
    kept.set(formulas, found);
  }
  return found;
}

/**
 * Applies formulas to all parameters and their state in place: one launch for the parameters that have their own dtype's precision, and one for those
 * with masters. Hold the formulas: they are compiled once for as long as they live.
 */
export async function updateInPlace(update: InPlaceUpdate): Promise<void> {
  const places = [...update.leaves.keys()];
  const isMastered = (at: number): boolean =>
    Object.hasOwn(update.leaves[at]?.slots ?? {}, 'master');
  await updatePlaces(
    update,
    places.filter((at) => !isMastered(at)),
    false,
  );
  await updatePlaces(update, places.filter(isMastered), true);
}

async function updatePlaces(
  { leaves, formulas, lists = {}, numbers, parameters = {} }: InPlaceUpdate,
  places: readonly number[],
  mastered: boolean,
): Promise<void> {
  if (places.length === 0) return;
  const own = places.map((at) => leaves[at] as UpdatedLeaf);
  const slot = (name: string): readonly Tensor[] =>
    own.map(({ param, slots }) =>
      name === 'p' ? (mastered ? (slots['master'] as Tensor) : param) : (slots[name] as Tensor),
    );
  const written = Object.fromEntries(Object.keys(formulas).map((name) => [name, slot(name)]));
  // slots that formulas read and do not write
  const names = Object.keys(own[0]?.slots ?? {}).filter((name) => name !== 'master');
  const read = Object.fromEntries(['p', ...names].map((name) => [name, slot(name)]));
  const others = Object.fromEntries(
    Object.entries(lists).map(([name, list]) => [name, places.map((at) => list[at] as Tensor)]),
  );
  const scalars = Object.fromEntries(
    Object.entries(numbers).map(([name, number]) => [
      name,
      own.map(({ param }) => number[stateDType(param)] as Tensor),
    ]),
  );
  const kept = keeping(formulas);
  const stored = mastered && kept['p'] !== undefined ? { stored: kept['p'] } : {};
  await map(
    { ...kept, ...stored },
    { ...read, ...others, ...scalars },
    {
      out: { ...written, ...(mastered && { stored: own.map(({ param }) => param) }) },
      parameters,
    },
  );
}
