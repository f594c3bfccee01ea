import { parameterLimit, type DeviceLimits } from '../device-limits.js';
import { type Scalars, scalar } from '../emitted-kernel.js';
import { upTo } from '../emit/text.js';
import { PlanError } from '../plan-error.js';
import { linearElements } from './cuda-geometry.js';
import { lanesOf } from './cuda-packs.js';
import { parameterBytes, segmentNames, stridePrefixes } from './map-params.js';
import type { MapPlan, PlannedMap } from './map-plan-types.js';
import { stridedTiles, walkOfAll, walkScalars } from './map-walk.js';

/** How many maps with this plan one kernel can do: 1 where they need positions, and on a CPU where they are not linear. */
function mostSegments(plan: MapPlan, mostBytes: number): number {
  if (plan.indices.length > 0 || (plan.mode === 'strided' && plan.target.kind === 'cpu')) return 1;
  const [one, two] = [1, 2].map((segments) => parameterBytes({ ...plan, segments })) as [
    number,
    number,
  ];
  return Math.max(1, 1 + Math.floor((mostBytes - one) / (two - one)));
}

/**
 * The places of maps in groups, each of which one kernel can do. A map of one element goes with any whose operands have its dtypes: whether one is
 * repeated makes no difference to it. A GPU's maps that are not linear go together whatever their ranks and sizes.
 */
export function groupSegments(
  maps: readonly Pick<PlannedMap, 'plan' | 'scalars'>[],
  limits: DeviceLimits,
): readonly (readonly number[])[] {
  const mostBytes = parameterLimit(limits);
  const groups: {
    readonly key: string;
    readonly anyKey: string;
    readonly places: number[];
    rank: number;
  }[] = [];
  const isOne = (place: number): boolean =>
    maps[place]?.plan.mode === 'linear' && maps[place].scalars['n0'] === 1;
  const order = [...maps.keys()].sort((a, b) => Number(isOne(a)) - Number(isOne(b)));
  for (const place of order) {
    const { plan } = maps[place] as PlannedMap;
    const [key, anyKey] = [keyOf(plan), keyOf(withoutRepeats(plan))];
    const rankWith = (one: { readonly rank: number }): number => Math.max(one.rank, plan.rank);
    const group = groups.find(
      (one) =>
        (one.key === key || (isOne(place) && one.anyKey === anyKey)) &&
        one.places.length < mostSegments({ ...plan, rank: rankWith(one) }, mostBytes),
    );
    if (group === undefined) groups.push({ key, anyKey, places: [place], rank: plan.rank });
    else {
      group.places.push(place);
      group.rank = rankWith(group);
    }
  }
  return groups.map(({ places }) => places);
}

const keyOf = (plan: MapPlan): string =>
  JSON.stringify({
    ...plan,
    rank: undefined,
    walk: undefined,
    results: plan.results.map(({ expr, dtype }) => [expr.id, dtype]),
  });

const withoutRepeats = (plan: MapPlan): MapPlan => ({
  ...plan,
  inputs: plan.inputs.map((input) => ({ ...input, repeated: false })),
});

/**
 * One kernel for the maps of a group of {@link groupSegments}, each a segment of it. What `x0` and `out` are of one map is
 * `x0_of1` and `out_of1` of the second segment.
 *
 * @throws PlanError INVALID_ARGUMENT where there is no map
 */
export function planSegments(maps: readonly Pick<PlannedMap, 'plan' | 'scalars'>[]): {
  readonly plan: MapPlan;
  readonly scalars: Scalars;
} {
  const [first] = maps;
  if (first === undefined) {
    throw new PlanError('INVALID_ARGUMENT', 'planSegments: there is no map. Pass one or more.');
  }
  if (maps.length === 1) return first;
  const rank = Math.max(...maps.map(({ plan: one }) => one.rank));
  const plan: MapPlan = Object.freeze({
    ...first.plan,
    rank,
    walk: walkOfAll(maps.flatMap(({ plan: { walk } }) => walk ?? [])),
    segments: maps.length,
  });
  const scalars: Record<string, number> = {};
  let end = 0;
  for (const [s, nameOf] of segmentNames(plan).entries()) {
    const map = maps[s] ?? first;
    const own: Scalars = plan.mode === 'linear' ? map.scalars : stridedScalars(map, plan);
    for (const [name, value] of Object.entries(own)) {
      scalars[/^p\d/.test(name) ? name : nameOf(name)] = value;
    }
    if (plan.mode === 'linear') end += Math.ceil(scalar(own, 'n0') / blockElements(plan));
    else {
      const { width, across, rows, span } = stridedTiles(plan, own);
      scalars[nameOf('width')] = width;
      end += across * Math.ceil(rows / span);
    }
    scalars[nameOf('end')] = end;
  }
  return { plan, scalars };
}

/** Elements of a segment that a block of a GPU computes: several packs a thread, so that finding the segment costs little. */
const blockElements = (plan: MapPlan): number => 4 * linearElements(lanesOf(plan));

/** The dimensions of a map as the last ones of a plan with more, those before them having extent 1. */
function stridedScalars(
  { plan, scalars }: Pick<PlannedMap, 'plan' | 'scalars'>,
  to: MapPlan,
): Scalars {
  const { rank } = to;
  const before = rank - plan.rank;
  const moved = Object.fromEntries(
    ['n', ...stridePrefixes(plan)].flatMap((prefix) =>
      upTo(rank).map((i): [string, number] => [
        `${prefix}${i}`,
        i < before ? Number(prefix === 'n') : scalar(scalars, `${prefix}${i - before}`),
      ]),
    ),
  );
  const numbers = Object.entries(scalars).filter(([name]) => /^p\d/.test(name));
  return { ...moved, ...walkScalars(to, moved), ...Object.fromEntries(numbers) };
}
