import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  cellOf,
  LINEAR_NAMES,
  REDUCTION_NAMES,
  type Cell,
  type LinearCell,
  type ReductionCell,
  type SolverCell,
} from './cells.js';
import { fakeKeops, NVRTC_TRIAL } from './fake-keops.test-support.js';
import { defaultPython, runPeers } from './peers.js';

const cells: Cell[] = [
  { operation: 'cdist', dtype: 'float32', p: 2, m: 20, n: 30, k: 5, batch: 1 },
  { operation: 'cdist', dtype: 'float64', p: Infinity, m: 7, n: 9, k: 3, batch: 2 },
  { operation: 'gaussian', dtype: 'float32', p: 2, m: 8, n: 6, k: 4, batch: 1 },
  { operation: 'weightedDifferences', dtype: 'float32', p: 1, m: 6, n: 4, o: 3, k: 5, batch: 2 },
];
const linear = LINEAR_NAMES.map((operation): LinearCell => {
  const sides = operation.startsWith('solve') ? { rightHandSides: 4 } : {};
  return { operation, dtype: 'float64', n: 20, ...sides, batch: 3 };
});
const reductions = REDUCTION_NAMES.flatMap((operation) =>
  [1, 2].map((batch): ReductionCell => ({
    operation,
    dtype: 'float64',
    m: 8,
    n: 11,
    d: 3,
    batch,
    ...(operation === 'nearest' ? { k: 4 } : {}),
  })),
);
const base = { device: 'cpu', maxSecondsPerCell: 1 } as const;

let folder = '';
const script = async (text: string): Promise<string> => {
  const path = join(folder, 'peer.mjs');
  await writeFile(path, text);
  return path;
};
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-peer-test-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('runPeers', () => {
  it('sends every cell with its operands and collects what comes back', async () => {
    const path = await script(`
      import { readFileSync } from 'node:fs';
      import { createInterface } from 'node:readline';
      const say = (line) => console.log(JSON.stringify(line));
      let first = true;
      for await (const line of createInterface({ input: process.stdin })) {
        const message = JSON.parse(line);
        if (first) {
          console.log('chatter');
          say({ versions: { fake: '1' } });
          if (message.compilation) say({ compilation: { peer: 'fake', descriptors: 7, ms: 3 } });
          if (process.env.XDG_CACHE_HOME === undefined) throw new Error('no cache of its own');
          first = false;
        }
        else {
          const bytes = Object.values(message.operands).map(({ path }) => readFileSync(path).length);
          say({ cell: { ...message, operands: undefined, bytes, peer: 'fake', ms: { median: 1, p10: 1, p90: 1, count: 1 } } });
        }
        say({ ready: true });
      }
    `);
    const python = process.execPath;
    const report = await runPeers(cells, { ...base, python, script: path, compilation: true });
    expect(report).toMatchObject({ found: true, versions: { fake: '1' } });
    expect(report.compilation).toEqual({ peer: 'fake', descriptors: 7, ms: 3 });
    expect(report.reason).toBeUndefined();
    const seen = report.cells as unknown as { operation: string; p: number; bytes: number[] }[];
    expect(seen.map(({ operation, p, bytes }) => [operation, p, bytes])).toEqual([
      ['cdist', 2, [20 * 5 * 4, 30 * 5 * 4]],
      ['cdist', Infinity, [2 * 7 * 3 * 8, 2 * 9 * 3 * 8]],
      ['gaussian', 2, [8 * 4 * 4, 6 * 4 * 4]],
      ['weightedDifferences', 1, [5 * 6, 4 * 5, 3 * 5, 4 * 6].map((size) => 2 * size * 4)],
    ]);
    expect(report.cells[2]).toMatchObject({ parameters: { bandwidth: 2 } });
  });

  it('asks for reductions with the checkout of KeOps, a cache of its own, and the operands by name', async () => {
    const path = await script(`
      import { createInterface } from 'node:readline';
      const say = (line) => console.log(JSON.stringify(line));
      let setup;
      for await (const line of createInterface({ input: process.stdin })) {
        const message = JSON.parse(line);
        if (setup === undefined) setup = { ...message, cache: process.env.KEOPS_CACHE_FOLDER };
        else say({ cell: { ...message, setup, names: Object.keys(message.operands), peer: 'fake' } });
        say({ ready: true });
      }
    `);
    const options = { ...base, python: process.execPath, script: path, keopsPath: '/some/folder' };
    const report = await runPeers(reductions.slice(0, 1), options);
    expect(report.cells).toHaveLength(1);
    expect(report.cells[0]).toMatchObject({
      setup: { reductions: true, linear: false, keopsPath: '/some/folder' },
      names: ['x', 'y', 'b'],
      ...reductions[0],
    });
    expect(report.cells[0]).not.toHaveProperty('p');
    const { setup } = report.cells[0] as unknown as { setup: { cache: string } };
    expect(setup.cache).toMatch(process.env['KEOPS_CACHE_FOLDER'] ?? 'mercer-peers-');
  });

  it('reports a process that dies, that is not there, and a peer that is missing', async () => {
    const dead = await script(`process.stderr.write('boom'); process.exit(3);`);
    const died = await runPeers(cells, { ...base, python: process.execPath, script: dead });
    expect(died).toMatchObject({ found: false, cells: [] });
    expect(died.reason).toMatch(/exit status 3.*boom/s);
    const absent = await runPeers(cells, { ...base, python: '/nonexistent/python3' });
    expect(absent).toMatchObject({ found: false });
    expect(absent.reason).toMatch(/ENOENT/);
  });

  it('begins no cell after its time, and keeps what was measured', async () => {
    const path = await script(`
      import { createInterface } from 'node:readline';
      const say = (line) => console.log(JSON.stringify(line));
      let first = true;
      for await (const line of createInterface({ input: process.stdin })) {
        if (!first) {
          say({ cell: { ...JSON.parse(line), peer: 'fake' } });
          await new Promise((resolve) => setTimeout(resolve, 1500));
        }
        first = false;
        say({ ready: true });
      }
    `);
    const python = process.execPath;
    const report = await runPeers(cells, { ...base, python, script: path, maxSeconds: 1 });
    expect(report.cells).toHaveLength(1);
    expect(report.reason).toBe('1 of 4 cells in 1 s');
  });

  it('leaves no operand files behind', async () => {
    // a place of its own: other processes measure too
    const place = await mkdtemp(join(tmpdir(), 'mercer-cli-'));
    vi.stubEnv('TMPDIR', place);
    const list = await script(
      `import { readdirSync } from 'node:fs';
      process.stderr.write(readdirSync(process.env.TMPDIR).join(), () => process.exit(3));`,
    );
    const { reason } = await runPeers(cells, { ...base, python: process.execPath, script: list });
    vi.unstubAllEnvs();
    expect(reason).toContain('mercer-peers-');
    expect(await readdir(place)).toEqual([]);
    await rm(place, { recursive: true });
  });
});

