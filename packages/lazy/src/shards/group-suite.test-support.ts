import { REDUCTION_KINDS, traitsOf, type ReductionKind } from '@mercer/formula';
import { concat, device, empty, stack, tensor, type Tensor } from '@mercer/tensor';
import { expect, it } from 'vitest';
import {
  gradient,
  lazyI,
  lazyJ,
  lazyPair,
  param,
  rowNumberJ,
  valueAndGradients,
  type LazyReduction,
  type ReductionGroup,
} from '../index.js';
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
      await expect(
        gradient(
          fewer.reduction('Sum', 'j'),
          lazyJ(y),
          Array.from({ length: isNone ? 2 : M }, () => [1, 1]),
          { group: one },
        ),
      ).rejects.toThrow(/gradient: rank \d+ keeps \d+ rows, and rank/);
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

  /** The rows of all processes that are there, and those of one. */
  const ownRows = async (
    whole: Parameters<typeof upload>[0],
    one: ReductionGroup,
    [first, end]: readonly [number, number],
  ): Promise<Tensor<'float64'>> =>
    (await upload<'float64'>(whole, 'float64', one.device)).slice([first, end]);

  /** Gradients by what all have, which have the same bits on each, and by rows of each, one after the other. */
  const expectGradients = async (
    ends: readonly PromiseSettledResult<unknown>[],
    whole: Readonly<Record<string, Tensor>>,
    own: readonly string[],
  ): Promise<void> => {
    const found = ends.map((one) => {
      if (one.status === 'rejected') throw one.reason;
      return one.value as Readonly<Record<string, Tensor>>;
    });
    for (const [name, wanted] of Object.entries(whole)) {
      const parts = await Promise.all(found.map(async (one) => one[name]!.to(device('cpu'))));
      if (own.includes(name)) {
        await expectSame(
          await concat(parts as Tensor<'float64'>[], name === 'pairs' ? 1 : 0),
          wanted,
        );
        continue;
      }
      for (const part of parts) {
        await expectSame(part, wanted);
        expect(await part.toTypedArray()).toEqual(await parts[0]!.toTypedArray());
      }
    }
  };

  it.each<[ReductionKind, 'i' | 'j']>([
    ['Sum', 'j'],
    ['Sum', 'i'],
    ['Mean', 'i'],
    ['Var', 'j'],
    ['Prod', 'j'],
    ['LogSumExp', 'i'],
    ['SumSoftMaxWeight', 'j'],
    ['Min', 'j'],
    ['MaxArgMax', 'i'],
    ['KMin', 'j'],
  ])(
    'gradients of %s over %s are those of all rows, with shares of any size',
    async (kind, axis) => {
      const ranks = groupOf().length;
      const count = ROWS.slice(0, ranks).reduce((sum, one) => sum + one, 0);
      const rows = [numbers(2, count, 2), numbers(3, count, 2, { low: 0.5, high: 2 })] as const;
      const cotangentOf = numbers(9, M, 8);
      const work = async (
        one: ReductionGroup,
        range: readonly [number, number],
        group: ReductionGroup | undefined,
      ): Promise<Record<string, Tensor>> => {
        const x = await upload<'float64'>(numbers(1, M, 2), 'float64', one.device);
        const [y, g] = [await ownRows(rows[0], one, range), await ownRows(rows[1], one, range)];
        const of = reductionOf(kind, axis, [x, y, g]);
        const seed = await upload<'float64'>(cotangentOf, 'float64', one.device);
        const cotangent = seed.slice(null, [0, of.dim]);
        const kept = axis === 'j' ? lazyI(x) : lazyJ(x);
        const reduced = axis === 'j' ? lazyJ(y) : lazyI(y);
        const { value, gradients } = await valueAndGradients(
          of,
          { kept, reduced },
          { cotangent, group },
        );
        const out = empty(y.shape, { dtype: 'float64', device: one.device });
        expect(await gradient(of, reduced, cotangent, { group, out })).toBe(out);
        return { value: byName(value).value!, ...gradients, out };
      };
      const alone = groupInMemory(1)[0]!;
      const whole = await work(alone, [0, count], undefined);
      const ends = await onAll((one, range) => work(one, range, one));
      await expectGradients(ends, whole, ['reduced', 'out']);
    },
  );

  it('gradients by parameters, tables, row numbers and values of pairs, with a process without rows', async () => {
    const { length } = groupOf();
    const count = ROWS.slice(0, length - 1).reduce((sum, one) => sum + one, 0);
    const table = [
      [1, 2],
      [0.5, -1],
      [3, 1],
    ];
    const work = async (
      one: ReductionGroup,
      range: readonly [number, number],
      group: ReductionGroup | undefined,
    ): Promise<Record<string, Tensor>> => {
      const to = { dtype: 'float64', device: one.device } as const;
      const x = lazyI(await upload<'float64'>(numbers(1, M, 2), 'float64', one.device));
      const y = lazyJ(await ownRows(numbers(2, count, 2), one, range));
      const s = param(await tensor([0.3], to));
      const rows = lazyI(await tensor(table, to));
      const which = await tensor(
        Float64Array.from({ length: count }, (_, j) => j % 3),
        {
          ...to,
          shape: [count, 1],
        },
      );
      const near = lazyJ(which.slice([...range]));
      const far = lazyI(
        await tensor(
          Float64Array.from({ length: M }, (_, i) => i % 2),
          { ...to, shape: [M, 1] },
        ),
      );
      const values = await upload<'float64'>(numbers(5, M, count), 'float64', one.device);
      const pairs = lazyPair(values.slice(null, [...range]));
      const of = x
        .sqdist(y)
        .mul(s)
        .neg()
        .exp()
        .mul(pairs)
        .mul(rowNumberJ().mul(0.1).add(1))
        .add(near.gather(rows).sum().square().mul(s))
        .add(near.gather(x).sum().mul(0.1))
        .add(far.gather(rows).mul(y).sum())
        .add(far.add(near).gather(rows).sum().mul(x.sum()))
        .reduction('Sum', 'j');
      const { gradients } = await valueAndGradients(of, { x, y, s, pairs, rows }, { group });
      return gradients;
    };
    const whole = await work(groupInMemory(1)[0]!, [0, count], undefined);
    const ends = await onAll((one, range) =>
      work(one, one.rank === length - 1 ? [count, count] : range, one),
    );
    await expectGradients(ends, whole, ['y', 'pairs']);
  });
}
