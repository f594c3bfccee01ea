import { mul, variable } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import { empty, gatherRows, map, planOf, tensor, type Tensor } from './index.js';

const where = { device: 'cpu' } as const;
const rows = (): Promise<Tensor<'float32'>> => tensor([[1, 2, 3], [4, 5, 6]], where); // prettier-ignore
const twice = mul(2, variable('x'));

describe('planOf', () => {
  it.each([
    ['a map', async () => map(twice, { x: await rows() })],
    [
      'a call made again',
      async () => (await map(twice, { x: await rows() }), map(twice, { x: await rows() })),
    ],
    [
      'a prepared map',
      async () => (await map.prepare(twice, { x: await rows() }))({ x: await rows() }),
    ],
    ['a chain', async () => (await rows()).add(1).mul(2)],
    ['a sum over an axis', async () => (await rows()).exp().sum(0)],
  ] as const)('names the kernels and the executor of %s', async (_, call) => {
    const plan = planOf(await call());
    expect(plan).toMatchObject({ kind: 'cpu', executor: process.env['MERCER_CPU'] });
    expect(plan?.summary).toMatch(/\w/);
    expect(Object.isFrozen(plan)).toBe(true);
  });

  it('names no executor where all kernels are built in', async () => {
    const index = await tensor(Int32Array.of(1, 0), where);
    const plan = planOf(await gatherRows(await rows(), index));
    expect(plan?.summary).toMatch(/gather/i);
    expect(plan).not.toHaveProperty('executor');
  });

  it('knows nothing of results without elements, views and tensors that were no result', async () => {
    const result = await map(twice, { x: await rows() });
    const nothing = await map(twice, { x: empty([0, 3], where) });
    expect([nothing, result.transpose(), await rows()].map(planOf)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});
