import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LINEAR_NAMES, type Cell, type LinearCell } from './cells.js';
import { defaultPython, runPeers } from './peers.js';

const cells: Cell[] = [
  { operation: 'cdist', dtype: 'float32', p: 2, m: 20, n: 30, k: 5, batch: 1 },
  { operation: 'cdist', dtype: 'float64', p: Infinity, m: 7, n: 9, k: 3, batch: 2 },
  { operation: 'gaussianL2', dtype: 'float32', p: 2, m: 8, n: 6, k: 4, batch: 1 },
  { operation: 'cdistGrad', dtype: 'float32', p: 1, m: 6, n: 4, o: 3, k: 5, batch: 2 },
];
const linear = LINEAR_NAMES.map((operation): LinearCell => {
  const sides = operation.startsWith('solve') ? { rightHandSides: 4 } : {};
  return { operation, dtype: 'float64', n: 20, ...sides, batch: 3 };
});
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
      ['gaussianL2', 2, [8 * 4 * 4, 6 * 4 * 4]],
      ['cdistGrad', 1, [5 * 6, 4 * 5, 3 * 5, 4 * 6].map((size) => 2 * size * 4)],
    ]);
    expect(report.cells[2]).toMatchObject({ parameters: { bandwidth: 2 } });
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

  it('leaves no operand files behind', async () => {
    const folders = async (): Promise<string[]> =>
      (await readdir(tmpdir())).filter((name) => name.startsWith('mercer-peers-'));
    const before = await folders();
    await runPeers(cells, { ...base, python: '/nonexistent/python3' });
    expect(await folders()).toEqual(before);
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
  },
);
