import { execFile } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import * as mercer from './index.js';

/* What runs the first calls of kernels, with a compiler that the test lets go on. */

const folder = mkdtempSync(join(tmpdir(), 'mercer-first-calls-'));
const place = { device: 'cpu' } as const;
let real = '';
let number = Math.random();

/** Another number makes another kernel. */
const newNumber = (): number => (number += 1);

/** Compilers that were started: each makes a folder. */
const started = (): number =>
  readdirSync(folder).filter((name) => name.startsWith('compiler-')).length;

/** Lets the compilers go on: all, or those that were started first. */
const release = (how: 'all' | number = 'all'): void => {
  writeFileSync(join(folder, `go-${how}`), '');
};

beforeAll(async () => {
  // Not the one that compiles tests' kernels with fewer optimizations: this test makes a compiler of its own of it.
  vi.stubEnv('CXX', undefined);
  real = (await mercer.cpu.findCompiler()).path;
  const path = join(folder, 'slow');
  const machine = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
  writeFileSync(
    path,
    `#!/bin/sh
case "$1" in
--version) echo "g++ (Slow) 12.2.0";;
-dumpmachine) echo ${machine};;
-dumpversion) echo 12;;
*)
  mine=1
  while ! mkdir ${folder}/compiler-$mine 2>/dev/null; do mine=$((mine + 1)); done
  while [ ! -e ${folder}/go-all ] && [ ! -e ${folder}/go-$mine ]; do sleep 0.02; done
  if [ -e ${folder}/fails ]; then echo "error: out of ideas" >&2; exit 1; fi
  exec ${real} "$@";;
esac
`,
  );
  chmodSync(path, 0o755);
  mkdirSync(join(folder, 'tmp'));
  vi.stubEnv('CXX', path);
  vi.stubEnv('TMPDIR', join(folder, 'tmp'));
  mercer.configureJitCache({ directory: join(folder, 'store') });
});
beforeEach(() => {
  vi.stubEnv('MERCER_CPU', undefined);
});
afterEach(async () => {
  await mercer.closeJitCache();
  mercer.configureJitCache({ directory: join(folder, 'store') });
  for (const name of readdirSync(folder)) {
    if (/^(compiler-|go-|fails)/.test(name)) rmSync(join(folder, name), { recursive: true });
  }
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const points = (): Promise<mercer.Tensor<'float32'>> =>
  mercer.tensor(
    [
      [0, 0],
      [3, 4],
      [1, 1],
    ],
    { ...place, dtype: 'float32' },
  );

/** The square of a distance times a number, which is built in. */
const scaled = (factor: number): mercer.KernelDescriptor =>
  mercer.kernelDescriptor({
    innerOperator: 'diff',
    innerPower: 'square',
    outerPower: 'none',
    kernel: mercer.customKernel(mercer.formula.mul(mercer.formula.variable('d'), factor)),
  });

const distances = async (
  factor: number,
  options?: { readonly signal?: AbortSignal },
): Promise<mercer.Tensor> => {
  using x = await points();
  return await mercer.runKernel(scaled(factor), x, x, { symmetric: false, ...options });
};

const cores = (): number => {
  const { limits } = mercer.device('cpu');
  return limits.kind === 'cpu' ? limits.cores : 1;
};

/** A formula that takes the interpreter long for all pairs of some thousand rows. */
function longChain(x: mercer.Tensor<'float32'>): mercer.LazyTensor {
  let chain = mercer.lazyI(x).sqdist(mercer.lazyJ(x)).add(newNumber());
  for (let n = 0; n < 100; n++) chain = chain.sin();
  return chain;
}

/** Waits until expectations are met, however busy the machine is. */
const soon = (met: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(met, { timeout: 20_000 });

const executorOf = (result: mercer.Tensor): string | undefined => mercer.planOf(result)?.executor;

const untilCompiled = (call: () => Promise<mercer.Tensor>): Promise<void> =>
  soon(async () => expect(executorOf(await call())).toBe('compiled'));

const isPending = async (call: Promise<unknown>): Promise<boolean> => {
  const settled = call.then(
    () => false,
    () => false,
  );
  return Promise.race([settled, new Promise<true>((resolve) => setTimeout(resolve, 100, true))]);
};

describe('the first call', () => {
  it('does not wait for the compiler, whose kernel a later call uses', async () => {
    const factor = newNumber();
    const first = await distances(factor);
    expect(executorOf(first)).toBe('interpreted');
    await soon(() => {
      expect(started()).toBe(1);
    });
    expect(executorOf(await distances(factor))).toBe('interpreted');
    release();
    await untilCompiled(() => distances(factor));
    expect(started()).toBe(1);
    for (const result of [first, await distances(factor)]) {
      expect((await result.toTypedArray())[1]).toBeCloseTo(25 * factor, 3);
    }
  });

  it('of a reduction and of map does not either', async () => {
    const profile = mercer.startProfile();
    using x = await points();
    const { add, mul, variable } = mercer.formula;
    const factor = newNumber();
    await mercer.map(mul(add(variable('x'), factor), variable('x')), { x });
    await mercer.lazyI(x).sqdist(mercer.lazyJ(x)).add(factor).sum('j');
    await mercer.device('cpu').synchronize();
    const records = await profile.stop();
    expect(records.map(({ executor }) => executor)).toEqual(records.map(() => 'interpreted'));
    expect(records.length).toBeGreaterThanOrEqual(2);
  });

  it('of a reduction is told by its result, as the later call that is compiled is', async () => {
    using x = await points();
    const squares = mercer.lazyI(x).sqdist(mercer.lazyJ(x)).add(newNumber());
    const nearest = async (): Promise<mercer.Tensor[]> => {
      const { values, indices } = await squares.minArgMin('j');
      return [values, indices];
    };
    const told = async (): Promise<unknown[]> =>
      (await nearest()).map((one) => mercer.planOf(one)?.executor);
    expect(await told()).toEqual(['interpreted', 'interpreted']);
    release();
    await soon(async () => expect(await told()).toEqual(['compiled', 'compiled']));
  });

  it('of a map, a chain and gradients is told by its results too', async () => {
    using x = await points();
    const g = await mercer.full([3, 3], newNumber(), place);
    const c = newNumber();
    const doubled = mercer.formula.mul(mercer.formula.variable('x'), c);
    const calls: readonly (() => PromiseLike<mercer.Tensor | Readonly<Record<string, unknown>>>)[] =
      [
        () => mercer.map(doubled, { x }),
        () => x.mul(x).sin().add(x).exp(),
        () => mercer.cdistBackward(g, x, x, { p: 1.3 }),
        () => mercer.runKernelBackward(scaled(c), g, x, x),
      ];
    const told = async (): Promise<unknown[]> => {
      const results = await Promise.all(calls.map(async (call) => call()));
      return results.flatMap((one) =>
        ('shape' in one ? [one] : Object.values(one)).map((each) =>
          executorOf(each as mercer.Tensor),
        ),
      );
    };
    const first = await told();
    expect(first.length).toBeGreaterThan(calls.length);
    expect(first).toEqual(first.map(() => 'interpreted'));
    release();
    await soon(async () => expect(await told()).toEqual(first.map(() => 'compiled')));
  });

  it('with ranges is predicted by the pairs of its ranges, on either side and of nonzero', async () => {
    const rows = 2000 * Math.ceil(Math.sqrt(cores()));
    using x = await mercer.full([rows, 1], 1, place);
    const one = [[0, 3]] as const;
    const ranges = mercer.rangesFromMatrix(one, one, [[true]]);
    const chain = (): mercer.LazyTensor => longChain(x);
    for (const side of ['i', 'j'] as const) {
      const sums = await chain().sum(side, { ranges });
      expect(executorOf(sums)).toBe('interpreted');
    }
    const found = await chain().ge(-1).nonzero('j', { ranges });
    expect(await found.indices.toTypedArray()).toEqual(Int32Array.of(0, 1, 2, 0, 1, 2, 0, 1, 2));
  });

  it('of what holds no formula starts no compiler, whatever MERCER_CPU says', async () => {
    for (const executor of [undefined, 'compiled', 'interpreted']) {
      vi.stubEnv('MERCER_CPU', executor);
      const profile = mercer.startProfile();
      using x = await points();
      using index = await mercer.tensor(Int32Array.of(1, 0), place);
      await x.cast('float64');
      await x.transpose().contiguous();
      await mercer.full([1e6], 1, place);
      await x.sumTo([1, 2]);
      await mercer.gatherRows(x, index);
      await mercer.countRows(index, 2);
      await mercer.scatterAdd.prepare(await mercer.gatherRows(x, index), index, 2);
      await mercer.device('cpu').synchronize();
      const records = await profile.stop();
      expect(records.length).toBeGreaterThanOrEqual(6);
      expect(records.map((record) => record.executor)).toEqual(records.map(() => undefined));
    }
    expect(started()).toBe(0);
  });

  it('is what MERCER_CPU=interpreted gives, bit by bit', async () => {
    const factor = newNumber();
    const first = await distances(factor);
    vi.stubEnv('MERCER_CPU', 'interpreted');
    // another size makes another plan
    using x = await mercer.tensor(
      [
        [0, 0],
        [3, 4],
        [1, 1],
        [2, 2],
      ],
      { ...place, dtype: 'float32' },
    );
    const all = await mercer.runKernel(scaled(factor), x, x, { symmetric: false });
    expect(executorOf(all)).toBe('interpreted');
    using part = all.slice([0, 3], [0, 3]);
    expect(await part.toNested()).toEqual(await first.toNested());
  });

  it('waits where MERCER_CPU is compiled', async () => {
    vi.stubEnv('MERCER_CPU', 'compiled');
    const call = distances(newNumber());
    await soon(() => {
      expect(started()).toBe(1);
    });
    expect(await isPending(call)).toBe(true);
    release();
    expect(executorOf(await call)).toBe('compiled');
  });

  it('waits where it computes so much that the compiler is sooner done', async () => {
    const rows = 2000 * Math.ceil(Math.sqrt(cores()));
    using x = await mercer.full([rows, 1], 1, place);
    const controller = new AbortController();
    const call = longChain(x).sum('j', { signal: controller.signal });
    await soon(() => {
      expect(started()).toBeGreaterThan(0);
    });
    expect(await isPending(call)).toBe(true);
    controller.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
  });
});

describe('prepare', () => {
  it('waits for the compiled kernel, also where a call has left its compile behind', async () => {
    const factor = newNumber();
    await distances(factor);
    using x = await points();
    const preparing = mercer.runKernel.prepare(scaled(factor), x, x, { symmetric: false });
    await soon(() => {
      expect(started()).toBe(1);
    });
    expect(await isPending(preparing)).toBe(true);
    release();
    const prepared = await preparing;
    expect(executorOf(prepared(x, x))).toBe('compiled');
  });

  it('of a reduction and precompile wait as well', async () => {
    using x = await points();
    const sum = mercer.lazyI(x).sqdist(mercer.lazyJ(x)).add(newNumber()).reduction('Sum', 'j');
    const layouts = [['row', 'row', 'row']] as const;
    const sizes = [{ m: 3, n: 3, k: 2 }];
    const descriptor = scaled(newNumber());
    for (const begin of [
      () => sum.prepare([]),
      () => mercer.precompile([descriptor], { ...place, layouts, sizes }),
    ]) {
      const call = begin();
      expect(await isPending(call)).toBe(true);
      release();
      await call;
      rmSync(join(folder, 'go-all'));
    }
  });
});

describe('a compile that fails behind', () => {
  it('leaves the interpreter, without a word; prepare says why', async () => {
    const emitted = vi.spyOn(process, 'emitWarning');
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    const factor = newNumber();
    expect(executorOf(await distances(factor))).toBe('interpreted');
    writeFileSync(join(folder, 'fails'), '');
    release();
    await soon(async () => {
      expect((await mercer.jitCache().stats()).counters.failures).toBe(1);
    });
    expect(executorOf(await distances(factor))).toBe('interpreted');
    expect(started()).toBe(1);
    // What nobody was told stands in the store, where `mercer doctor` finds it.
    const [failure] = await mercer.jitCache().failures();
    expect(failure?.message).toMatch(/^compiling a kernel failed: /);
    using x = await points();
    await expect(
      mercer.runKernel.prepare(scaled(factor), x, x, { symmetric: false }),
    ).rejects.toMatchObject({
      code: 'COMPILE_FAILED',
    });
    expect(unhandled).toEqual([]);
    expect(emitted).not.toHaveBeenCalled();
    process.off('unhandledRejection', note);
    emitted.mockRestore();
  });
});

describe('a signal', () => {
  it('given to a call that was interpreted does not end the compile behind', async () => {
    const factor = newNumber();
    const controller = new AbortController();
    await distances(factor, { signal: controller.signal });
    controller.abort(new Error('over'));
    release();
    await untilCompiled(() => distances(factor));
    expect(started()).toBe(1);
  });
});

it('the pairs of nonzero are counted and written by one executor', async () => {
  using x = await points();
  const near = (): Promise<unknown> =>
    mercer.lazyI(x).sqdist(mercer.lazyJ(x)).lt(bound).nonzero('j');
  const bound = newNumber();
  await near();
  await soon(() => {
    expect(started()).toBe(2);
  });
  release(1); // of two kernels
  await soon(async () => {
    expect((await mercer.jitCache().stats()).counters.compiles).toBe(1);
  });
  const profile = mercer.startProfile();
  await near();
  await mercer.device('cpu').synchronize();
  const all = await profile.stop();
  const passes = all.filter(({ name }) => /^(map-reduce|selection) /.test(name));
  const executors = passes.map(({ executor }) => executor);
  expect(executors).toHaveLength(2);
  expect(new Set(executors).size).toBe(1);
});

it('closing the cache ends compiles that nobody waits for; a later call begins another', async () => {
  const factor = newNumber();
  await distances(factor);
  await soon(() => {
    expect(started()).toBe(1);
  });
  await mercer.closeJitCache(); // which would wait for ever
  expect(process.getActiveResourcesInfo()).not.toContain('ProcessWrap');
  mercer.configureJitCache({ mode: 'off' });
  release();
  await untilCompiled(() => distances(factor));
});

/** Processes that work below a folder for temporary files: the compiler, what it started, and their guard. */
const atWork = (temporary: string): string[] =>
  readdirSync('/proc').filter((entry) => {
    try {
      return (
        /^\d+$/.test(entry) &&
        readFileSync(`/proc/${entry}/environ`, 'latin1').includes(`TMPDIR=${temporary}/`) &&
        !readFileSync(`/proc/${entry}/stat`, 'latin1').includes(') Z ')
      );
    } catch {
      return false; // ended meanwhile
    }
  });

describe('a program that ends during a compile behind', () => {
  it.each([
    ['by itself', ''],
    ['with the cache closed', 'await closeJitCache();'],
    ['by process.exit', 'process.exit();'],
  ])('%s, does not wait for it, and leaves neither compiler nor folder', async (_, end) => {
    const temporary = mkdtempSync(join(folder, 'tmp-'));
    const cache = mkdtempSync(join(folder, 'cache-'));
    const body = `
      import { existsSync } from 'node:fs';
      import { closeJitCache, formula, map, tensor } from ${JSON.stringify(import.meta.resolve('@mercer/core'))};
      const x = await tensor([1, 2], { device: 'cpu' });
      const v = formula.variable('x');
      const y = await map(formula.mul(formula.add(v, ${newNumber()}), v), { x });
      console.log((await y.toTypedArray()).length);
      while (!existsSync(${JSON.stringify(join(folder, 'compiler-1'))})) await new Promise((r) => setTimeout(r, 5));
      ${end}`;
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '-e', body],
      // what waits for the compiler is killed, which is an error here
      {
        timeout: 30_000,
        env: { ...process.env, MERCER_DEVICE: 'cpu', MERCER_CACHE_DIR: cache, TMPDIR: temporary },
      },
    );
    expect({ stdout, stderr }).toEqual({ stdout: '2\n', stderr: '' });
    await vi.waitFor(
      () => {
        expect({ left: atWork(temporary), folders: readdirSync(temporary) }).toEqual({
          left: [],
          folders: [],
        });
      },
      { timeout: 20_000 },
    );
  });

  it('ends with its first compile under way where a call waits for it too', async () => {
    // the first call leaves the compile behind, the second waits for it: the program lives until it is done
    const body = `
      import { lazyI, lazyJ, tensor } from ${JSON.stringify(import.meta.resolve('@mercer/core'))};
      const x = await tensor([[1], [2]], { device: 'cpu' });
      const sum = lazyI(x).sqdist(lazyJ(x)).add(${newNumber()}).reduction('Sum', 'j');
      await sum.call([]);
      await sum.prepare([]);
      console.log('prepared');`;
    const running = promisify(execFile)(process.execPath, ['--input-type=module', '-e', body], {
      timeout: 30_000,
      env: { ...process.env, MERCER_DEVICE: 'cpu', MERCER_CACHE: 'off' },
    });
    await soon(() => {
      expect(started()).toBe(1);
    });
    expect(await isPending(running)).toBe(true);
    release();
    expect(await running).toMatchObject({ stdout: 'prepared\n', stderr: '' });
  });
});
