import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { device, tensor } from '@mercer/tensor';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { genred, lazyI, lazyJ } from './index.js';

const cpu = device('cpu');
let collectGarbage: () => void;

beforeAll(() => {
  setFlagsFromString('--expose-gc');
  collectGarbage = runInNewContext('gc') as () => void;
});

/** Images of kernels that are mapped into this process. */
const images = (): number =>
  readFileSync('/proc/self/maps', 'utf8').match(/r-xp .*mercer-kernel/g)?.length ?? 0;

async function heap(): Promise<number> {
  collectGarbage();
  // finalisers of formulas run between tasks
  await new Promise((resolve) => setTimeout(resolve, 20));
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

const isFull = process.env['MERCER_TEST_FULL'] === '1';
const COUNT = isFull ? 20_000 : 5000;
/** What one may add; memories of the last calls and kernels fill up meanwhile. */
const KEPT_BYTES = isFull ? 1500 : 3000;

describe('many different formulas', () => {
  const before = process.env['MERCER_CPU'];
  const limit = cpu.kernelLimit;
  afterEach(() => {
    cpu.kernelLimit = limit;
    if (before === undefined) delete process.env['MERCER_CPU'];
    else process.env['MERCER_CPU'] = before;
  });

  it('thousands of them take a bounded heap on the interpreter', async () => {
    process.env['MERCER_CPU'] = 'interpreted';
    const x = await tensor([[0.5, 1]], { device: cpu });
    const y = await tensor([[1, 2]], { device: cpu });
    const one = async (n: number): Promise<number> => {
      const sums = await lazyI(x)
        .sqdist(lazyJ(y))
        .maximum(n / 7) // a bound stays in the text of the kernel: each is a program
        .neg()
        .exp()
        .sum('j');
      const [[value] = []] = await sums.toNested<number[][]>();
      sums.dispose();
      return value ?? NaN;
    };
    for (let n = 0; n < 200; n++) await one(n);
    const start = await heap();
    for (let n = 200; n < 200 + COUNT; n++) {
      const value = await one(n);
      if (n % 1000 === 0) expect(value).toBeCloseTo(Math.exp(-n / 7), 5);
    }
    expect(((await heap()) - start) / COUNT, 'bytes each').toBeLessThan(KEPT_BYTES);
    expect(await one(201)).toBeCloseTo(Math.exp(-201 / 7), 5);
  }, 300_000);

  it('as many compiled ones are held as the device remembers, and a prepared call computes the same after its were forgotten', async () => {
    cpu.kernelLimit = 4;
    const start = images();
    let most = 0;
    const x = await tensor([[0.5, 1]], { device: cpu });
    const y = await tensor([[1, 2]], { device: cpu });
    // bounds stay in the text of a kernel: each has one of its own
    const scaled = (n: number): string => `Exp(-Clamp(SqDist(x, y), ${n}, 100))`;
    const named = ['x = Vi(2)', 'y = Vj(2)'];
    const prepared = await genred(scaled(0.25), named, { reduction: 'Sum', axis: 1 }).prepare(x, y);
    const value = (n: number): number => Math.exp(-Math.max(1.25, n));
    for (let n = 1; n <= 24; n++) {
      const out = await genred(scaled(n / 4), named, { reduction: 'Sum', axis: 1 })(x, y);
      expect((await out.toNested<number[][]>())[0]?.[0]).toBeCloseTo(value(n / 4), 5);
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, images() - start);
      const again = prepared([x, y]);
      expect((await again.toNested<number[][]>())[0]?.[0]).toBeCloseTo(value(0.25), 5);
    }
    // what is remembered, as much garbage, and what calls made last and the prepared one hold
    expect(most).toBeLessThanOrEqual(14);
  });
});
