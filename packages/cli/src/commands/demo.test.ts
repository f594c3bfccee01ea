import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lapack } from '@mercer/core';
import { describe, expect, it } from 'vitest';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';

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
      ridge: {
        device: string;
        solvedOn: string;
        accuracy: number;
        correct: number;
        confusion: number[][];
        medianDistance: number;
        bandwidth: number;
        ridge: number;
        kernelMs: number;
        solveMs: number;
        path: {
          accuracy: number;
          chosen: number;
          points: { ridge: number; accuracy: number }[];
        };
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
    // Without a LAPACK it is left out, as another test demands.
    expect(result.ridge.length).toBe(lapack.isAvailable() ? 1 : 0);
    for (const run of result.ridge) {
      expect(run).toMatchObject({ device: 'cpu', solvedOn: 'cpu' });
      expect(run.accuracy).toBeGreaterThan(0.96);
      expect(run.correct).toBe(
        run.confusion.reduce((sum, line, digit) => sum + (line[digit] ?? 0), 0),
      );
      expect(run.bandwidth).toBeCloseTo(run.medianDistance / 2, 9);
      expect(run.kernelMs).toBeGreaterThan(0);
      expect(run.solveMs).toBeGreaterThan(0);
      const { path } = run;
      expect(path.points.length).toBe(12);
      const best = Math.max(...path.points.map(({ accuracy }) => accuracy));
      expect(path.points.find(({ ridge }) => ridge === path.chosen)?.accuracy).toBe(best);
      expect(run.ridge).toBe(path.chosen);
      // A quarter of the digits knows less than all of them; too large a ridge knows less again.
      expect(path.accuracy).toBeGreaterThan(0.92);
      expect(path.accuracy).toBeLessThan(run.accuracy);
      expect(path.points.at(-1)?.accuracy).toBeLessThan(best - 0.05);
    }
    const page = await readFile(out, 'utf8');
    const mistakes = result.runs.reduce((sum, { correct }) => sum + result.testCount - correct, 0);
    expect(page.split('class="said"').length - 1).toBe(mistakes);
    await rm(folder, { recursive: true });
  });

  it('leaves the regression out where no LAPACK is, and says so everywhere', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mercer-demo-'));
    const out = join(folder, 'report.html');
    const args = ['demo', 'digits', '--device', 'cpu', '--p', '2', '--out', out];
    const run = await mercer(args, { MERCER_BLAS: 'none' });
    const page = await readFile(out, 'utf8');
    await rm(folder, { recursive: true });
    expect(run.status).toBe(0);
    expect(run.stdout).toMatch(/5 nearest, p = 2 +cpu +9\d\.\d\d%/);
    expect(run.stdout).not.toContain('laplace');
    for (const text of [run.stderr, page]) expect(text).toMatch(/nor a BLAS and LAPACK was found/);
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
