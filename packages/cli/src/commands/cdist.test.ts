import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { float32ToFloat16, readNpy, writeNpy, writeNpz } from '@mercer/core/npy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeOperands } from '../bench/data-sets.js';
import { plainDistances } from '../bench/plain-distance.js';
import { mercer, mercerJson, mercerOneByOne } from '../testing/run-bin.test-support.js';

const [M, N, K] = [23, 31, 17];
let folder = '';
const at = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-cdist-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('mercer cdist', () => {
  const single = makeOperands('normal', 'float32', M, N, K);
  const double = makeOperands('normal', 'float64', M, N, K);

  it.each([
    ['float32', '1', []],
    ['float32', '1.3', []],
    ['float32', '2', ['--skip-epilogue']],
    ['float64', 'inf', []],
    ['float64', '2.5', []],
    ['float64', '0.5', ['--skip-epilogue']],
  ] as const)('computes %s distances with p = %s %j', async (dtype, p, more) => {
    const { a, b } = dtype === 'float32' ? single : double;
    await writeNpy(at('a.npy'), { data: a, shape: [M, K] });
    await writeNpy(at('b.npy'), { data: b, shape: [N, K] });
    const result = await mercerJson([
      'cdist',
      at('a.npy'),
      at('b.npy'),
      '--p',
      p,
      '--out',
      at('d.npy'),
      ...more,
    ]);
    expect(result).toMatchObject({
      shape: [M, N],
      dtype,
      device: 'cpu',
      skipEpilogue: more.length > 0,
    });
    expect((result as { plan: { summary: string } }).plan.summary).toMatch(/\w/);
    const { data, shape, dtype: written } = await readNpy(at('d.npy'));
    expect([shape, written]).toEqual([[M, N], dtype]);
    const truth = plainDistances(a, b, K, p === 'inf' ? Infinity : Number(p), more.length > 0);
    const unit = dtype === 'float32' ? 2 ** -24 : 2 ** -53;
    truth.forEach((want, i) => {
      expect(Math.abs(Number(data[i]) - want)).toBeLessThanOrEqual(100 * unit * want);
    });
  });

  it('reads Fortran order, float16, converted integers, batches and members of archives', async () => {
    const columns = Float32Array.from(
      { length: M * K },
      (_, i) => single.a[(i % M) * K + Math.floor(i / M)] ?? 0,
    );
    await writeNpy(at('f.npy'), { data: columns, shape: [M, K], fortranOrder: true });
    const half = float32ToFloat16(Float32Array.from(single.b, (x) => Math.round(x * 8) / 8));
    await writeNpz(at('x.npz'), {
      half: { data: half, shape: [1, N, K] },
      counts: { data: Int32Array.from({ length: 4 * K }, (_, i) => i % 5), shape: [2, 2, K] },
    });
    const args = [at('f.npy'), `${at('x.npz')}:half`, '--p', '1', '--out', at('d.npy')];
    expect(await mercerJson(['cdist', ...args])).toMatchObject({
      shape: [1, M, N],
      dtype: 'float32',
    });
    const { data } = await readNpy(at('d.npy'));
    const b = Float32Array.from(single.b, (x) => Math.round(x * 8) / 8);
    plainDistances(single.a, b, K, 1).forEach((want, i) => {
      expect(Math.abs(Number(data[i]) - want)).toBeLessThanOrEqual(1e-5 * want);
    });
    const batch = [`${at('x.npz')}:counts`, at('f.npy'), '--out', at('e.npy')];
    expect(await mercerJson(['cdist', ...batch, '--dtype', 'float64'])).toMatchObject({
      shape: [2, 2, M],
      dtype: 'float64',
    });
    const refused = await mercer(['cdist', ...batch]);
    expect(refused).toMatchObject({ status: 1 });
    expect(refused.stderr).toMatch(/its elements are int32 .* Add --dtype float32/);
  });

  it('fails readably and writes nothing', async () => {
    await writeNpy(at('a.npy'), { data: single.a, shape: [M, K] });
    await writeNpy(at('wide.npy'), { data: single.b, shape: [K, N] });
    await writeNpy(at('double.npy'), { data: double.b, shape: [N, K] });
    await writeNpy(at('flat.npy'), { data: single.b, shape: [N * K] });
    await writeNpz(at('two.npz'), {
      x: { data: single.a, shape: [M, K] },
      y: { data: single.a, shape: [M, K] },
    });
    const cases = [
      ['wide.npy', 1, /SHAPE_MISMATCH/],
      ['double.npy', 1, /DTYPE_MISMATCH/],
      ['flat.npy', 1, /has no rows/],
      ['two.npz', 2, /holds 2 arrays \("x", "y"\)/],
      ['two.npz:z', 1, /has no array "z"/],
    ] as const;
    const runs = await mercerOneByOne(
      cases.map(([b]) => ['cdist', at('a.npy'), at(b), '--out', at('no.npy')]),
    );
    for (const [n, [, status, why]] of cases.entries()) {
      expect(runs[n]).toMatchObject({ status, stdout: '' });
      expect(runs[n]?.stderr).toMatch(why);
    }
    expect(await readdir(folder)).not.toContain('no.npy');
  });

  it('refuses links, folders, pipes and devices as outputs before it reads anything', async () => {
    await writeFile(at('target.npy'), 'old');
    await symlink('target.npy', at('link.npy'));
    await mkdir(at('folder.npy'));
    expect(spawnSync('mkfifo', [at('pipe.npy')]).status).toBe(0);
    for (const [name, why] of [
      ['link.npy', /it is a symbolic link to 'target\.npy'.* Name the file itself/],
      ['folder.npy', /it is a folder/],
      ['pipe.npy', /it is a pipe/],
    ] as const) {
      const run = await mercer(['cdist', at('none.npy'), at('none.npy'), '--out', at(name)]);
      expect(run).toMatchObject({ status: 1, stdout: '' });
      expect(run.stderr).toMatch(why);
    }
    const run = await mercer(['bench', 'limits', '--device', 'cpu', '--out', '/dev/null']);
    expect(run).toMatchObject({ status: 1, stdout: '' });
    expect(run.stderr).toMatch(/Cannot write '\/dev\/null': it is a device/);
    expect(await readFile(at('target.npy'), 'utf8')).toBe('old');
  });

  it('refuses a GPU that is not there', async () => {
    const args = ['cdist', at('a.npy'), at('a.npy'), '--out', at('no.npy'), '--device', 'cuda:0'];
    const run = await mercer(args, { MERCER_CUDA_DRIVER_PATH: '/nonexistent/libcuda.so.1' });
    expect(run.status).toBe(1);
    expect(run.stderr).toMatch(/NO_BACKEND/);
  });
});
