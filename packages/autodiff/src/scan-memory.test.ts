import { device, tensor, type Tensor } from '@mercer/tensor';
import { expect, it } from 'vitest';
import { grad, scan } from './index.js';

const cpu = { device: 'cpu' } as const;
const SIZE = 4000;
const CARRY = SIZE * 8;

/** The most bytes that a gradient through so many steps takes beside what was there before. Each must take more than those before. */
async function peakOf(steps: number, checkpoint: boolean): Promise<number> {
  using start = await tensor(
    Float64Array.from({ length: SIZE }, (_, k) => Math.sin(k)),
    cpu,
  );
  using xs = await tensor(
    Float64Array.from({ length: steps }, (_, k) => k),
    cpu,
  );
  const step = async (carry: Tensor, x: Tensor) => {
    // each of them is kept for the gradient
    const soft = await carry.mul(x.add(1)).softmax();
    const norm = await soft.cumSum(0).softmax();
    return [await norm.mul(soft).sort().add(carry), undefined] as const;
  };
  const loss = async (c: Tensor): Promise<Tensor> =>
    (await scan(step, c, xs, { checkpoint })).carry.sum();
  const { liveBytes } = device('cpu').memory();
  using gradient = await grad(loss)(start);
  await gradient.ready();
  return device('cpu').memory().peakBytes - liveBytes;
}

it('a gradient through scan with checkpoint holds one carry for each step, and what one step computes', async () => {
  const [few, many] = [await peakOf(8, true), await peakOf(24, true)];
  expect((many - few) / 16 / CARRY).toBeCloseTo(1, 1);
  // three results, their gradients, and what rules make between
  expect(few).toBeLessThan((8 + 24) * CARRY);
  const kept = await peakOf(24, false);
  expect(kept).toBeGreaterThan(3 * 24 * CARRY);
});
