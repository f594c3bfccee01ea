import { device, tensor, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import {
  gradient,
  lazyI,
  lazyJ,
  rangesFromMatrix,
  rowNumberJ,
  valueAndGradients,
  type ReductionGroup,
} from '../index.js';
import { numbers, upload } from '../reference.test-support.js';
import { describeGroups, groupInMemory } from './group-suite.test-support.js';

describe('reductions of a group of processes, gathered through memory', () => {
  const group = groupInMemory(3);
  describeGroups(() => group);

  it('are not made of what is no group, and not prepared', async () => {
    const x = await tensor([[1, 2]], { device: 'cpu' });
    const square = lazyI(x).sub(lazyJ(x)).square();
    await expect(square.sum('j', { group: 3 as never })).rejects.toThrow(
      /group is 3. Pass what joinGroup\(\) gives/,
    );
    const [alone] = groupInMemory(1);
    const sum = square.reduction('Sum', 'j');
    await expect(sum.prepare([], { group: alone } as object)).rejects.toThrow(/no option 'group'/);
  });

  it('gradients refuse what is no group, options that there are not, and results elsewhere', async () => {
    const x = await tensor([[1, 2]], { device: 'cpu' });
    const [i, j] = [lazyI(x), lazyJ(x)];
    const of = i.sqdist(j).reduction('Sum', 'j');
    const [alone] = groupInMemory(1) as [ReductionGroup];
    const refused = async (options: object, why: RegExp): Promise<void> => {
      await expect(gradient(of, i, [[1]], options)).rejects.toThrow(why);
      await expect(valueAndGradients(of, { j }, options)).rejects.toThrow(why);
    };
    await refused({ group: 3 }, /: group is 3. Pass what joinGroup\(\) gives/);
    await refused({ group: null }, /: group is null/);
    await refused({ groups: alone }, /no option 'groups'/);
    const elsewhere = { ...alone, device: { id: 'cuda:7' } };
    await refused(
      { group: elsewhere, devices: ['cpu'] },
      /put together on cpu, the first of devices, and rank 0 of the group computes on cuda:7/,
    );
    await expect(
      of.call([], { group: elsewhere as never, devices: ['cpu'] }),
    ).rejects.toMatchObject({ code: 'DEVICE_MISMATCH' });
    await expect(gradient(of, i, [[1], [2]], { group: alone })).rejects.toThrow(
      /has shape \[2, 1\]/,
    );
    const out = await tensor([[0]], { device: 'cpu' });
    await expect(gradient(of, i, [[1]], { group: alone, out })).rejects.toMatchObject({
      code: 'SHAPE_MISMATCH',
    });
  });

  it('gradients of means are those of all rows with ranges, and where each process spreads its rows over devices', async () => {
    const both = groupInMemory(2);
    const rows = [7, 4] as const;
    const meet = [
      [1, 0, 1, 1],
      [0, 1, 1, 0],
    ];
    const rangesI = [
      [0, 3],
      [3, 4],
    ] as const;
    const ends = [
      [0, 3],
      [3, 7],
      [7, 9],
      [9, 11],
    ] as const;
    const work = async (
      [first, end]: readonly [number, number],
      [from, until]: readonly [number, number],
      options: object,
    ): Promise<Record<string, number[]>> => {
      const x = lazyI(await upload<'float64'>(numbers(1, 4, 2), 'float64', device('cpu')));
      const y = await upload<'float64'>(numbers(2, 11, 2), 'float64', device('cpu'));
      const own = lazyJ(y.slice([first, end]));
      const of = x.sqdist(own).mul(rowNumberJ().add(1)).reduction('Mean', 'j');
      const rangesJ = ends.slice(from, until).map(([a, b]) => [a - first, b - first] as const);
      const ranges = rangesFromMatrix(
        rangesI,
        rangesJ,
        meet.map((row) => row.slice(from, until)),
      );
      const read = async (one: Tensor): Promise<number[]> =>
        Array.from((await one.toTypedArray()) as Float64Array);
      const { value, gradients } = await valueAndGradients(of, { x, own }, { ...options, ranges });
      return {
        alike: [...(await read(value)), ...(await read(gradients.x))],
        own: await read(gradients.own),
      };
    };
    const near = (values: number[], wanted: number[]): void => {
      expect(values).toHaveLength(wanted.length);
      for (const [at, value] of wanted.entries()) expect(values[at]).toBeCloseTo(value, 11);
    };
    const whole = await work([0, 11], [0, 4], {});
    for (const options of [{}, { devices: ['cpu', 'cpu'], maxBytes: 4000 }]) {
      const found = await Promise.all(
        both.map((group, rank) => {
          const [first, from] = [rank * rows[0], 2 * rank];
          return work([first, first + rows[rank]!], [from, from + 2], { ...options, group });
        }),
      );
      for (const { alike } of found) near(alike!, whole['alike']!);
      near(
        found.flatMap(({ own }) => own!),
        whole['own']!,
      );
    }
  });
});
