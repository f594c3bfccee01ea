import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readNpy, writeNpy, writeNpz } from '@mercer/core/npy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeOperands } from '../bench/data-sets.js';
import { CliError } from '../cli-error.js';
import { createProgram } from '../program.js';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';

const [M, N, D] = [19, 23, 3];
const { a: x, b: y } = makeOperands('normal', 'float64', M, N, D);
const b = Float64Array.from({ length: N }, (_, j) => Math.sin(3 * j + 1));

let folder = '';
const at = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-reduce-'));
  await writeNpy(at('x.npy'), { data: x, shape: [M, D] });
  await writeNpy(at('y.npy'), { data: y, shape: [N, D] });
  await writeNpy(at('single.npy'), { data: Float32Array.from(y), shape: [N, D] });
  await writeNpz(at('b.npz'), { b: { data: b, shape: [N, 1] }, x: { data: x, shape: [M, D] } });
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const INPUTS = ['--alias', 'x=Vi(3)', '--alias', 'y = Vj(3)'];
const files = (): string[] => ['--arg', `x=${at('x.npy')}`, '--arg', `y=${at('y.npy')}`];
const weights = (): string[] => ['--alias', 'b=Vj(1)', '--arg', `b=${at('b.npz')}:b`];

const square = (i: number, j: number): number => {
  let sum = 0;
  for (let k = 0; k < D; k++) sum += ((x[i * D + k] ?? 0) - (y[j * D + k] ?? 0)) ** 2;
  return sum;
};
const rows = <T>(count: number, of: (row: number) => T): T[] =>
  Array.from({ length: count }, (_, row) => of(row));
const total = (terms: readonly number[]): number => terms.reduce((sum, term) => sum + term, 0);

async function expectFile(name: string, shape: number[], truth: readonly number[]): Promise<void> {
  const written = await readNpy(at(name));
  expect([written.shape, written.dtype]).toEqual([shape, 'float64']);
  truth.forEach((want, i) => {
    expect(Math.abs(Number(written.data[i]) - want)).toBeLessThanOrEqual(1e-13 * N);
  });
}

