import { device, gatherRows, scatterAdd, tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { defaultKernels } from '../../kernels/test/default-kernels.mjs';
import { cdist } from './index.js';

const cpu = device('cpu');
/** The smallest positive number: gone as soon as anything flushes denormals, on this thread or in the pool. */
const smallest = [5e-324, -5e-324, 2.2250738585072009e-308];

async function expectDenormals(after: string): Promise<void> {
  const here = JSON.stringify([5e-324, Number.MIN_VALUE * 1]);
  expect(here, `on the JS thread after ${after}`).toBe('[5e-324,5e-324]');
  // A distance from 0 is a subtraction and an absolute value in every lane of a pool thread.
  const x = await tensor(smallest, { shape: [3, 1], dtype: 'float64', device: cpu });
  const zero = await tensor([0], { shape: [1, 1], dtype: 'float64', device: cpu });
  const d = await cdist(x, zero, { p: 1 });
  const kept = [...(await d.toTypedArray())];
  for (const made of [x, zero, d]) made.dispose();
  expect(kept, `in the pool after ${after}`).toEqual(smallest.map(Math.abs));
}

/** One in twelve of every family, or all of them: a whole family is compiled with the same flags. */
const STEP = process.env['MERCER_TEST_FULL'] === '1' ? 1 : 12;

/** The kernels to load, and the family of each. */
function sampleKernels(): readonly (readonly [
  family: string,
  ReturnType<typeof defaultKernels>[number],
])[] {
  const met = new Map<string, number>();
  const all = defaultKernels(cpu.limits).map(
    (named) => [/^(mercer_)?[a-z]+/.exec(named.kernel.entry)?.[0] ?? '', named] as const,
  );
  return all.filter(([family]) => {
    const before = met.get(family) ?? 0;
    met.set(family, before + 1);
    return before % STEP === 0;
  });
}

describe('artefacts of the CPU', () => {
  it('leave denormals alone, default kernels of every family', { timeout: 600_000 }, async () => {
    await expectDenormals('nothing');
    const kernels = sampleKernels();
    expect(new Set(kernels.map(([family]) => family)).size).toBe(4);
    expect(kernels.length).toBeGreaterThan(25);
    for (let first = 0; first < kernels.length; first += 16) {
      const group = kernels.slice(first, first + 16).map(([, named]) => named);
      await Promise.all(group.map(({ kernel }) => cpu.load(kernel)));
      await expectDenormals(group.map(({ name }) => name).join(', '));
    }
  });

  it('are not the only code: built-in functions leave denormals alone too', async () => {
    using x = await tensor(smallest, { shape: [3, 1], dtype: 'float64', device: cpu });
    using index = await tensor(Int32Array.of(2, 0, 1), { device: cpu });
    const sums = await scatterAdd(x, index, 3);
    expect([...(await sums.toTypedArray())]).toEqual([smallest[1], smallest[2], smallest[0]]);
    expect([...(await gatherRows(sums, index).toTypedArray())]).toEqual(smallest);
    expect([...(await x.sumTo([1, 1]).toTypedArray())]).toEqual([smallest[2]]);
    const float32 = await x.cast('float32');
    expect([...(await float32.cast('float64').toTypedArray())]).toEqual([0, -0, 0]);
    await expectDenormals('built-in functions');
  });
});
