import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { disposeAll } from '../../tensor/test/aborted-everywhere.mjs';
import * as mercer from './index.js';
import * as npy from './npy.js';
import { undisposedBytes } from '../../tensor/test/memory-kept.mjs';

type Options = mercer.SignalOption & mercer.ProgressOption;

const reason = new Error('given up');
const place = { device: 'cpu' } as const;
/** More than is read in one piece. */
const long = new Float32Array(2 ** 19 + 1).fill(2);
const undisposed = (): number => undisposedBytes(mercer.device('cpu'));
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-progress-'));
  const some = { data: long, shape: [long.length] };
  await npy.writeNpy(join(folder, 'long.npy'), some);
  await npy.writeNpz(join(folder, 'long.npz'), { x: some, y: some }, { compress: true });
  for (const name of ['old.npy', 'old.npz', 'old.bin']) await writeFile(join(folder, name), 'old');
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

describe('progress', () => {
  const steps: mercer.Progress[] = [];
  const onProgress = (step: mercer.Progress): void => void steps.push(step);
  const { byteLength } = long;

  it.each<[string, (o: mercer.ProgressOption) => Promise<unknown>, number]>([
    ['tensor', (o) => mercer.tensor(long, { ...place, ...o }), byteLength],
    ['readNpy', (o) => npy.readNpy(join(folder, 'long.npy'), o), byteLength],
    [
      'writeNpy',
      (o) => npy.writeNpy(join(folder, 'a.npy'), { data: long, shape: [long.length] }, o),
      byteLength,
    ],
    [
      'writeNpz',
      (o) =>
        npy.writeNpz(
          join(folder, 'a.npz'),
          { x: { data: long, shape: [long.length] } },
          { ...o, compress: true },
        ),
      byteLength,
    ],
  ])('of %s counts bytes up to the end', async (_, call, total) => {
    steps.length = 0;
    disposeAll(await call({ onProgress }));
    expect(steps.at(-1)).toEqual({ done: total, total });
    for (const [at, step] of steps.entries()) {
      expect(step.total).toBe(total);
      expect(step.done).toBeGreaterThan(steps[at - 1]?.done ?? 0);
    }
  });

  it('of what calls a function time and again counts steps and directions', async () => {
    const x = await mercer.tensor(
      [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
      { ...place, dtype: 'float64' },
    );
    const step = async (carry: mercer.Tensor, row: mercer.Tensor) =>
      [await carry.add(row), row] as const;
    const sum = async (w: mercer.Tensor): Promise<mercer.Tensor> => w.square().sum();
    const key = mercer.random.key(1);
    const calls: readonly (readonly [total: number, () => Promise<unknown>])[] = [
      [3, () => mercer.scan(step, x.slice(0) as mercer.Tensor, x as mercer.Tensor, { onProgress })],
      [2, () => mercer.checkGradients(sum, [x as mercer.Tensor], { key, onProgress })],
      [
        9,
        () =>
          mercer.checkGradients(sum, [x as mercer.Tensor], {
            key,
            order: 2,
            directions: 3,
            onProgress,
          }),
      ],
    ];
    for (const [total, call] of calls) {
      steps.length = 0;
      disposeAll(await call());
      expect(steps).toEqual(Array.from({ length: total }, (_, at) => ({ done: at + 1, total })));
    }
  });

  it('of readNpz counts the bytes that come out of the members', async () => {
    steps.length = 0;
    await npy.readNpz(join(folder, 'long.npz'), { onProgress });
    const { done, total } = steps.at(-1) ?? { done: 0, total: NaN };
    expect(done).toBe(total);
    expect(total).toBeGreaterThan(2 * byteLength);
    expect(steps.length).toBeGreaterThan(2);
  });

  it('a callback that throws rejects the call with what it throws, and leaves nothing', async () => {
    const failing = {
      onProgress: (): void => {
        throw reason;
      },
    };
    const before = undisposed();
    const some = { data: long, shape: [long.length] };
    for (const call of [
      () => mercer.tensor(long, { ...place, ...failing }),
      () => npy.readNpy(join(folder, 'long.npy'), failing),
      () => npy.readNpz(join(folder, 'long.npz'), failing),
      () => npy.writeNpy(join(folder, 'old.npy'), some, failing),
      () => npy.writeNpz(join(folder, 'old.npz'), { some }, failing),
    ]) {
      await expect(call()).rejects.toBe(reason);
    }
    expect(undisposed()).toBe(before);
    expect(await readFile(join(folder, 'old.npy'), 'utf8')).toBe('old');
  });
});

it('a file that was to be replaced stays where writing is given up, and no other is left', async () => {
  const some = { data: long, shape: [long.length] };
  const files = await readdir(folder);
  for (const [name, write] of [
    ['old.npy', (o: Options) => npy.writeNpy(join(folder, 'old.npy'), some, o)],
    ['old.npz', (o: Options) => npy.writeNpz(join(folder, 'old.npz'), { some }, o)],
  ] as const) {
    const controller = new AbortController();
    const onProgress = (): void => {
      controller.abort(reason);
    };
    await expect(write({ signal: controller.signal, onProgress })).rejects.toBe(reason);
    expect(await readFile(join(folder, name), 'utf8')).toBe('old');
  }
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      await Promise.resolve();
      yield new Uint8Array(2 ** 16);
    }
  }
  const controller = new AbortController();
  setImmediate(() => {
    controller.abort(reason);
  });
  const bin = npy.writeFileWhole(join(folder, 'old.bin'), endless(), { signal: controller.signal });
  await expect(bin).rejects.toBe(reason);
  expect(await readFile(join(folder, 'old.bin'), 'utf8')).toBe('old');
  expect(await readdir(folder)).toEqual(files);
});
