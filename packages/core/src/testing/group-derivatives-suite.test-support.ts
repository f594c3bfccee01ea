import {
  device,
  grad,
  jvp,
  lazyI,
  lazyJ,
  param,
  stack,
  tensor,
  zeros,
  type LazyTensor,
  type ReductionGroup,
  type Tensor,
} from '@mercer/core';
import { expect, it } from 'vitest';

/** Ranks that gather through the memory of one process. */
export function ranksInMemory(size: number): readonly ReductionGroup[] {
  interface Round {
    readonly given: (Tensor | undefined)[];
    readonly all: Promise<Tensor>;
    readonly end: (all: Tensor) => void;
  }
  const rounds: Round[] = [];
  const newRound = (): Round => {
    let end: Round['end'] = () => undefined;
    const all = new Promise<Tensor>((resolve) => {
      end = resolve;
    });
    return { given: Array<undefined>(size).fill(undefined), all, end };
  };
  return Array.from({ length: size }, (_, rank): ReductionGroup => {
    let calls = 0;
    const allGather = async (x: Tensor): Promise<Tensor> => {
      const round = (rounds[calls++] ??= newRound());
      round.given[rank] = await x.clone();
      if (!round.given.includes(undefined))
        round.end(await stack(round.given as Tensor[] as never));
      return (await round.all).clone();
    };
    return { size, rank, device: device('cpu'), allGather: allGather as never };
  });
}

type Float64 = Tensor<'float64'>;

/** What a rank has: all kept rows, and its own of the reduced side. */
type Data = readonly [kept: Float64, own: Float64, weights: Float64];

interface Kind {
  readonly name: string;
  readonly of: (
    x: LazyTensor,
    y: LazyTensor,
    g: LazyTensor,
    axis: 'i' | 'j',
    group: ReductionGroup | undefined,
  ) => PromiseLike<Tensor>;
}

const far = (x: LazyTensor, y: LazyTensor): LazyTensor =>
  x
    .sub(y)
    .square()
    .mul(param([0.7]));

const KINDS: readonly Kind[] = [
  { name: 'sum', of: (x, y, g, axis, group) => far(x, y).mul(g).sum(axis, { group }) },
  { name: 'mean', of: (x, y, g, axis, group) => far(x, y).mul(g).mean(axis, { group }) },
  { name: 'var', of: (x, y, _, axis, group) => far(x, y).var(axis, { group }) },
  { name: 'prod', of: (x, y, _, axis, group) => far(x, y).add(0.6).prod(axis, { group }) },
  { name: 'min', of: (x, y, g, axis, group) => far(x, y).mul(g).min(axis, { group }) },
  { name: 'max', of: (x, y, g, axis, group) => far(x, y).mul(g).max(axis, { group }) },
  { name: 'kMin', of: (x, y, _, axis, group) => x.sqdist(y).kMin(3, axis, { group }) },
  {
    name: 'logSumExp',
    of: (x, y, g, axis, group) =>
      x
        .sqdist(y)
        .neg()
        .logSumExp(axis, { weight: g.elem(0).sub(0.9), group }),
  },
  {
    name: 'sumSoftMaxWeight',
    of: (x, y, g, axis, group) => x.sqdist(y).neg().sumSoftMaxWeight(g, axis, { group }),
  },
];

const ROWS: readonly number[] = [9, 5, 17];
const firstOf = (rank: number): number => ROWS.slice(0, rank).reduce((sum, one) => sum + one, 0);

const values = (seed: number, rows: number, low = -1, high = 1): Promise<Float64> => {
  const data = Float64Array.from({ length: 2 * rows }, (_, at) => {
    const part = Math.abs(Math.sin(12.9898 * (at + 1) + 78.233 * seed) * 43758.5453) % 1;
    return low + (high - low) * part;
  });
  return Promise.resolve(tensor(data, { shape: [rows, 2], device: 'cpu' }));
};

