import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { OptimRow } from '../bench/optim/optim-row.js';
import { pythonThat } from '../testing/python-that.test-support.js';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';

let folder = '';
// What is computed is small, and kernels have tests of their own: compiling them would take most of the time.
beforeAll(() => vi.stubEnv('MERCER_CPU', 'interpreted'));
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-bench-optim-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const ON_CPU = ['bench', 'optim', '--device', 'cpu', '--brief'];

describe('mercer bench optim', () => {
  it('times steps of each optimiser with errors against float64, and shows torch beside them', async () => {
    const us = { median: 7.5, p10: 7, p90: 9, count: 50 };
    const row = (operation: string) => ({
      operation,
      library: 'torch',
      way: 'fused',
      n: 5,
      tensors: 1,
      us,
    });
    const rows = [row('adam'), row('other')];
    const answer = JSON.stringify({
      versions: { torch: '0' },
      missing: ['torch muon: none'],
      rows,
    });
    const python = await pythonThat(folder, `echo '${answer}'`);
    const out = join(folder, 'optim.json');
    const report = (await mercerJson([...ON_CPU, '--python', python, '--out', out])) as {
      readonly rows: readonly OptimRow[];
    };
    expect(JSON.parse(await readFile(out, 'utf8'))).toEqual(report);
    expect(report).toMatchObject({
      schema: 1,
      suite: 'optim',
      device: { id: 'cpu' },
      peers: { versions: { torch: '0' }, missing: ['torch muon: none'], rows: [row('adam')] },
    });
    expect(
      report.rows.map(({ operation, way, n, tensors }) => `${operation} ${n} ${tensors} ${way}`),
    ).toEqual([
      'sgd 100000 100 step',
      'sgd 100000 100 replayed',
      'sgd 100000 100 replayed, gradients not looked at',
      'adam 100000 100 step',
      'adam 100000 100 replayed',
      'adam 100000 100 replayed, gradients not looked at',
      'adamW 100000 100 step',
      'adamW 100000 100 replayed',
      'adamW 100000 100 replayed, gradients not looked at',
      'muon 16384 4 step',
      'muon 16384 4 replayed',
      'lbfgs 100000 1 step',
      'shampoo 442 4 training step with adam',
      'shampoo 442 4 training step with adam, replayed',
      'shampoo 442 4 training step with shampoo',
      'shampoo 442 4 training step with shampoo, refreshed beside',
      'shampoo 442 4 training step with shampoo, replayed',
      'shampoo 442 4 refresh of shampoo by eigenvalues, called',
      'shampoo 442 4 training step with shampoo, replayed, with a replayed refresh by products',
      'shampoo 442 4 training step with shampoo, replayed, no refresh',
      'shampoo 442 4 refresh of shampoo by products, replayed',
      'shampoo 442 4 training step with shampoo, replayed, with a replayed refresh by products of higher order',
      'shampoo 442 4 refresh of shampoo by products of higher order, replayed',
      'shampoo 442 4 training step with shampoo, replayed in tf32, with a replayed refresh by products',
      'roots 4096 1 eigh',
      'roots 4096 1 newton',
      'roots 4096 1 higherOrder',
      'perSample 62080 4 gradients of each example',
      'perSample 62080 4 gradients of each example, replayed',
      'perSample 62080 4 their norms',
      'perSample 62080 4 their norms, replayed',
      'perSample 50176 1 outer products alone, by a map',
      'perSample 50176 1 outer products alone, by batched products',
    ]);
    for (const {
      operation,
      way,
      us: time,
      shared,
      error,
      failures,
      floorUs,
      host,
    } of report.rows) {
      expect(time.median).toBeGreaterThan(0);
      if (operation === 'roots') expect(error).toBeLessThan(2e-3);
      expect(failures).toBe(way.includes('shampoo') ? 0 : undefined);
      if (operation === 'shampoo') expect(error).toBeUndefined();
      if (way.startsWith('training step')) {
        const refreshes = way.includes('shampoo') && !way.endsWith('no refresh') ? 1 : 0;
        expect(shared).toEqual({ steps: 4, refreshes });
      }
      if (way.startsWith('gradients of each example')) expect(error).toBeLessThan(1e-5);
      if (!['sgd', 'adam', 'adamW', 'muon'].includes(operation)) continue;
      expect(host).toMatchObject({ idleUs: { count: 2 } });
      if (operation === 'muon') continue;
      expect(error).toBeLessThan(1e-6);
      expect(floorUs).toBeGreaterThan(0);
    }
  }, 180_000);

  it('measures what is named, and refuses names that are none', async () => {
    const named = await mercer([...ON_CPU, '--operations', 'lbfgs', '--no-peers']);
    expect(named.stdout).toMatch(/lbfgs, 100000 in 1\s.*mercer, step\s.* us/);
    expect(named.stdout).not.toMatch(/adam|Not measured/);
    const wrong = await mercer([...ON_CPU, '--operations', 'adams']);
    expect(wrong.status).not.toBe(0);
    expect(wrong.stderr).toMatch(
      /'adams' is none of sgd, adam, adamW, muon, lbfgs, shampoo, roots, perSample/,
    );
  });
});