const python = defaultPython();
const imports = (module: string): boolean =>
  python !== undefined && spawnSync(python, ['-c', `import ${module}`]).status === 0;
const torch = imports('torch');

describe.skipIf(python === undefined)(
  python === undefined
    ? 'the Python script (skipped: no python3 on this machine)'
    : 'the Python script',
  () => {
    it('answers in the agreed lines, with torch or with the reason why not', async () => {
      const report = await runPeers(cells, { ...base, python: python ?? '' });
      if (torch) {
        expect(report.cells.length).toBe(cells.length);
        for (const cell of report.cells) expect(cell.maxErrorInUnits).toBeLessThan(1e4);
      } else {
        expect(report).toMatchObject({ found: false, cells: [] });
        expect(report.reason).toMatch(/torch/);
      }
    });

    it('computes linear algebra with torch, else with numpy, to the residual that LAPACK accepts', async () => {
      const report = await runPeers(linear, { ...base, python: python ?? '', threads: 1 });
      const peer = torch ? 'torch' : imports('numpy') ? 'numpy' : undefined;
      if (peer === undefined) {
        expect(report).toMatchObject({ found: false, cells: [] });
        return;
      }
      const able = linear.filter(({ operation }) => torch || operation !== 'solveCholesky');
      expect(report.versions).toHaveProperty(peer);
      expect(report.cells.map(({ operation }) => operation)).toEqual(
        able.map(({ operation }) => operation),
      );
      for (const cell of report.cells) {
        expect(cell).toMatchObject({ peer, n: 20, batch: 3 });
        expect(cell).not.toHaveProperty('p');
        expect(cell.ms?.median).toBeGreaterThan(0);
        expect(cell.maxErrorInUnits).toBeLessThan(30);
      }
    });

    it('computes reductions with dense torch, or says what is missing, KeOps above all', async () => {
      const keopsPath = join(folder, 'no-keops-here');
      const report = await runPeers(reductions, {
        ...base,
        python: python ?? '',
        keopsPath,
        threads: 1,
      });
      if (!imports('numpy')) {
        expect(report).toMatchObject({ found: false, cells: [] });
        expect(report.reason).toMatch(/numpy/);
        return;
      }
      const found = [...(imports('pykeops') ? ['pykeops'] : []), ...(torch ? ['torch'] : [])];
      expect(Object.keys(report.versions)).toEqual(found);
      if (!found.includes('pykeops')) expect(report.reason).toMatch(/pykeops/);
      expect(report.cells.length).toBe(found.length * reductions.length);
      for (const cell of report.cells) {
        expect(cell.ms?.median).toBeGreaterThan(0);
        expect(cell.maxErrorInUnits).toBeLessThan(100);
      }
    });

    it('runs KeOps from a checkout: its symbolic matrices, reductions and gradients', async () => {
      if (!imports('numpy')) return;
      const keopsPath = await fakeKeops(folder);
      const cells = reductions.filter(({ batch }) => batch === 1);
      const report = await runPeers(cells, {
        ...base,
        python: python ?? '',
        keopsPath,
        threads: 1,
      });
      expect(report.versions).toHaveProperty('pykeops', 'fake');
      const own = report.cells.filter(({ peer }) => peer === 'pykeops');
      expect(own.map(({ operation }) => operation)).toEqual([...REDUCTION_NAMES]);
      for (const cell of own) {
        if (cell.operation === 'logSumExp')
          expect(cell.maxErrorInUnits).toBeGreaterThan(1e6); // it adds 1
        else expect(cell.maxErrorInUnits).toBeLessThan(100);
      }
    });

    it('brings the solver of KeOps to the true residual, and gives its iterations', async () => {
      if (!imports('numpy')) return;
      const keopsPath = await fakeKeops(folder);
      const plain = { n: 40, d: 3, batch: 1 } as const;
      const systems: SolverCell[] = [
        { operation: 'solve', dtype: 'float32', ...plain },
        { operation: 'solve', dtype: 'float64', ...plain },
        { operation: 'inverseKernel', dtype: 'float64', ...plain },
        // which KeOps has not
        { operation: 'solve', dtype: 'float64', ...plain, preconditioner: 'nystrom', rank: 3 },
      ];
      const report = await runPeers(systems, {
        ...base,
        python: python ?? '',
        keopsPath,
        threads: 1,
      });
      const own = report.cells.filter(({ peer }) => peer === 'pykeops');
      expect(own.map(cellOf)).toEqual(systems.slice(0, 3));
      for (const { maxErrorInUnits: share, residual, iterations, dtype } of own) {
        expect(share).toBeLessThanOrEqual(1);
        expect(residual).toBeCloseTo((share ?? NaN) * (dtype === 'float32' ? 1e-4 : 1e-8), 12);
        expect(iterations).toBeGreaterThanOrEqual(1);
        expect(iterations).toBeLessThan(100);
      }
      const torchCells = report.cells.filter(({ peer }) => peer === 'torch');
      expect(torchCells.length).toBe(torch ? 3 : 0);
      for (const cell of torchCells) expect(cell.maxErrorInUnits).toBeLessThanOrEqual(1);
    });

    it("hands KeOps' texts to NVRTC and writes the cubin behind its size", async () => {
      const path = join(folder, 'try-nvrtc.py');
      await writeFile(path, NVRTC_TRIAL);
      const peers = fileURLToPath(new URL('../../peers', import.meta.url));
      const { status, stdout, stderr } = spawnSync(python ?? '', [
        path,
        peers,
        join(folder, 'cubin'),
      ]);
      expect(stderr.toString()).toBe('');
      expect(status).toBe(0);
      expect(JSON.parse(stdout.toString())).toEqual({
        status: 0,
        options: ['-arch=sm_90', '-use_fast_math'],
        text: 'some text',
        failed: 6,
      });
      const written = await readFile(join(folder, 'cubin'));
      expect(written.readBigUInt64LE()).toBe(5n);
      expect(written.subarray(8).toString()).toBe('cubin');
    });
  },
);
