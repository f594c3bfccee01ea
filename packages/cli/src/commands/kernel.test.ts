import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readNpy, writeNpy } from '@mercer/core/npy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeOperands } from '../bench/data-sets.js';
import { mercer, mercerJson, mercerOneByOne } from '../testing/run-bin.test-support.js';

const [M, N, K] = [9, 7, 5];
const { a, b } = makeOperands('normal', 'float64', 2 * M, N, K);
const UNIT = 2 ** -53;

let folder = '';
const at = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-kernel-'));
  await writeNpy(at('a.npy'), { data: a.slice(0, M * K), shape: [M, K] });
  await writeNpy(at('pair.npy'), { data: a, shape: [2, M, K] });
  await writeNpy(at('b.npy'), { data: b, shape: [N, K] });
  await writeNpy(at('h.npy'), { data: Float32Array.of(2, 8), shape: [2] });
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Sums of `term` over the features of row i of a and row j of `other`. */
function sums(
  term: (x: number, y: number, k: number) => number,
  other = b,
  rows = M,
): { value: number; i: number; j: number }[] {
  const columns = other.length / K;
  return Array.from({ length: rows * columns }, (_, flat) => {
    const [i, j] = [Math.floor(flat / columns), flat % columns];
    let value = 0;
    for (let k = 0; k < K; k++) value += term(a[i * K + k] ?? 0, other[j * K + k] ?? 0, k);
    return { value, i, j };
  });
}

async function expectFile(name: string, shape: number[], truth: readonly number[]): Promise<void> {
  const written = await readNpy(at(name));
  expect([written.shape, written.dtype]).toEqual([shape, 'float64']);
  truth.forEach((want, i) => {
    expect(Math.abs(Number(written.data[i]) - want)).toBeLessThanOrEqual(
      200 * UNIT * Math.max(1, Math.abs(want)),
    );
  });
}

