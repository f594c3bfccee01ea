import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readNpy, writeNpy } from '@mercer/core/npy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';

let folder = '';
const at = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-linalg-'));
  await writeNpy(at('a.npy'), { data: Float64Array.of(4, 2, 2, 3), shape: [2, 2] });
  await writeNpy(at('b.npy'), { data: Float64Array.of(10, 9), shape: [2, 1] });
  await writeNpy(at('tall.npy'), { data: Float64Array.of(0, 1, 1, 1, 2, 1), shape: [3, 2] });
  await writeNpy(at('y.npy'), { data: Float64Array.of(1, 3, 5), shape: [3, 1] });
  await writeNpy(at('bad.npy'), { data: Float64Array.of(1, 2, 2, 1), shape: [2, 2] });
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const numbers = async (name: string): Promise<number[]> => {
  const { data } = await readNpy(at(name));
  return Array.from(data as Float64Array);
};

describe('mercer solve', () => {
  it.each(['cholesky', 'lu', 'qr'])('solves by %s', async (method) => {
    const args = ['solve', at('a.npy'), at('b.npy'), '--out', at('x.npy'), '--method', method];
    const result = await mercerJson(args);
    expect(result).toMatchObject({ shape: [2, 1], dtype: 'float64', device: 'cpu', method });
    const [first, second] = await numbers('x.npy');
    expect(first).toBeCloseTo(1.5, 12);
    expect(second).toBeCloseTo(2, 12);
  });

  it('fits a line by qr', async () => {
    const args = ['solve', at('tall.npy'), at('y.npy'), '--out', at('line.npy')];
    const run = await mercer([...args, '--method', 'qr']);
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(run.stdout).toContain('2 x 1 float64 solution by qr, on cpu');
    const [slope, intercept] = await numbers('line.npy');
    expect(slope).toBeCloseTo(2, 12);
    expect(intercept).toBeCloseTo(1, 12);
  });

  it.each(['cholesky', 'lu', 'qr'])('takes right-hand sides in rows, by %s', async (method) => {
    await writeNpy(at('rows.npy'), { data: Float64Array.of(10, 9, 4, 2), shape: [2, 2] });
    const args = ['solve', at('a.npy'), at('rows.npy'), '--out', at('xr.npy'), '--method', method];
    await mercerJson([...args, '--right-hand-sides', 'rows']);
    const wanted = [1.5, 2, 1, 0];
    for (const [place, value] of (await numbers('xr.npy')).entries()) {
      expect(value).toBeCloseTo(wanted[place] ?? NaN, 12);
    }
  });

  it('advises an option that it has', async () => {
    await writeNpy(at('row.npy'), { data: Float64Array.of(10, 9), shape: [1, 2] });
    const run = await mercer(['solve', at('a.npy'), at('row.npy'), '--out', at('none.npy')]);
    expect(run.status).toBe(1);
    expect(run.stderr).toContain('--right-hand-sides rows');
    expect(run.stderr).not.toContain('rightHandSides');
  });

  it('says what is wrong with the matrix, and writes nothing', async () => {
    const args = ['solve', at('bad.npy'), at('b.npy'), '--out', at('none.npy')];
    const run = await mercer([...args, '--method', 'cholesky']);
    expect(run.status).toBe(1);
    expect(run.stderr).toMatch(/leading minor of order 2 is not positive/);
    expect(run.stderr).not.toMatch(/\n\s+at /);
    await expect(access(at('none.npy'))).rejects.toThrow();
  });

  it('computes without a LAPACK too', async () => {
    const args = ['solve', at('a.npy'), at('b.npy'), '--out', at('x2.npy')];
    await mercerJson(args, { MERCER_BLAS: 'none' });
    expect((await numbers('x2.npy'))[1]).toBeCloseTo(2, 12);
  });
});

describe('mercer eigh', () => {
  it('refuses to write both results to one file, by whatever name', async () => {
    const outs = ['--values', at('one.npy'), '--vectors', `${folder}/./one.npy`];
    const run = await mercer(['eigh', at('bad.npy'), ...outs]);
    expect(run).toMatchObject({ status: 2, stdout: '' });
    expect(run.stderr).toMatch(/Cannot write two results to .*one\.npy.* Name two files/);
    await expect(access(at('one.npy'))).rejects.toThrow();
  });

  it('writes values alone', async () => {
    const result = await mercerJson(['eigh', at('bad.npy'), '--values', at('alone.npy')]);
    expect(result).toMatchObject({ files: [{ out: at('alone.npy'), shape: [2] }] });
    expect((await numbers('alone.npy'))[1]).toBeCloseTo(3, 12);
  });

  it('writes values and vectors', async () => {
    const outs = ['--values', at('w.npy'), '--vectors', at('v.npy')];
    const result = await mercerJson(['eigh', at('bad.npy'), ...outs, '--uplo', 'upper']);
    expect(result).toMatchObject({
      files: [
        { out: at('w.npy'), shape: [2] },
        { out: at('v.npy'), shape: [2, 2] },
      ],
      dtype: 'float64',
      uplo: 'upper',
    });
    const [low, high] = await numbers('w.npy');
    expect(low).toBeCloseTo(-1, 12);
    expect(high).toBeCloseTo(3, 12);
    const [a = 0, b = 0, c = 0, d = 0] = await numbers('v.npy');
    expect(Math.abs(a + c)).toBeCloseTo(0, 12);
    expect(b).toBeCloseTo(d, 12);
  });
});
