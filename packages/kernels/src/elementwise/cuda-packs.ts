import type { DType } from '../dtype.js';
import { elementInfo } from './element-type.js';
import type { MapPlan } from './map-plan-types.js';

/** Most elements that a thread holds at once where all lie in a row. */
const MOST_LANES = 4;
/** Most elements of inputs that it holds: more would not stay in registers. */
const MOST_HELD = 64;

/** The inputs whose elements lie in a row, in a linear map. */
export const contiguousInputs = (
  plan: MapPlan,
): readonly (MapPlan['inputs'][number] & { name: string })[] =>
  plan.inputs.flatMap((input, k) => (input.repeated ? [] : [{ ...input, name: `x${k}` }]));

/** Elements of a pack, which is of up to 16 bytes. */
export function lanesOf(plan: MapPlan): number {
  const bytes = [...plan.results, ...contiguousInputs(plan)].map(
    ({ dtype }) => elementInfo(dtype).bytes,
  );
  let lanes = Math.min(MOST_LANES, 16 / Math.max(...bytes));
  while (lanes > 1 && lanes * contiguousInputs(plan).length > MOST_HELD) lanes /= 2;
  return lanes;
}

/** The type of a pack of elements. */
export const packName = (dtype: DType): string => `Pack_${elementInfo(dtype).tag}`;

/** Declares the packs of some dtypes. */
export const packTypes = (dtypes: readonly DType[], lanes: number): string =>
  [...new Set(dtypes)]
    .map((dtype) => {
      const { storage, bytes } = elementInfo(dtype);
      return `struct alignas(${lanes * bytes}) ${packName(dtype)} { ${storage} v[${lanes}]; };`;
    })
    .join('\n');

/** Puts what `value` gives where the results go: one, or the members of several. */
export function assigned(targets: readonly string[], value: string): string {
  if (targets.length === 1) return `${targets[0] ?? ''} = ${value};`;
  const stores = targets.map((target, r) => `${target} = v.v${r};`);
  return `{ const Values v = ${value}; ${stores.join(' ')} }`;
}
