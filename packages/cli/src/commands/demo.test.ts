import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mercer, mercerJson } from '../testing/run-bin.js';

describe('mercer demo digits', () => {
  it('classifies the held-out digits on the CPU and writes its report', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mercer-demo-'));
    const out = join(folder, 'report.html');
    const result = (await mercerJson([
      'demo',
      'digits',
      '--device',
      'cpu',
      '--p',
      '1,2',
      '--out',
      out,
    ])) as {
      testCount: number;
      trainCount: number;
      runs: {
        p: number;
        device: string;
        accuracy: number;
        correct: number;
        confusion: number[][];
        distanceMs: number;
      }[];
    };
    expect(result.testCount + result.trainCount).toBe(10_000);
    expect(result.runs.map(({ p, device }) => [p, device])).toEqual([
      [1, 'cpu'],
      [2, 'cpu'],
    ]);
    for (const run of result.runs) {
      expect(run.accuracy).toBeGreaterThan(0.93);
      expect(run.correct).toBe(
        run.confusion.reduce((sum, line, digit) => sum + (line[digit] ?? 0), 0),
      );
      expect(run.distanceMs).toBeGreaterThan(0);
    }
    const page = await readFile(out, 'utf8');
    const mistakes = result.runs.reduce((sum, { correct }) => sum + result.testCount - correct, 0);
    expect(page.split('class="said"').length - 1).toBe(mistakes);
    await rm(folder, { recursive: true });
  });

  it('fails on a folder that is not there before it computes anything', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mercer-demo-'));
    const out = join(folder, 'missing', 'r.html');
    const run = await mercer(['demo', 'digits', '--device', 'cpu', '--out', out]);
    await rm(folder, { recursive: true });
    expect(run).toMatchObject({ status: 1, stdout: '' });
    expect(run.stderr).toMatch(/Cannot write '.*r\.html': no file can be made in/);
  });
});