describe('mercer reduce', () => {
  it('computes a Gaussian convolution of files and says what it did', async () => {
    const texts = ['--formula', 'Exp(-SqDist(x,y)*g)*b', ...INPUTS, ...weights()];
    const parameter = ['--alias', 'g=Pm(1)', '--arg', 'g=0.5'];
    const args = ['reduce', ...texts, ...parameter, ...files(), '--axis', '1'];
    const report = await mercerJson([...args, '--out', at('a.npy')]);
    expect(report).toMatchObject({
      files: [{ out: at('a.npy'), shape: [M, 1], dtype: 'float64' }],
      device: 'cpu',
      reduction: 'Sum',
      axis: 1,
    });
    expect((report as { plan: { summary: string } }).plan.summary).toMatch(/Sum over j/);
    const truth = (i: number): number =>
      total(rows(N, (j) => Math.exp(-square(i, j) / 2) * (b[j] ?? 0)));
    await expectFile('a.npy', [M, 1], rows(M, truth));
  });

  it('does not wait for the compiler, and tells what computed it', async () => {
    const formula = 'Exp(-SqDist(x,y)*0.8125)';
    const args = ['reduce', '--formula', formula, ...INPUTS, ...files(), '--axis', 'j'];
    for (const [executor, env] of [
      ['interpreted', { MERCER_CPU: '', MERCER_CACHE: 'off' }],
      ['compiled', {}],
    ] as const) {
      const report = await mercerJson([...args, '--out', at('executor.npy')], env);
      expect(report).toMatchObject({ plan: { family: 'map-reduce', executor } });
      await expectFile(
        'executor.npy',
        [M, 1],
        rows(M, (i) => total(rows(N, (j) => Math.exp(-0.8125 * square(i, j))))),
      );
    }
    const both = ['--reduction', 'MinArgMin', '--out-indices', at('rows.npy')];
    const report = await mercerJson([...args, ...both, '--out', at('executor.npy')]);
    expect(report).toMatchObject({ plan: { family: 'map-reduce', executor: 'compiled' } });
  });

  it('differentiates, in the formula and around a whole reduction', async () => {
    const inputs = [...INPUTS, ...weights(), ...files()];
    const gradient = 'Grad(Exp(-SqDist(x,y)), x, b)';
    const inside = ['reduce', '--formula', gradient, '--axis', 'j', ...inputs];
    const seed = ['--alias', 'e=Vi(1)', '--arg', `e=${at('e.npy')}`];
    const whole = 'Grad(Sum_Reduction(Exp(-SqDist(x,y)) * b, 0), x, e)';
    await writeNpy(at('e.npy'), { data: new Float64Array(M).fill(2), shape: [M, 1] });
    const outside = ['reduce', '--formula', whole, ...inputs, ...seed];
    await Promise.all([
      mercerJson([...inside, '--out', at('g.npy')]),
      mercerJson([...outside, '--out', at('h.npy')]),
    ]);
    const truth = rows(M * D, (flat) => {
      const [i, k] = [Math.floor(flat / D), flat % D];
      const terms = rows(N, (j) => {
        const difference = (x[i * D + k] ?? 0) - (y[j * D + k] ?? 0);
        return -2 * difference * Math.exp(-square(i, j)) * (b[j] ?? 0);
      });
      return total(terms);
    });
    await expectFile('g.npy', [M, D], truth);
    await expectFile(
      'h.npy',
      [M, D],
      truth.map((value) => 2 * value),
    );
  });

  it('writes values and row numbers, and shows it in lines', async () => {
    const nearest = ['reduce', '--formula', 'SqDist(x,y)', ...INPUTS, ...files()];
    const outs = ['--out', at('values.npy'), '--out-indices', at('rows.npy')];
    const run = await mercer([...nearest, '--reduction', 'Min_ArgMin', '--axis', '0', ...outs]);
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(run.stdout).toContain(`${N} x 1 float64 values of MinArgMin over i, on cpu`);
    expect(run.stdout).toContain(`${N} x 1 int32 row numbers of MinArgMin over i, on cpu`);
    const distances = rows(N, (j) => rows(M, (i) => square(i, j)));
    const smallest = distances.map((column) => Math.min(...column));
    await expectFile('values.npy', [N, 1], smallest);
    const found = await readNpy(at('rows.npy'));
    expect([found.shape, found.dtype]).toEqual([[N, 1], 'int32']);
    const places = distances.map((column, j) => column.indexOf(smallest[j] ?? NaN));
    expect(Array.from(found.data as Int32Array)).toEqual(places);
  });

  it('takes K, a second formula, archives, other types and inputs without an alias', async () => {
    const single = ['--arg', `y=${at('single.npy')}`, '--arg', `0=${at('b.npz')}:x`];
    const formula = ['--formula', 'SqDist(Var(0,3,0), y)', '--alias', 'y=Vj(1,3)'];
    const kinds = ['--reduction', 'ArgKMin', '--k', '4', '--axis', '1', '--dtype', 'float64'];
    const soft = ['reduce', '--formula', '-SqDist(x,y)', '--formula2', 'y', ...INPUTS, ...files()];
    await Promise.all([
      mercerJson(['reduce', ...formula, ...single, ...kinds, '--out', at('four.npy')]),
      mercerJson([...soft, '--reduction', 'SoftMax', '--axis', '1', '--out', at('soft.npy')]),
    ]);
    const order = (i: number): number[] =>
      [...Array(N).keys()].sort((p, q) => square(i, p) - square(i, q)).slice(0, 4);
    const { data, shape } = await readNpy(at('four.npy'));
    expect(shape).toEqual([M, 4]);
    expect(Array.from(data as Int32Array)).toEqual(rows(M, order).flat());
    const mean = (flat: number): number => {
      const [i, k] = [Math.floor(flat / D), flat % D];
      const factors = rows(N, (j) => Math.exp(-square(i, j)));
      return total(factors.map((factor, j) => factor * (y[j * D + k] ?? 0))) / total(factors);
    };
    await expectFile('soft.npy', [M, D], rows(M * D, mean));
  });

  it('reads rows in Fortran order, and those that are repeated along one of two batch axes', async () => {
    const columns = Float64Array.from(
      { length: N * D },
      (_, at) => y[(at % N) * D + Math.floor(at / N)] ?? 0,
    );
    await writeNpy(at('columns.npy'), { data: columns, shape: [N, D], fortranOrder: true });
    await writeNpy(at('x2.npy'), { data: Float64Array.of(...x, ...x), shape: [2, 1, M, D] });
    await writeNpy(at('y3.npy'), { data: Float64Array.of(...y, ...y, ...y), shape: [3, N, D] });
    const sums = ['reduce', '--formula', 'SqDist(x,y)', ...INPUTS, '--axis', '1'];
    await Promise.all([
      mercerJson([
        ...sums,
        '--arg',
        `x=${at('x.npy')}`,
        '--arg',
        `y=${at('columns.npy')}`,
        '--out',
        at('f.npy'),
      ]),
      mercerJson([
        ...sums,
        '--arg',
        `x=${at('x2.npy')}`,
        '--arg',
        `y=${at('y3.npy')}`,
        '--out',
        at('batch.npy'),
      ]),
    ]);
    const truth = rows(M, (i) => total(rows(N, (j) => square(i, j))));
    await expectFile('f.npy', [M, 1], truth);
    await expectFile('batch.npy', [2, 3, M, 1], rows(6, () => truth).flat());
  });

  it('fails with one block that names the option, and writes nothing', async () => {
    const args = ['reduce', '--formula', 'Exp(x', ...INPUTS, ...files(), '--out', at('no.npy')];
    const run = await mercer(args);
    expect(run).toMatchObject({ status: 2, stdout: '' });
    expect(run.stderr).toMatch(/^error: --formula 'Exp\(x': Cannot read the formula at position 5/);
    expect(run.stderr).not.toMatch(/\n\s+at /);
  });

  // Wrong texts and data fail before anything is printed: these need no process of their own.
  it.each([
    [2, /--alias 'z=Vk\(3\)': .* found "Vk", expected Vi/, 'x', ['--alias', 'z=Vk(3)']],
    [2, /--alias 'x=Vi\(3\)' .*'x=Vj\(1\)': .*"x" is taken/, 'x', ['--alias', 'x=Vj(1)']],
    [2, /--formula2 'Foo\(x\)': .*no operation "Foo"/, 'x|y', ['--formula2', 'Foo(x)']],
    [2, /m = Vij\(1\) has values of pairs/, 'm', ['--alias', 'm=Vij(1)', '--arg', 'm=x.npy']],
    [2, /--arg z is missing: the input z = Vj\(1\) has no data/, 'x|y', ['--alias', 'z=Vj(1)']],
    [2, /--arg q=q.npy: the formula has no input 'q'.*x = Vi\(3\), y/, 'x|y', ['--arg', 'q=q.npy']],
    [2, /'x' is given twice/, 'x|y', ['--arg', 'x=x.npy']],
    [2, /a name and a value such as x=x.npy are needed and it is 'x'/, 'x|y', ['--arg', 'x']],
    [2, /--arg p=1,two: a number, a list/, 'x|y', ['--alias', 'p=Pm(2)', '--arg', 'p=1,two']],
    [2, /the axis is 1 or j, 0 or i, and not '2'/, 'x|y', ['--axis', '2']],
    [2, /at least 1 is needed and it is '0'/, 'x|y', ['--reduction', 'KMin', '--k', '0']],
    [2, /--reduction ArgKMin needs .*Add --k 5/, 'x|y', ['--reduction', 'ArgKMin']],
    [2, /--reduction SoftMax weights .*--formula2 b/, 'x|y', ['--reduction', 'SoftMax']],
    [2, /--reduction Sum: .*Sum takes no k/, 'x|y', ['--k', '2']],
    [2, /--reduction LogSumExp: .*formula has dim 3/, 'x-y', ['--reduction', 'LogSumExp']],
    [2, /--reduction Best: .*there is no reduction "Best"/, 'x|y', ['--reduction', 'Best']],
    [2, /MaxArgMax gives values, .*Add --out-indices/, 'x|y', ['--reduction', 'Max_ArgMax']],
    [2, /--out-indices i.npy: Sum gives only values/, 'x|y', ['--out-indices', 'i.npy']],
    [2, /--axis 1 stands beside a whole reduction/, 'Sum_Reduction(x|y, 0)', ['--axis', '1']],
    [
      1,
      /its rows have 3 numbers .* declares p = Pm\(2\)/,
      'x|y',
      ['--alias', 'p=Pm(2)', '--arg', 'p=1,2,3'],
    ],
    [
      1,
      /--formula 'x\|z':.* x .*19 rows and z .*23/,
      'x|z',
      ['--alias', 'z=Vi(3)', '--arg', 'z=Y'],
    ],
    [
      1,
      /'.*single\.npy' is float32. Add --dtype/,
      'x|z',
      ['--alias', 'z=Vj(3)', '--arg', 'z=SINGLE'],
    ],
  ] as const)('ends with status %i, %s', async (status, why, formula, more) => {
    const named = more.map((text) =>
      text.replace('=Y', `=${at('y.npy')}`).replace('=SINGLE', `=${at('single.npy')}`),
    );
    const args = ['--formula', formula, ...INPUTS, ...files(), ...named, '--device', 'cpu'];
    const command = ['node', 'mercer', 'reduce', ...args, '--out', at('no.npy')];
    const program = await createProgram();
    const error = await program.parseAsync(command).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(Error);
    expect((error as Error).message).toMatch(why);
    expect(error instanceof CliError ? error.exitCode : 2).toBe(status);
    expect(await readdir(folder)).not.toContain('no.npy');
  });
});
