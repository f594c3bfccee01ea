import { parameterLimit, type DeviceLimits } from '../device-limits.js';
import { type Scalars, scalar } from '../emitted-kernel.js';
import { linearElements } from './cuda-geometry.js';
import { lanesOf, parameterBytes, segmentNames } from './map-params.js';
import type { MapPlan, PlannedMap } from './map-plan-types.js';

/** How many maps with this plan one kernel can do: 1 where they are not linear, or need positions. */
function mostSegments(plan: MapPlan, mostBytes: number): number {
  if (plan.mode !== 'linear' || plan.indices.length > 0) return 1;
  const [one, two] = [1, 2].map((segments) => parameterBytes({ ...plan, segments })) as [
    number,
    number,
  ];
  return Math.max(1, 1 + Math.floor((mostBytes - one) / (two - one)));
}

/**
 * The places of maps in groups, each of which one kernel can do. A map of one element goes with any whose operands have its dtypes: whether one is
 * repeated makes no difference to it.
 */
export function groupSegments(
  maps: readonly Pick<PlannedMap, 'plan' | 'scalars'>[],
  limits: DeviceLimits,
): readonly (readonly number[])[] {
  const mostBytes = parameterLimit(limits);
  const groups: { readonly key: string; readonly anyKey: string; readonly places: number[] }[] = [];
  const isOne = (place: number): boolean =>
    maps[place]?.plan.mode === 'linear' && maps[place].scalars['n0'] === 1;
  const order = [...maps.keys()].sort((a, b) => Number(isOne(a)) - Number(isOne(b)));
  for (const place of order) {
    const { plan } = maps[place] as PlannedMap;
    const [key, anyKey] = [keyOf(plan), keyOf(withoutRepeats(plan))];
    const most = mostSegments(plan, mostBytes);
    const group = groups.find(
      (one) =>
        one.places.length < most && (one.key === key || (isOne(place) && one.anyKey === anyKey)),
    );
    if (group === undefined) groups.push({ key, anyKey, places: [place] });
    else group.places.push(place);
  }
  return groups.map(({ places }) => places);
}

const keyOf = (plan: MapPlan): string =>
  JSON.stringify({
    ...plan,
    results: plan.results.map(({ expr, dtype }) => [expr.id, dtype]),
  });

const withoutRepeats = (plan: MapPlan): MapPlan => ({
  ...plan,
  inputs: plan.inputs.map((input) => ({ ...input, repeated: false })),
});

/**
 * One kernel for the maps of a group of {@link groupSegments}, each a segment of it. What `x0` and `out` are of one map is
 * `x0_of1` and `out_of1` of the second segment.
 */
export function planSegments(maps: readonly Pick<PlannedMap, 'plan' | 'scalars'>[]): {
  readonly plan: MapPlan;
  readonly scalars: Scalars;
} {
  const [first] = maps;
  if (first === undefined) throw new RangeError('planSegments: there is no map. Pass one or more.');
  if (maps.length === 1) return first;
  const plan: MapPlan = Object.freeze({ ...first.plan, segments: maps.length });
  const scalars: Record<string, number> = {};
  let end = 0;
  for (const [s, nameOf] of segmentNames(plan).entries()) {
    const own = maps[s]?.scalars ?? {};
    for (const [name, value] of Object.entries(own)) {
      scalars[/^p\d/.test(name) ? name : nameOf(name)] = value;
    }
    end += Math.ceil(scalar(own, 'n0') / blockElements(plan));
    scalars[nameOf('end')] = end;
  }
  return { plan, scalars };
}

/** Elements of a segment that a block of a GPU computes: several packs a thread, so that finding the segment costs little. */
const blockElements = (plan: MapPlan): number => 4 * linearElements(lanesOf(plan));
