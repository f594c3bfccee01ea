import { setTimeout as sleep } from 'node:timers/promises';
import { CompileError } from '@mercer/cpu-runtime';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LoadOptions } from './device.js';
import { Executable, type CompileOptions, type ExecutableParts } from './executable.js';

/* Which way a call takes, without a compiler: the ways are promises that the test settles. */

interface Started {
  readonly options: CompileOptions;
  readonly resolve: (form: string) => void;
  readonly reject: (error: Error) => void;
}

let compiles: Started[];
let ways: 'either' | 'compiled' | 'interpreted';
let compileMs: number;
let interpreterMs: number;
let interpreted: () => Promise<string>;
let executable: Executable<string>;
let interpretedFor: unknown[];

beforeEach(() => {
  compiles = [];
  interpretedFor = [];
  ways = 'either';
  compileMs = 100;
  interpreterMs = 1;
  interpreted = () => Promise.resolve('interpreted');
  const parts: ExecutableParts<string> = {
    name: 'a kernel',
    compileTimeoutMs: () => 30_000,
    ways: () => Promise.resolve(ways),
    compileMs: () => Promise.resolve(compileMs),
    compiled: (options) =>
      new Promise((resolve, reject) => {
        options.signal?.addEventListener('abort', () => {
          reject(options.signal?.reason as Error);
        });
        compiles.push({ options, resolve, reject });
      }),
    asked: () => Promise.resolve('asked'),
    interpreted: async (_, debug) => {
      interpretedFor.push(debug);
      const form = await interpreted();
      return { form, milliseconds: (values) => values * interpreterMs };
    },
  };
  executable = new Executable(parts);
});

const started = async (): Promise<Started> => {
  await vi.waitFor(() => {
    expect(compiles).not.toEqual([]);
  });
  return compiles.at(-1) as Started;
};

const isPending = async (call: Promise<unknown>): Promise<boolean> =>
  (await Promise.race([call.catch(() => undefined), sleep(20, 'pending')])) === 'pending';

const failed = new CompileError('COMPILE_FAILED', 'no such type', { log: '', source: '' });
const tooLong = new CompileError('COMPILE_TIMEOUT', 'was not done', { log: '', source: '' });

describe('a call that says what it computes', () => {
  it('is interpreted while its kernels are compiled, and later calls use those', async () => {
    expect(await executable.load({ values: 1 })).toBe('interpreted');
    expect(await executable.load({ values: 100 })).toBe('interpreted');
    const { options, resolve } = await started();
    expect(options.behind?.()).toBe(true);
    resolve('compiled');
    await sleep(0);
    expect(await executable.load({ values: 1 })).toBe('compiled');
    expect(compiles).toHaveLength(1);
  });

  it('waits where the interpreter would take longer than the compiler', async () => {
    const call = executable.load({ values: 101 });
    const { options, resolve } = await started();
    expect(await isPending(call)).toBe(true);
    expect(options.behind?.()).toBe(false);
    resolve('compiled');
    expect(await call).toBe('compiled');
  });

  it('waits where the interpreter does not take it', async () => {
    interpreted = () => Promise.reject(new Error('no such operation'));
    const call = executable.load({ values: 1 });
    const { resolve } = await started();
    expect(await isPending(call)).toBe(true);
    resolve('compiled');
    expect(await call).toBe('compiled');
  });

  it('takes what is compiled before the interpreter is ready', async () => {
    interpreted = () => new Promise(() => undefined);
    const call = executable.load({ values: 1 });
    (await started()).resolve('compiled');
    expect(await call).toBe('compiled');
  });

  it('takes what is in the cache', async () => {
    compileMs = 0;
    const call = executable.load({ values: 1 });
    (await started()).resolve('from the cache');
    expect(await call).toBe('from the cache');
  });

  it('waits where the environment names compiled kernels', async () => {
    ways = 'compiled';
    const call = executable.load({ values: 1 });
    (await started()).resolve('compiled');
    expect(await call).toBe('compiled');
  });

  it('compiles nothing where the environment names the interpreter', async () => {
    ways = 'interpreted';
    expect(await executable.load({})).toBe('interpreted');
    expect(compiles).toEqual([]);
  });
});

