import { device, startProfile } from '@mercer/tensor';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { genericSum, lazyI, lazyJ, LazyError, type LazyTensor } from './index.js';

const cpu = device('cpu');
const float64 = { device: cpu, dtype: 'float64' } as const;
const X = [0.25, 0.5, -1];
const Y = [1, -0.5, 0.75, 2];
const column = (values: readonly number[]): number[][] => values.map((value) => [value]);
const before = { executor: process.env['MERCER_CPU'], timeout: cpu.compileTimeoutMs };

afterEach(() => {
  cpu.compileTimeoutMs = before.timeout;
  if (before.executor === undefined) delete process.env['MERCER_CPU'];
  else process.env['MERCER_CPU'] = before.executor;
});

const difference = (): LazyTensor => lazyI(column(X)).sub(lazyJ(column(Y)));

/** The sum over Y of a function of x - y, for each x. */
const sums = (of: (d: number) => number): number[] =>
  X.map((x) => Y.reduce((sum, y) => sum + of(x - y), 0));

async function expectSums(formula: LazyTensor, of: (d: number) => number): Promise<void> {
  const found = await (await formula.sum('j', float64)).toNested<number[][]>();
  found.forEach(([value], n) => {
    expect(value).toBeCloseTo(sums(of)[n]!, 9);
  });
}

/** The sum of sin(k d / 1000) over k. */
function sines(count: number, scale = 1): readonly [LazyTensor, (d: number) => number] {
  const d = difference().mul(scale);
  let all = d.sin();
  for (let k = 1; k < count; k++) all = all.add(d.mul(k / 1000).sin());
  const value = (x: number): number => {
    let sum = Math.sin(scale * x);
    for (let k = 1; k < count; k++) sum += Math.sin((scale * x * k) / 1000);
    return sum;
  };
  return [all, value];
}

/** `f = sin(f) + d`, `steps` times. */
function chain(steps: number, scale = 1): readonly [LazyTensor, (d: number) => number] {
  const d = difference().mul(scale);
  let all = d;
  for (let k = 0; k < steps; k++) all = all.sin().add(d);
  const value = (x: number): number => {
    let f = scale * x;
    for (let k = 0; k < steps; k++) f = Math.sin(f) + scale * x;
    return f;
  };
  return [all, value];
}

/** Formulas of their own for each executor: what one has loaded would serve the other. */
const EXECUTORS = [
  ['compiled', 1],
  ['interpreted', 0.75],
] as const;

describe.each(EXECUTORS)('large formulas where kernels are %s', (executor, scale) => {
  /** Runs calls, of which the interpreter computes all where it is chosen; the compiler leaves some to it. */
  const run = async (calls: () => Promise<void>): Promise<void> => {
    process.env['MERCER_CPU'] = executor;
    const profile = startProfile();
    await calls();
    const ran = (await profile.stop()).map((record) => record.executor);
    expect(ran).not.toHaveLength(0);
    if (executor === 'interpreted') expect(new Set(ran)).toEqual(new Set(['interpreted']));
  };

  it('a sum of 2000 sines', async () => {
    await run(() => expectSums(...sines(2000, scale)));
  });

  it('a sum and a chain of 10,000 nodes', async () => {
    await run(async () => {
      await expectSums(...sines(3334, scale));
      await expectSums(...chain(5000, scale));
    });
  });

  it('soft dynamic time warping of long series', async () => {
    const dim = 24;
    const series = (count: number, step: number): number[][] =>
      Array.from({ length: count }, (_, row) =>
        Array.from({ length: dim }, (__, k) => Math.sin(row + k * step)),
      );
    const [a, b] = [series(2, 0.3), series(3, 0.2)];
    const warped = genericSum(`SoftDTW_SqDist(x, y, ${scale})`, 'out = Vi(1)', [
      `x = Vi(0, ${dim})`,
      `y = Vj(1, ${dim})`,
    ]);
    let found: number[][] = [];
    await run(async () => {
      found = await (await warped(a, b, { device: cpu, dtype: 'float64' })).toNested();
    });
    a.forEach((x, n) => {
      const expected = b.reduce((sum, y) => sum + softDtw(x, y, scale), 0);
      expect(found[n]?.[0]).toBeCloseTo(expected, 8);
    });
  });
});

