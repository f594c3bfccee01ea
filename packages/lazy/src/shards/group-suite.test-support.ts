import { REDUCTION_KINDS, traitsOf, type ReductionKind } from '@mercer/formula';
import { device, stack, type Tensor } from '@mercer/tensor';
import { expect, it } from 'vitest';
import { lazyI, lazyJ, param, type LazyReduction, type ReductionGroup } from '../index.js';
import { byName } from '../reductions-suite.test-support.js';
import { numbers, upload } from '../reference.test-support.js';

/** Ranks that gather through the memory of one process: a group as another transport could give one. */
export function groupInMemory(size: number): readonly ReductionGroup[] {
  interface Round {
    readonly given: Map<number, Tensor>;
    readonly all: Promise<readonly Tensor[]>;
    readonly resolve: (all: readonly Tensor[]) => void;
  }
  const rounds: Round[] = [];
  const newRound = (): Round => {
    let resolve: Round['resolve'] = () => undefined;
    const all = new Promise<readonly Tensor[]>((done) => {
      resolve = done;
    });
    return { given: new Map(), all, resolve };
  };
  const ranks = Array.from({ length: size }, (_, rank) => rank);
  return ranks.map((rank): ReductionGroup => {
    let calls = 0;
    const gather = async (x: Tensor): Promise<Tensor> => {
      const round = (rounds[calls++] ??= newRound());
      round.given.set(rank, await x.clone());
      if (round.given.size === size) round.resolve(ranks.map((one) => round.given.get(one)!));
      const all = await round.all;
      return await stack(all as never);
    };
    return { size, rank, device: device('cpu'), allGather: gather as ReductionGroup['allGather'] };
  });
}

const M = 13;
const ROWS: readonly number[] = [9, 5, 17];

/** Reductions whose reduced rows are spread over the ranks of a group, beside those of all rows. */
export function describeGroups(groupOf: () => readonly ReductionGroup[]): void {
  const N = ROWS.reduce((sum, one) => sum + one, 0);

  const expectSame = async (found: Tensor, wanted: Tensor): Promise<void> => {
    expect(found.shape).toEqual(wanted.shape);
    const [a, b] = [await found.toTypedArray(), await wanted.toTypedArray()];
    for (const [at, value] of b.entries()) {
      const [got, want] = [Number(a[at]), Number(value)];
      if (!Number.isFinite(want)) expect(got).toBe(want);
      else if (!(Math.abs(got - want) <= 1e-12 * Math.max(1, Math.abs(want)))) {
        expect.fail(`element ${at}: ${got}, expected ${want}`);
      }
    }
  };

  const reductionOf = (
    kind: ReductionKind,
    axis: 'i' | 'j',
    [x, y, g]: readonly Tensor<'float64'>[],
  ): LazyReduction => {
    const { isExponential, takesK } = traitsOf(kind);
    const [kept, reduced] = axis === 'j' ? [lazyI(x!), lazyJ(y!)] : [lazyJ(x!), lazyI(y!)];
    const weight = axis === 'j' ? lazyJ(g!) : lazyI(g!);
    const base = kept
      .sub(reduced)
      .square()
      .mul(param([0.7]));
    const isWeighted = kind === 'SumSoftMaxWeight' || kind === 'MaxSumShiftExp';
    return (isExponential ? base.sum() : base).reduction(kind, axis, {
      ...(takesK && { k: 3 }),
      ...(isWeighted && { weight }),
    });
  };

  /** What each rank gives, of its own rows. */
  const onAll = async (
    work: (of: ReductionGroup, rows: readonly [first: number, end: number]) => Promise<unknown>,
  ): Promise<readonly PromiseSettledResult<unknown>[]> => {
    const first = (rank: number): number => ROWS.slice(0, rank).reduce((sum, one) => sum + one, 0);
    return Promise.allSettled(
      groupOf().map((one) => work(one, [first(one.rank), first(one.rank) + (ROWS[one.rank] ?? 0)])),
    );
  };

  it.each(REDUCTION_KINDS.map((kind, at) => [kind, at % 2 === 0 ? 'j' : 'i'] as const))(
    '%s over %s is that of all rows, with the same bits on each rank',
    async (kind, axis) => {
      const count = ROWS.slice(0, groupOf().length).reduce((sum, one) => sum + one, 0);
      const y = numbers(2, count, 2);
      const g = numbers(3, count, 2, { low: 0.5, high: 2 });
      const wanted = byName(
        await reductionOf(kind, axis, [
          await upload<'float64'>(numbers(1, M, 2), 'float64', device('cpu')),
          await upload<'float64'>(y, 'float64', device('cpu')),
          await upload<'float64'>(g, 'float64', device('cpu')),
        ]).call([]),
      );
      const ends = await onAll(async (one, [first, end]) => {
        const part = async (of: typeof y): Promise<Tensor<'float64'>> => {
          const whole = await upload<'float64'>(of, 'float64', one.device);
          return whole.slice([first, end]);
        };
        const x = await upload<'float64'>(numbers(1, M, 2), 'float64', one.device);
        const found = await reductionOf(kind, axis, [x, await part(y), await part(g)]).call([], {
          group: one,
        });
        return byName(found);
      });
      const found = ends.map((one) => {
        if (one.status === 'rejected') throw one.reason;
        return one.value as typeof wanted;
      });
      for (const { value, index } of found) {
        if (wanted.value !== undefined) await expectSame(value!, wanted.value);
        expect(await index?.toNested()).toEqual(await wanted.index?.toNested());
        const first = await found[0]?.value?.toTypedArray();
        expect(await value?.toTypedArray()).toEqual(first);
      }
    },
  );

  it('has a place for a process without rows, and refuses lists that are longer than its rows', async () => {
    const { length } = groupOf();
    const ends = await onAll(async (one, [first, end]) => {
      const isNone = one.rank === length - 1;
      const rows = isNone ? [0, 0] : [first, end];
      const y = await upload<'float64'>(numbers(2, N, 2), 'float64', one.device);
      const x = await upload<'float64'>(numbers(1, M, 2), 'float64', one.device);
      const square = lazyI(x)
        .sub(lazyJ(y.slice(rows as [number, number])))
        .square();
      const out = await x.clone();
      expect(await square.sum('j', { group: one, out })).toBe(out);
      await expect(square.sum().kMin(3, 'j', { group: one })).rejects.toThrow(
        `k is 3, and rank ${length - 1} has 0 rows`,
      );
      const fewer = lazyI(x.slice([0, isNone ? 2 : M]))
        .sub(lazyJ(y))
        .square();
      await expect(fewer.sum('j', { group: one })).rejects.toThrow(/keeps \d+ rows, and rank/);
      return [await out.toTypedArray(), rows[1]];
    });
    const count = ROWS.slice(0, length - 1).reduce((sum, one) => sum + one, 0);
    const y = await upload<'float64'>(numbers(2, N, 2), 'float64', device('cpu'));
    const x = await upload<'float64'>(numbers(1, M, 2), 'float64', device('cpu'));
    const whole = await lazyI(x)
      .sub(lazyJ(y.slice([0, count])))
      .square()
      .sum('j');
    const wanted = await whole.toTypedArray();
    for (const one of ends) {
      if (one.status === 'rejected') throw one.reason;
      const [found] = one.value as [Float64Array];
      for (const [at, value] of wanted.entries()) expect(found[at]).toBeCloseTo(value, 12);
    }
  });
}