describe('a call that says nothing', () => {
  it('waits for the compile that another left behind, which then goes before others', async () => {
    expect(await executable.load({ values: 1 })).toBe('interpreted');
    const { options, resolve } = await started();
    expect(options.behind?.()).toBe(true);
    const prepared = executable.load({});
    expect(await isPending(prepared)).toBe(true);
    expect(options.behind?.()).toBe(false);
    resolve('compiled');
    expect(await prepared).toBe('compiled');
    expect(compiles).toHaveLength(1);
  });
});

describe('a compile that fails', () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  beforeEach(() => process.on('unhandledRejection', note));
  afterEach(() => process.off('unhandledRejection', note));

  it('behind, leaves the interpreter; who waits is told why, each time', async () => {
    expect(await executable.load({ values: 1 })).toBe('interpreted');
    (await started()).reject(failed);
    await sleep(0);
    expect(await executable.load({ values: 1000 })).toBe('interpreted');
    expect(compiles).toHaveLength(1);
    const prepared = executable.load({});
    await vi.waitFor(() => {
      expect(compiles).toHaveLength(2);
    });
    compiles[1]?.reject(failed);
    await expect(prepared).rejects.toBe(failed);
    await sleep(0);
    expect(unhandled).toEqual([]);
  });

  it('before the interpreter is ready, is no failure of the call', async () => {
    let ready: (form: string) => void = () => undefined;
    interpreted = () => new Promise((resolve) => (ready = resolve));
    const call = executable.load({ values: 1 });
    (await started()).reject(failed);
    await sleep(0);
    ready('interpreted');
    expect(await call).toBe('interpreted');
    expect(unhandled).toEqual([]);
  });

  it('is a failure of the call that waits for it', async () => {
    const call = executable.load({ values: 1000 });
    (await started()).reject(failed);
    await expect(call).rejects.toBe(failed);
  });

  it('by its time, makes the interpreter compute this call and later ones, said once', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const call = executable.load({});
    (await started()).reject(tooLong);
    expect(await call).toBe('interpreted');
    expect(await executable.load({})).toBe('interpreted');
    expect(compiles).toHaveLength(1);
    expect(warned).toHaveBeenCalledTimes(1);
    warned.mockRestore();
  });
});

describe('a signal', () => {
  const reason = new Error('given up');

  it('concerns what the call waits for: the compile behind goes on', async () => {
    const controller = new AbortController();
    const call = executable.load({ values: 1, signal: controller.signal });
    expect(await call).toBe('interpreted');
    controller.abort(reason);
    const { options, resolve } = await started();
    expect(options.signal?.aborted).toBe(false);
    resolve('compiled');
    await sleep(0);
    expect(await executable.load({ values: 1 })).toBe('compiled');
  });

  it('ends the compile that nobody else wants', async () => {
    const controller = new AbortController();
    const call = executable.load({ values: 1000, signal: controller.signal });
    const { options } = await started();
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(options.signal?.aborted).toBe(true);
    const again = executable.load({ values: 1000 });
    await vi.waitFor(() => {
      expect(compiles).toHaveLength(2);
    });
    compiles[1]?.resolve('compiled');
    expect(await again).toBe('compiled');
  });

  it('ends a call whose plan for the interpreter is not made yet', async () => {
    interpreted = () => new Promise(() => undefined);
    const controller = new AbortController();
    const call = executable.load({ values: 1, signal: controller.signal });
    await started();
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  it('that has aborted ends the call before anything is begun', async () => {
    const call = executable.load({ values: 1, signal: AbortSignal.abort(reason) });
    await expect(call).rejects.toBe(reason);
    expect(compiles).toEqual([]);
  });
});

describe('debug', () => {
  const loads = async (debug: LoadOptions['debug']): Promise<string> => {
    const call = executable.load({ debug });
    await sleep(0);
    compiles.at(-1)?.resolve(`form ${compiles.length}`);
    return call;
  };

  it('is of each call: a form that prints is of no other, and none prints for who asked for nothing', async () => {
    const print = (): void => undefined;
    expect(await loads(undefined)).toBe('form 1');
    expect(await loads(print)).toBe('form 2');
    expect(await loads(print)).toBe('form 2');
    expect(await loads(false)).toBe('form 3');
    expect(await loads(undefined)).toBe('form 3');
    expect(compiles.map(({ options }) => options.debug)).toEqual([undefined, print, false]);
  });

  it('is of what is interpreted too', async () => {
    ways = 'interpreted';
    const print = (): void => undefined;
    for (const debug of [undefined, print, print, undefined]) await executable.load({ debug });
    expect(interpretedFor).toEqual([undefined, print, undefined]);
  });
});
