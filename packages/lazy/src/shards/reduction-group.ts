import type { Reduction } from '@mercer/formula';
import { describeValue } from '@mercer/options';
import {
  MercerError,
  Scope,
  tensor,
  type ProcessGroup,
  type ShardOptions,
  type Tensor,
} from '@mercer/tensor';
import {
  assertNotPreparing,
  checkShardOptions,
  differentiable,
  pending,
  promisesTraced,
  sidesOf,
  type PairSizes,
} from '@mercer/tensor/operation';
import { LazyError } from '../lazy-error.js';

/** What reductions need of a group of processes: `joinGroup` gives one. */
export type ReductionGroup = Pick<ProcessGroup, 'size' | 'rank' | 'device' | 'allGather'>;

/** What a process has of the side that is reduced. */
export interface GroupRows extends Pick<Reduction, 'axis'> {
  readonly group: ReductionGroup;
  /** Rows of each process. */
  readonly rows: readonly number[];
  /** The number of the first of its own among all of them. */
  readonly start: number;
}

/**
 * The group that a call was given.
 *
 * @throws LazyError INVALID_ARGUMENT; MercerError DEVICE_MISMATCH where devices that are named give results elsewhere, and UNSUPPORTED where a call is prepared
 */
export function checkGroup(what: string, group: unknown, shards: ShardOptions): ReductionGroup {
  assertNotPreparing(what, 'computes with other processes');
  const { size, rank, device, allGather } = Object(group) as Partial<ReductionGroup>;
  const isOne = size !== undefined && rank !== undefined && device !== undefined;
  if (!isOne || typeof allGather !== 'function') {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: group is ${describeValue(group)}. Pass what joinGroup() gives, or leave it out.`,
    );
  }
  const [home = device] = checkShardOptions(what, shards) ?? [];
  if (home === device) return group as ReductionGroup;
  throw new MercerError(
    'DEVICE_MISMATCH',
    `${what}: results are put together on ${home.id}, the first of devices, and rank ${rank} of the group computes on ${device.id}. Name ${device.id} first.`,
  );
}

/**
 * How many rows of the reduced side each process has, and where its own begin.
 *
 * @throws MercerError SHAPE_MISMATCH, on all of them, where they keep different numbers of rows
 */
export async function groupRows(
  what: string,
  group: ReductionGroup,
  { axis }: Pick<Reduction, 'axis'>,
  sizes: Pick<PairSizes, 'rowsI' | 'rowsJ'>,
): Promise<GroupRows> {
  const { keptRows, reducedRows } = sidesOf({ axis }, sizes);
  using own = await tensor([keptRows, reducedRows], { dtype: 'float64', device: group.device });
  using all = await group.allGather(own);
  const counts = await all.toTypedArray();
  const ranks = Array.from({ length: group.size }, (_, rank) => rank);
  const other = ranks.find((rank) => counts[2 * rank] !== keptRows);
  if (other !== undefined) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: rank ${other} keeps ${counts[2 * other]} rows, and rank ${group.rank} ${keptRows}. With group the rows of the reduced side are spread over the processes, and all have the others.`,
    );
  }
  const rows = ranks.map((rank) => counts[2 * rank + 1] ?? 0);
  return { group, axis, rows, start: total(rows.slice(0, group.rank)) };
}

/** Rows of several processes. */
export const total = (rows: readonly number[]): number => rows.reduce((sum, one) => sum + one, 0);

/** Gathers of a group, traced values too, whatever carries them: the share of a process is its part of the sum of all cotangents. */
export function gatherOf(group: ReductionGroup): (x: Tensor) => Promise<Tensor> {
  const call = async (x: Tensor): Promise<Tensor> => group.allGather(x);
  const gather = differentiable<typeof call, readonly [Tensor]>('allGather', call, {
    vjp: (cotangent) => {
      const share = async (): Promise<Tensor> => {
        const all = await gather((await cotangent) as Tensor);
        return await all.slice(null, group.rank).sum(0);
      };
      return [() => promisesTraced(pending(share()))];
    },
    jvp: 'linear',
  });
  return gather;
}

/** The sum of what all processes have, added up in float64: the same bits on each of them. */
export async function sumOfAll(group: ReductionGroup, x: Tensor): Promise<Tensor> {
  using steps = new Scope();
  const all = steps.track(await gatherOf(group)(x));
  const wide = steps.track(await all.cast('float64'));
  return await steps.track(await wide.sum(0)).cast(x.dtype);
}
