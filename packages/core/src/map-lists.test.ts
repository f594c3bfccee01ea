import { describe, expect, it } from 'vitest';
import { formula, grad, map, tensor, type Tensor } from './index.js';

const { mul, sub, variable } = formula;
const [p, rate] = [variable('p'), variable('rate')];

describe('gradients through a map of lists', () => {
  it('are those of a map of each place', async () => {
    const x = await tensor(Float64Array.of(1, 2, 3), { device: 'cpu' });
    const y = await tensor([[4], [5]], { device: 'cpu' });
    const step = { down: sub(p, mul(rate, mul(p, p))), twice: mul(2, p) };
    const loss = async (list: readonly Tensor[]): Promise<Tensor> => {
      const { down, twice } = await map(step, { p: list }, { parameters: { rate: 0.5 } });
      let sum: Tensor = await tensor(0, { device: 'cpu' });
      for (const one of [...down, ...twice]) sum = await sum.add(one.sum());
      return sum;
    };
    // d/dp of p - p^2 / 2 + 2 p
    const [ofX, ofY] = await grad(loss)([x, y]);
    expect(await ofX?.toNested()).toEqual([2, 1, 0]);
    expect(await ofY?.toNested()).toEqual([[-1], [-2]]);
  });

  it('are those of a formula without a name too', async () => {
    const x = await tensor([1, 2, 3], { device: 'cpu' });
    const squares = async (list: readonly Tensor[]): Promise<Tensor> => {
      const [first] = await map(mul(p, p), { p: list });
      return (first as Tensor).sum();
    };
    const [found] = await grad(squares)([x]);
    expect(await found?.toNested()).toEqual([2, 4, 6]);
  });
});
