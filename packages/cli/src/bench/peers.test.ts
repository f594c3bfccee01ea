import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Cell } from './cells.js';
import { defaultPython, runPeers } from './peers.js';

const cells: Cell[] = [
  { dtype: 'float32', p: 2, m: 20, n: 30, k: 5, batch: 1 },
  { dtype: 'float64', p: Infinity, m: 7, n: 9, k: 3, batch: 2 },
];
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
        if (first) { console.log('chatter'); say({ versions: { fake: '1' } }); first = false; }
        else {
          const bytes = readFileSync(message.a).length;
          say({ cell: { ...message, a: undefined, b: undefined, peer: 'fake', ms: { median: bytes, p10: 1, p90: 1, count: 1 } } });
        }
        say({ ready: true });
      }
    `);
    const report = await runPeers(cells, { ...base, python: process.execPath, script: path });
    expect(report).toMatchObject({ found: true, versions: { fake: '1' } });
    expect(report.reason).toBeUndefined();
    expect(report.cells.map(({ peer, p, ms }) => [peer, p, ms?.median])).toEqual([
      ['fake', 2, 20 * 5 * 4],
      ['fake', Infinity, 2 * 7 * 3 * 8],
    ]);
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
const torch = python !== undefined && spawnSync(python, ['-c', 'import torch']).status === 0;

describe.skipIf(python === undefined)(
  python === undefined
    ? 'the Python script (skipped: no python3 on this machine)'
    : 'the Python script',
  () => {
    it('answers in the agreed lines, with torch or with the reason why not', async () => {
      const report = await runPeers(cells, { ...base, python: python ?? '' });
      if (torch) {
        expect(report.cells.length).toBe(2);
        for (const cell of report.cells) expect(cell.maxErrorInUnits).toBeLessThan(1e4);
      } else {
        expect(report).toMatchObject({ found: false, cells: [] });
        expect(report.reason).toMatch(/torch/);
      }
    });
  },
);
