import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-warm-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('mercer cache warm', () => {
  it('compiles descriptors into the store, from which a later program computes', async () => {
    const store = { MERCER_CACHE_DIR: join(folder, 'store'), MERCER_CACHE: 'rw' };
    const dir = ['--dir', join(folder, 'store')];
    const args = [
      'cache',
      'warm',
      '--descriptors',
      'laplace,euclidean',
      '--dtype',
      'float32,float64',
    ];
    const warmed = (await mercerJson(args, store)) as { kernels: number; ms: number };
    expect(warmed).toMatchObject({
      device: 'cpu',
      descriptors: ['laplace', 'euclidean'],
      dtypes: ['float32', 'float64'],
      layouts: ['rrr'],
    });
    expect(warmed.kernels).toBeGreaterThanOrEqual(4);
    const list = (await mercerJson(['cache', 'list'], store)) as { key: string }[];
    expect(list.length).toBe(warmed.kernels);
    // The second time everything is found.
    expect(await mercerJson([...args, ...dir])).toMatchObject({ kernels: warmed.kernels });
    const found = (await mercerJson(['cache', 'list', ...dir])) as { key: string }[];
    expect(found.map(({ key }) => key).sort()).toEqual(list.map(({ key }) => key).sort());
  });

  it('refuses names and layouts that there are not', async () => {
    for (const [args, why] of [
      [['--descriptors', 'l3Norm'], /'l3Norm' is none of manhattan, euclidean/],
      [['--layouts', 'rr'], /three letters r or c/],
      [['--dtype', 'float16'], /none of float32, float64/],
    ] as const) {
      const run = await mercer(['cache', 'warm', ...args]);
      expect([run.status, run.stdout]).toEqual([2, '']);
      expect(run.stderr).toMatch(why);
    }
  });
});
