import { tensor, type Tensor } from '@mercer/tensor';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matmul } from './matmul.js';
import {
  random,
  scaledError,
  scaledResidual,
  THRESHOLD,
  times,
  toDense,
  type Dense,
} from './matrices.test-support.js';
import { solveLU } from './solve-lu.js';

/** A view with these extents whose elements lie in any order, with gaps and backwards. */
async function scattered(
  shape: readonly number[],
  order: readonly number[],
  steps: readonly number[],
  seed: number,
): Promise<Tensor<'float64'>> {
  const rank = shape.length;
  const axes = order.filter((axis) => axis < rank);
  const grown = axes.map((axis) => (shape[axis] ?? 1) * Math.abs(steps[axis] ?? 1));
  const next = random(seed);
  const size = grown.reduce((product, extent) => product * extent, 1);
  const data = Float64Array.from({ length: size }, () => next());
  const memory = await tensor(data, { shape: grown, device: 'cpu' });
  const back = Array.from({ length: rank }, (_, axis) => axes.indexOf(axis));
  return memory.permute(back).slice(
    ...shape.map((extent, axis): [number | null, number | null, number] => {
      const step = steps[axis] ?? 1;
      return step > 0 ? [0, extent * step, step] : [extent * -step - 1, null, step];
    }),
  );
}

const seed = fc.integer({ min: 0, max: 1e6 });
const order = fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 });
const steps = fc.array(fc.constantFrom(1, 2, -1, -2), { minLength: 4, maxLength: 4 });
const batch = fc.tuple(fc.constantFrom(1, 2), fc.constantFrom(1, 3));

describe('operands of any layout', () => {
  it('are read and broadcast as they are, with each batch entry at its place', async () => {
    let checked = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.record({ seed, order, steps, batch }),
        fc.record({ seed, order, steps, batch }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 4 }),
        async (first, second, n, columns) => {
          const a = await scattered([...first.batch, n, n], first.order, first.steps, first.seed);
          const shape = [...second.batch, n, columns];
          const b = await scattered(shape, second.order, second.steps, second.seed);
          const full = first.batch.map((extent, i) => Math.max(extent, second.batch[i] ?? 1));
          const as = await toDense(a.broadcastTo([...full, n, n]));
          const bs = await toDense(b.broadcastTo([...full, n, columns]));
          const products = await toDense(await matmul(a, b));
          const { x, infos } = await solveLU(a, b);
          expect(infos.shape).toEqual(full);
          const solutions = await toDense(x);
          expect(products).toHaveLength(as.length);
          as.forEach((one, i) => {
            const right = bs[i] as Dense;
            const product = times(one, right);
            expect(scaledError(product, products[i] as Dense, 'float64')).toBeLessThan(THRESHOLD);
            const residual = scaledResidual(one, solutions[i] as Dense, right, 'float64');
            expect(residual).toBeLessThan(THRESHOLD);
            checked++;
          });
        },
      ),
      { numRuns: 200 },
    );
    expect(checked).toBeGreaterThan(200);
  });
});
