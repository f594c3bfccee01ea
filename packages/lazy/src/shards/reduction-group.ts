import type { ProcessGroup, Tensor } from '@mercer/tensor';
import { differentiable, pending, promisesTraced } from '@mercer/tensor/operation';

/** What reductions need of a group of processes: `joinGroup` gives one. */
export type ReductionGroup = Pick<ProcessGroup, 'size' | 'rank' | 'device' | 'allGather'>;

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