async function expectSame(found: Tensor, wanted: Tensor): Promise<void> {
  expect(found.shape).toEqual(wanted.shape);
  const [a, b] = [await found.toTypedArray(), await wanted.toTypedArray()];
  for (const [at, one] of b.entries()) {
    const [got, want] = [Number(a[at]), Number(one)];
    if (!(Math.abs(got - want) <= 1e-9 * Math.max(1, Math.abs(want))))
      expect.fail(`element ${at}: ${got}, expected ${want}`);
  }
}

/** Derivatives of reductions whose reduced rows are spread over the ranks of a group, beside those of all rows. */
export function describeGroupDerivatives(groupOf: () => readonly ReductionGroup[]): void {
  const dataOf = async (count: number): Promise<Data> => [
    await values(1, 13),
    await values(2, count),
    await values(3, count, 0.5, 2),
  ];

  /** What each rank gives, of its own rows. */
  const onAll = <T>(
    data: Data,
    work: (own: Data, group: ReductionGroup) => Promise<T>,
  ): Promise<readonly T[]> =>
    Promise.all(
      groupOf().map(async (group) => {
        const { rank, device: there } = group;
        const rows = [firstOf(rank), firstOf(rank + 1)] as const;
        const [kept, own, weights] = data;
        return work(
          [
            await kept.to(there),
            await own.slice([...rows]).to(there),
            await weights.slice([...rows]).to(there),
          ],
          group,
        );
      }),
    );

  it.each(KINDS.map((kind, at) => [kind.name, at % 2 === 0 ? 'j' : 'i', kind] as const))(
    '%s over %s has the gradients of all rows: by its own rows on each rank, and by the others in parts',
    async (_, axis, { of }) => {
      const data = await dataOf(firstOf(groupOf().length));
      const lossOf = async ([x, y, g]: Data, group?: ReductionGroup): Promise<Tensor> => {
        const [kept, reduced] = axis === 'j' ? [lazyI(x), lazyJ(y)] : [lazyJ(x), lazyI(y)];
        const found = await of(kept, reduced, axis === 'j' ? lazyJ(g) : lazyI(g), axis, group);
        return found
          .mul(found.add(0.3))
          .sum()
          .div(group?.size ?? 1);
      };
      const gradients = (own: Data, group?: ReductionGroup): Promise<readonly Tensor[]> =>
        grad((...all: [Float64, Float64, Float64]) => lossOf(all, group), { argnums: [0, 1] })(
          ...(own as [Float64, Float64, Float64]),
        );
      const [byKept, byReduced] = (await gradients(data)) as [Tensor, Tensor];
      let sum: Tensor = await zeros([13, 2], { dtype: 'float64', device: 'cpu' });
      for (const [rank, [kept, own]] of (await onAll(data, gradients)).entries()) {
        const rows = byReduced.slice([firstOf(rank), firstOf(rank + 1)]);
        await expectSame(await own!.to('cpu'), rows);
        sum = await sum.add(await kept!.to('cpu'));
      }
      await expectSame(sum, byKept);
    },
  );

  it('have second derivatives and tangents', async () => {
    const data = await dataOf(firstOf(groupOf().length));
    const lossOf = async (x: Float64, y: Float64, group?: ReductionGroup): Promise<Tensor> => {
      const found = await lazyI(x).sqdist(lazyJ(y)).neg().logSumExp('j', { group });
      return found
        .square()
        .sum()
        .div(group?.size ?? 1);
    };
    const both = async ([x, y]: Data, group?: ReductionGroup): Promise<readonly Tensor[]> => {
      const slope = grad((own: Float64) => lossOf(x, own, group));
      const second = await grad(async (own: Float64) => (await slope(own)).square().sum())(y);
      const { tangent } = await jvp((own: Float64) => lossOf(x, own, group))([y], [y]);
      return [second, await tangent.mul(group?.size ?? 1)];
    };
    const [second, tangent] = (await both(data)) as [Tensor, Tensor];
    for (const [rank, [own, along]] of (await onAll(data, both)).entries()) {
      await expectSame(await own!.to('cpu'), second.slice([firstOf(rank), firstOf(rank + 1)]));
      await expectSame(await along!.to('cpu'), tangent);
    }
  });
}