/** The recursion of Cuturi and Blondel. */
function softDtw(x: readonly number[], y: readonly number[], gamma: number): number {
  let previous: number[] = [];
  for (const xi of x) {
    const row: number[] = [];
    y.forEach((yj, j) => {
      const before = [previous[j - 1], previous[j], row[j - 1]].filter((r) => r !== undefined);
      const soft =
        before.length === 0
          ? 0
          : -gamma * Math.log(before.reduce((sum, r) => sum + Math.exp(-r / gamma), 0));
      row.push((xi - yj) ** 2 + soft);
    });
    previous = row;
  }
  return previous.at(-1)!;
}

describe('a compiler that takes too long', () => {
  it.each([
    ['written out', 2],
    ['with loops', 40],
  ])('is killed, and the interpreter computes a formula %s', async (_, dim) => {
    process.env['MERCER_CPU'] = 'compiled';
    cpu.compileTimeoutMs = 1;
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    try {
      const rows = (count: number): number[][] =>
        Array.from({ length: count }, (_row, n) =>
          Array.from({ length: dim }, (_c, k) => n - k / 7),
        );
      const [a, b] = [rows(3), rows(5)];
      // a number that no other test has, so that nothing is in the cache
      const scale = -0.0123 - dim / 1e6 - Math.random() / 1e9;
      const kernel = lazyI(a).sqdist(lazyJ(b)).mul(scale).exp();
      for (let call = 0; call < 2; call++) {
        const found = await (await kernel.sum('j', { device: cpu })).toNested<number[][]>();
        a.forEach((x, n) => {
          const expected = b.reduce((sum, y) => {
            const squares = x.reduce((s, xk, k) => s + (xk - y[k]!) ** 2, 0);
            return sum + Math.exp(scale * squares);
          }, 0);
          expect(found[n]?.[0]).toBeCloseTo(expected, 4);
        });
        // the second call finds the program and starts no compiler
        if (call === 1) expect(process.getActiveResourcesInfo()).not.toContain('ProcessWrap');
      }
    } finally {
      warned.mockRestore();
    }
  });
});

describe('a signal', () => {
  const reason = new Error('given up');

  it('that has aborted rejects a call before anything is done', async () => {
    const call = difference().sum('j', { ...float64, signal: AbortSignal.abort(reason) });
    await expect(call).rejects.toBe(reason);
  });

  it('rejects a call that is being planned', async () => {
    process.env['MERCER_CPU'] = 'interpreted';
    const [formula] = chain(4000);
    const controller = new AbortController();
    const call = formula.sum('j', { ...float64, signal: controller.signal });
    setTimeout(() => {
      controller.abort(reason);
    }, 5);
    await expect(call).rejects.toBe(reason);
  });

  it('stops the compiler, and another call compiles anew', async () => {
    process.env['MERCER_CPU'] = 'compiled';
    const scale = 0.77 + Math.random() / 1e6;
    const formula = difference().mul(scale).sin();
    const controller = new AbortController();
    const call = formula.sum('j', { ...float64, signal: controller.signal });
    const settled = Promise.allSettled([call]);
    await vi.waitFor(
      () => {
        expect(process.getActiveResourcesInfo()).toContain('ProcessWrap');
      },
      { timeout: 10_000, interval: 1 },
    );
    controller.abort(reason);
    expect(await settled).toEqual([{ status: 'rejected', reason }]);
    await vi.waitFor(() => {
      expect(process.getActiveResourcesInfo()).not.toContain('ProcessWrap');
    });
    await expectSums(formula, (d) => Math.sin(scale * d));
  });

  it('of one call leaves another that shares the work', async () => {
    process.env['MERCER_CPU'] = 'compiled';
    const scale = 0.55 + Math.random() / 1e6;
    const formula = difference().mul(scale).sin();
    const controller = new AbortController();
    const given = formula.sum('j', { ...float64, signal: controller.signal });
    const kept = expectSums(formula, (d) => Math.sin(scale * d));
    const settled = Promise.allSettled([given]);
    setImmediate(() => {
      controller.abort(reason);
    });
    expect(await settled).toEqual([{ status: 'rejected', reason }]);
    await kept;
  });
});

it('what no executor takes is an error that names the number, the limit and a remedy', async () => {
  process.env['MERCER_CPU'] = 'interpreted';
  const long = Array.from({ length: 1 }, () => new Array<number>(600).fill(0.5));
  const product = lazyI(long).tensorprod(lazyJ(long)).sin().add(1).square();
  const call = product.sum('j', { device: cpu });
  await expect(call).rejects.toThrow(LazyError);
  await expect(call).rejects.toMatchObject({ code: 'LIMIT' });
  await expect(call).rejects.toThrow(
    /takes 524288 operations .* takes 1441201 operations, 600 components and 360000 numbers\. Compute parts/s,
  );
});