describe('mercer kernel', () => {
  it('computes a Laplacian kernel of two files and says what it did', async () => {
    const powers = ['--inner-operator', 'diff', '--inner-power', 'abs'];
    const kernel = ['--kernel', 'laplace', '--bandwidth', '10'];
    const args = ['kernel', at('a.npy'), at('b.npy'), ...powers, ...kernel];
    expect(await mercerJson([...args, '--out', at('k.npy')])).toMatchObject({
      out: at('k.npy'),
      shape: [M, N],
      dtype: 'float64',
      device: 'cpu',
      oneInput: false,
      descriptor: {
        innerOperator: 'diff',
        innerPower: 'abs',
        outerPower: 'none',
        kernel: 'laplace',
      },
      parameters: { bandwidth: 10 },
    });
    const truth = sums((x, y) => Math.abs(x - y)).map(({ value }) => Math.exp(-value / 10));
    await expectFile('k.npy', [M, N], truth);
    const text = await mercer([...args, '--out', at('k.npy')]);
    expect(text.stdout).toContain('9 x 7 float64 kernel matrix, laplace of diff');
  });

  it('takes one file, a bandwidth for each batch entry from a file, and regularises the diagonal', async () => {
    const powers = ['--inner-operator', 'diff', '--inner-power', 'square', '--kernel', 'gaussian'];
    const values = ['--bandwidth', at('h.npy'), '--regularization', '0.5'];
    const args = ['kernel', at('pair.npy'), ...powers, ...values, '--symmetric'];
    expect(await mercerJson([...args, '--out', at('k.npy')])).toMatchObject({
      shape: [2, M, M],
      oneInput: true,
      parameters: { bandwidth: at('h.npy'), regularization: 0.5 },
    });
    const truth = [2, 8].flatMap((h, entry) => {
      const start = entry * M * K;
      const own = a.slice(start, start + M * K);
      return Array.from({ length: M * M }, (_, flat) => {
        const [i, j] = [Math.floor(flat / M), flat % M];
        let s = 0;
        for (let k = 0; k < K; k++) s += ((own[i * K + k] ?? 0) - (own[j * K + k] ?? 0)) ** 2;
        return i === j ? 1.5 : Math.exp(-s / (2 * h * h));
      });
    });
    await expectFile('k.npy', [2, M, M], truth);
    const { data } = await readNpy(at('k.npy'));
    for (let i = 0; i < M; i++)
      for (let j = 0; j < M; j++) expect(data[i * M + j]).toBe(data[j * M + i]);
  });

  it('takes exponents apart, scales features by a list, and shifts the diagonal', async () => {
    const exponents = ['--inner-p', '3', '--outer-p', '0.25'];
    const powers = ['--inner-operator', 'diff', '--inner-power', 'pow', '--outer-power', 'pow'];
    const more = [
      '--scale',
      '1,2,0.5,1,3',
      '--regularization',
      '2',
      '--regularization-offset',
      '3,1',
    ];
    const args = ['kernel', at('a.npy'), at('b.npy'), ...powers, ...exponents, ...more];
    await mercerJson([...args, '--out', at('k.npy')]);
    const scale = [1, 2, 0.5, 1, 3];
    const truth = sums((x, y, k) => Math.abs((x - y) * (scale[k] ?? 0)) ** 3).map(
      ({ value, i, j }) => value ** 0.25 + (i + 3 === j + 1 ? 2 : 0),
    );
    await expectFile('k.npy', [M, N], truth);
  });

  it('computes kernels of the inner product', async () => {
    const powers = ['--inner-operator', 'dot', '--inner-power', 'none', '--kernel', 'polynomial'];
    const values = ['--gamma', '0.5', '--offset', '-1', '--degree', '3'];
    const args = ['kernel', at('a.npy'), at('b.npy'), ...powers, ...values];
    await mercerJson([...args, '--out', at('k.npy')]);
    await expectFile(
      'k.npy',
      [M, N],
      sums((x, y) => x * y).map(({ value }) => (0.5 * value - 1) ** 3),
    );
  });

  it('takes ready-made kernels by name, as the library has them', async () => {
    const run = async (file: string, ...options: string[]): Promise<unknown> =>
      mercerJson(['kernel', at('a.npy'), at('b.npy'), ...options, '--out', at(file)]);
    const wanted = { innerOperator: 'diff', innerPower: 'square', outerPower: 'none' };
    expect(await run('k.npy', '--preset', 'gaussian', '--bandwidth', '2')).toMatchObject({
      preset: 'gaussian',
      descriptor: { ...wanted, kernel: 'gaussian' },
    });
    const parts = ['--inner-operator', 'diff', '--inner-power', 'square', '--kernel', 'gaussian'];
    await run('parts.npy', ...parts, '--bandwidth', '2');
    expect((await readNpy(at('k.npy'))).data).toEqual((await readNpy(at('parts.npy'))).data);
    await run('d.npy', '--preset', 'euclidean');
    await expectFile(
      'd.npy',
      [M, N],
      sums((x, y) => (x - y) ** 2).map(({ value }) => Math.sqrt(value)),
    );
  });

  it("refuses what makes no sense in the library's words and writes nothing", async () => {
    const diff = ['--inner-operator', 'diff', '--inner-power', 'abs'];
    const laplace = [...diff, '--kernel', 'laplace'];
    const both = [at('a.npy'), at('b.npy')];
    const cases = [
      [[...both, ...laplace], 1, /needs bandwidth/],
      [[...both, ...laplace, '--bandwidth', '1', '--gamma', '1'], 1, /does not use gamma/],
      [[...both, ...laplace, '--bandwidth', '-1'], 1, /bandwidth is -1/],
      [[...both, ...diff, '--kernel', 'matern32', '--bandwidth', '1'], 1, /innerPower 'square'/],
      [[...both, ...laplace, '--bandwidth', '1', '--symmetric'], 1, /Leave b out/],
      [[at('pair.npy'), ...laplace, '--bandwidth', '1,2,3'], 1, /SHAPE_MISMATCH/],
      [[...both, '--preset', 'gauss'], 2, /'gauss' is none of .*gaussian/],
      [[...both, '--preset', 'gaussian', ...diff], 2, /--preset gaussian says what '--inner-op/],
      [[...both, '--preset', 'gaussian'], 1, /needs bandwidth/],
      [[...both, '--inner-power', 'abs'], 2, /required option '--inner-operator/],
      [[...both, ...diff, '--inner-power', 'cube'], 2, /'cube' is none of none, abs/],
      [[...both, ...laplace, '--bandwidth', 'wide'], 2, /a number, a list such as 1,2.5/],
      [[...both, ...diff, '--regularization-offset', '1'], 2, /two whole numbers/],
    ] as const;
    const runs = await mercerOneByOne(
      cases.map(([args]) => ['kernel', ...args, '--out', at('no.npy')]),
    );
    for (const [n, [, status, why]] of cases.entries()) {
      expect(runs[n]?.stderr).toMatch(why);
      expect(runs[n]?.stderr.startsWith('error: ')).toBe(true);
      expect(runs[n]).toMatchObject({ status, stdout: '' });
    }
    expect(await readdir(folder)).not.toContain('no.npy');
  });
});
