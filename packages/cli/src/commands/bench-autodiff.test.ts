import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { AutodiffRow } from '../bench/autodiff/autodiff-row.js';
import { pythonThat } from '../testing/python-that.test-support.js';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';

let folder = '';
// What is computed is small, and kernels have tests of their own: compiling them would take most of the time.
beforeAll(() => vi.stubEnv('MERCER_CPU', 'interpreted'));
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-bench-autodiff-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const ON_CPU = ['bench', 'autodiff', '--device', 'cpu', '--brief'];

describe('mercer bench autodiff', () => {
  it('times each way with its error against float64, and shows the peers beside them', async () => {
    const us = { median: 7.5, p10: 7, p90: 9, count: 50 };
    const row = (operation: string, library: string) => ({
      operation,
      library,
      way: 'eager',
      n: 5,
      us,
      error: 1e-7,
    });
    const rows = [row('expSum', 'torch'), row('map', 'torch')];
    const torch = JSON.stringify({ versions: { torch: '0' }, missing: [], rows });
    const jax = JSON.stringify({ versions: {}, missing: ['jax: none'], rows: [] });
    const python = await pythonThat(
      folder,
      `echo chatter; case "$2" in *jax*) echo '${jax}';; *) echo '${torch}';; esac`,
    );
    const out = join(folder, 'autodiff.json');
    const report = (await mercerJson([...ON_CPU, '--python', python, '--out', out])) as {
      readonly rows: readonly AutodiffRow[];
      readonly peers: { readonly rows: readonly AutodiffRow[] };
    };
    expect(JSON.parse(await readFile(out, 'utf8'))).toEqual(report);
    expect(report).toMatchObject({ schema: 1, suite: 'autodiff', device: { id: 'cpu' } });
    expect(report.rows.map(({ operation, way, n }) => `${operation} ${n} ${way}`)).toEqual([
      'chain 100000 value',
      'chain 100000 gradient',
      'sgdStep 128 recorded anew',
      'sgdStep 128 replayed',
      'sgdStep 128 replayed, TF32 products',
      'expSum 100000 value',
      'broadcast 102400 row and matrix',
      'broadcast 102144 row and matrix of an odd number of columns',
      'broadcast 102399 row and matrix of three columns',
      'broadcast 102400 column and matrix',
      'broadcast 102400 outer products',
      'broadcast 102400 matrix and transposed matrix',
      'gaussianGradient 1000 grad',
      'gaussianGradient 1000 valueAndGradients',
      'gaussianGradient 3000 grad',
      'gaussianGradient 3000 valueAndGradients',
    ]);
    for (const { us: time, error } of report.rows) {
      expect(time.median).toBeGreaterThan(0);
      // what is computed is what the name says, in float32
      expect(error).toBeLessThan(1e-5);
    }
    const [value, gradient, ...others] = report.rows;
    const [sum, steps] = [others[3], others.slice(0, 3)];
    expect(value?.peakSizes).toBeGreaterThanOrEqual(2);
    expect(gradient?.peakSizes).toBeLessThanOrEqual(4);
    for (const { host } of steps) expect(host).toMatchObject({ idleUs: { count: 4 } });
    expect(sum?.floorUs).toBeGreaterThan(0);
    for (const { floorUs } of others.slice(4, 10)) expect(floorUs).toBeGreaterThan(0);
    expect(report.peers).toEqual({
      versions: { torch: '0' },
      missing: ['jax: none'],
      rows: [row('expSum', 'torch')],
    });
  });

  it('measures what is named, and says what stands in the way of peers', async () => {
    const named = [...ON_CPU, '--operations', 'expSum'];
    const broken = await mercer([...named, '--python', await pythonThat(folder, 'exit 3')]);
    expect(broken.status).toBe(0);
    expect(broken.stdout).toMatch(/expSum 100000\s.*mercer, value\s.* us/);
    expect(broken.stdout).not.toMatch(/chain/);
    expect(broken.stdout).toMatch(/Not measured: .*Command failed/);
    const alone = await mercer([...named, '--no-peers']);
    expect(alone.stdout).not.toMatch(/Not measured/);
  });

  it('refuses names and devices that are none', async () => {
    const wrong = await mercer(['bench', 'autodiff', '--operations', 'expSums']);
    expect(wrong.status).not.toBe(0);
    expect(wrong.stderr).toMatch(
      /'expSums' is none of chain, sgdStep, expSum, broadcast, gaussianGradient/,
    );
    const unknown = await mercer(['bench', 'autodiff', '--steps', '3']);
    expect(unknown.status).not.toBe(0);
    expect(unknown.stderr).toMatch(/--steps/);
  });
});
