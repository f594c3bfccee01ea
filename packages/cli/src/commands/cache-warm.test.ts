import { mkdtemp, rm, writeFile } from 'node:fs/promises';
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

  it('compiles the kernels of a formula, which mercer reduce then finds', async () => {
    const store = {
      MERCER_CACHE_DIR: join(folder, 'formula'),
      MERCER_CACHE: 'rw',
      MERCER_CPU: 'compiled',
    };
    const what = ['--formula', 'Exp(-SqDist(x,y))*b', '--alias', 'x=Vi(2)', '--alias', 'y=Vj(2)'];
    const formula = [...what, '--alias', 'b=Vj(1)', '--axis', 'j'];
    const sizes = ['--sizes', '40x50', '--dtype', 'float64'];
    const warmed = (await mercerJson(['cache', 'warm', ...formula, ...sizes], store)) as {
      kernels: number;
    };
    expect(warmed).toMatchObject({
      device: 'cpu',
      formula: 'Exp(-SqDist(x,y))*b',
      reduction: 'Sum',
      axis: 1,
      dtypes: ['float64'],
      sizes: ['40x50'],
      compiled: warmed.kernels,
    });
    expect(warmed.kernels).toBeGreaterThanOrEqual(1);
    // The second time everything is found.
    expect(await mercerJson(['cache', 'warm', ...formula, ...sizes], store)).toMatchObject({
      kernels: warmed.kernels,
      compiled: 0,
    });
    const rows = (count: number, columns: number): string =>
      Array.from({ length: count }, (_, i) =>
        Array.from({ length: columns }, (_, k) => ((7 * i + 3 * k) % 5) / 4).join(','),
      ).join('\n');
    const file = async (name: string, text: string): Promise<string> => {
      await writeFile(join(folder, name), text);
      return join(folder, name);
    };
    const args = ['--arg', `x=${await file('x.csv', rows(40, 2))}`];
    args.push('--arg', `y=${await file('y.csv', rows(50, 2))}`);
    args.push('--arg', `b=${await file('b.csv', rows(50, 1))}`);
    const reduce = [...args, '--dtype', 'float64', '--out', join(folder, 'sums.npy')];
    const found = await mercer(['reduce', ...formula, ...reduce], {
      ...store,
      MERCER_DEBUG: 'jit',
    });
    expect(found.stderr).not.toMatch(/jit: (miss|compiled)/);
    expect([found.status, found.stderr.match(/jit: hit .* from the store/g)?.length]).toEqual([
      0, 1,
    ]);
  });

  it('compiles a few usual calls, which a bundle then gives to a store that has none', async () => {
    const store = { MERCER_CACHE_DIR: join(folder, 'usual'), MERCER_CACHE: 'rw', MERCER_CPU: '' };
    const warm = ['cache', 'warm', '--usual', 'few'];
    const warmed = (await mercerJson(warm, { ...store, MERCER_KERNELS: 'off' })) as {
      kernels: number;
    };
    expect(warmed).toMatchObject({ device: 'cpu', usual: 'few', compiled: warmed.kernels });
    expect(warmed.kernels).toBeGreaterThanOrEqual(8);
    const bundles = join(folder, 'bundles');
    const written = await mercerJson(['cache', 'export', '--out', bundles], store);
    expect(written).toMatchObject([{ kernels: warmed.kernels }]);
    const elsewhere = {
      ...store,
      MERCER_CACHE_DIR: join(folder, 'empty'),
      MERCER_KERNELS: bundles,
    };
    expect(await mercerJson(warm, elsewhere)).toMatchObject({
      kernels: warmed.kernels,
      compiled: 0,
    });
    expect(await mercerJson(['cache', 'list'], elsewhere)).toEqual([]);
    expect(await mercerJson(['cache', 'stats'], elsewhere)).toMatchObject({ bundles: [bundles] });
  });

  it('refuses options of a formula without one, and of descriptors beside one', async () => {
    for (const [args, why] of [
      [['--alias', 'x=Vi(2)'], /--alias says something about a formula\. Add --formula/],
      [
        ['--formula', 'x', '--alias', 'x=Vi(2)', '--layouts', 'rrr'],
        /--layouts is about descriptors, and --formula is given/,
      ],
      [
        ['--formula', 'x', '--alias', 'x=Vi(2)', '--sizes', '10x10x3'],
        /--sizes 10x10x3: the formula says how long its rows are\. Give two numbers, 10x10\./,
      ],
      [['--sizes', '10'], /sizes such as 1000x1000/],
      [['--usual', '--layouts', 'rrr'], /--layouts stands beside --usual/],
      [['--usual', 'most'], /'most' is none of all, few/],
      [['--formula', 'Ex(x)', '--alias', 'x=Vi(2)'], /--formula 'Ex\(x\)'/],
    ] as const) {
      const run = await mercer(['cache', 'warm', ...args]);
      expect([run.status, run.stdout]).toEqual([2, '']);
      expect(run.stderr).toMatch(why);
    }
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
