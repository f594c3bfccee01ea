import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readNpy, writeNpy } from '@mercer/core/npy';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { makeOperands } from '../bench/data-sets.js';
import { createProgram } from '../program.js';
import { mercer, mercerJson, mercerOneByOne } from '../testing/run-bin.test-support.js';

const [N, D, COLUMNS] = [40, 2, 2];
const { a: x, b } = makeOperands('uniform', 'float64', N, N, D);

let folder = '';
const at = (name: string): string => join(folder, name);

// What is computed is small, and kernels have tests of their own: compiling them would take most of the time.
beforeAll(() => vi.stubEnv('MERCER_CPU', 'interpreted'));
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-solve-formula-'));
  await writeNpy(at('x.npy'), { data: x, shape: [N, D] });
  await writeNpy(at('b.npy'), { data: b.slice(0, N), shape: [N, 1] });
  await writeNpy(at('columns.npy'), { data: b, shape: [N, COLUMNS] });
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const system = (formula = 'Exp(-SqDist(x,y)*g)'): string[] => [
  ...['--formula', formula, '--alias', 'x=Vi(2)', '--alias', 'y=Vj(2)', '--alias', 'g=Pm(1)'],
  ...['--arg', `x=${at('x.npy')}`, '--arg', `y=${at('x.npy')}`, '--arg', 'g=3'],
];

/** The largest entry of (K + alpha I) x - b, term by term. */
async function residual(name: string, alpha: number, right: string): Promise<number> {
  const [found, given] = [await readNpy(at(name)), await readNpy(at(right))];
  expect(found.shape).toEqual(given.shape);
  const columns = found.shape[1] ?? 1;
  let worst = 0;
  for (let i = 0; i < N; i++) {
    for (let c = 0; c < columns; c++) {
      let sum = alpha * Number(found.data[i * columns + c]) - Number(given.data[i * columns + c]);
      for (let j = 0; j < N; j++) {
        let square = 0;
        for (let k = 0; k < D; k++) square += ((x[i * D + k] ?? 0) - (x[j * D + k] ?? 0)) ** 2;
        sum += Math.exp(-3 * square) * Number(found.data[j * columns + c]);
      }
      worst = Math.max(worst, Math.abs(sum));
    }
  }
  return worst;
}

describe('mercer solve --formula', () => {
  it.each([
    ['none', []],
    ['jacobi', []],
    ['pivoted-cholesky', ['--rank', '20']],
    ['nystrom', ['--rank', '20']],
    ['nystrom-columns', ['--rank', '20']],
  ])('solves by conjugate gradients, with the preconditioner %s', async (name, rank) => {
    const args = ['solve', at('columns.npy'), ...system(), '--alpha', '0.01', '--rtol', '1e-11'];
    const out = `${name}.npy`;
    const named = ['--preconditioner', name, ...rank, '--out', at(out)];
    const report = (await mercerJson([...args, ...named])) as {
      readonly iterations: number;
      readonly residual: number;
      readonly columns: readonly unknown[];
    };
    expect(report).toMatchObject({ method: 'cg', shape: [N, COLUMNS], dtype: 'float64' });
    expect(report.residual).toBeLessThanOrEqual(1e-11);
    expect(report.columns.length).toBe(COLUMNS);
    expect(await residual(out, 0.01, 'columns.npy')).toBeLessThan(1e-9);
    // twenty columns have nearly all of this kernel
    if (rank.length > 0) expect(report.iterations).toBeLessThan(15);
    else expect(report.iterations).toBeGreaterThan(15);
  });

  it.each([
    ['of one component', 'Exp(-SqDist(x,y)*g)*u', 'u=Vj(1)', 'b.npy'],
    ['of several components', 'Exp(-SqDist(x,y)*g)*u', 'u=Vj(2)', 'columns.npy'],
    ['of the other side', 'u*Exp(-SqDist(x,y)*g)', 'u=Vi(2)', 'columns.npy'],
  ])("takes KeOps' text, which is linear in the unknown, %s", async (_, formula, alias, right) => {
    const args = ['solve', at(right), ...system(formula), '--alias', alias, '--unknown', 'u'];
    const out = ['--alpha', '0.01', '--rtol', '1e-11', '--out', at('linear.npy')];
    const report = (await mercerJson([...args, ...out])) as { readonly iterations: number };
    expect(report).toMatchObject({ method: 'cg', dtype: 'float64' });
    expect(report.iterations).toBeGreaterThan(10);
    expect(await residual('linear.npy', 0.01, right)).toBeLessThan(1e-9);
  });

  it('says in lines what it did, of one right-hand side', async () => {
    const args = ['solve', at('b.npy'), ...system(), '--alpha', '0.1', '--out', at('one.npy')];
    const run = await mercer(args);
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(run.stdout).toMatch(
      /one\.npy: 40 x 1 float64 solution by cg in \d+ iterations, residual \d/,
    );
    expect(await residual('one.npy', 0.1, 'b.npy')).toBeLessThan(1e-4);
    const single = [...args.slice(0, -1), at('single.npy'), '--dtype', 'float32', '--json'];
    const { stdout } = await mercer(single);
    expect(JSON.parse(stdout)).toMatchObject({ dtype: 'float32' });
  });

  it('writes nothing where it does not converge, says how far it came and ends with 1', async () => {
    const args = ['solve', at('b.npy'), ...system(), '--max-iterations', '3'];
    const run = await mercer([...args, '--out', at('nothing.npy')]);
    expect(run.status).toBe(1);
    expect(run.stdout).toBe('');
    expect(run.stderr).toMatch(/NOT_CONVERGED/);
    expect(run.stderr).toMatch(/after 3 iterations the residual is \d\.\de[-+]\d/);
    expect(run.stderr).toMatch(/--max-iterations.*--alpha.*--preconditioner/s);
    await expect(access(at('nothing.npy'))).rejects.toThrow();
  });

  it('names the option of systems that have no solution by this method', async () => {
    const indefinite = ['solve', at('b.npy'), ...system('0 - Exp(-SqDist(x,y)*g)')];
    const run = await mercer([...indefinite, '--out', at('nothing.npy')]);
    expect(run.status).toBe(1);
    expect(run.stderr).toMatch(/INDEFINITE/);
    expect(run.stderr).toMatch(/--formula '0 - Exp.*not positive definite.*Raise --alpha/s);
    expect(run.stderr).not.toMatch(/shift\(\)|caused by/);
    const wide = ['solve', at('b.npy'), ...system(), '--alpha', '1', '--preconditioner', 'nystrom'];
    const large = await mercer([...wide, '--rank', '41', '--out', at('nothing.npy')]);
    expect(large.status).toBe(1);
    expect(large.stderr).toMatch(
      /--rank is 41, and the system has 40 unknowns\. Pass a whole number from 1 to 40/,
    );
    const negative = ['solve', at('b.npy'), ...system('0 - Exp(-SqDist(x,y)*g)*u')];
    const unknown = ['--alias', 'u=Vj(1)', '--unknown', 'u', '--out', at('nothing.npy')];
    const linear = await mercer([...negative, ...unknown]);
    expect(linear.status).toBe(1);
    expect(linear.stderr).toMatch(/INDEFINITE/);
    expect(linear.stderr).toMatch(/\(-\d\.\de[-+]\d+ at iteration 1\)\. Raise --alpha/);
    expect(linear.stderr).not.toMatch(/shift\(\)/);
    const vectors = ['solve', at('b.npy'), ...system('x - y'), '--out', at('nothing.npy')];
    const many = await mercer(vectors);
    expect(many.status).toBe(1);
    expect(many.stderr).toMatch(/SHAPE_MISMATCH/);
    await expect(access(at('nothing.npy'))).rejects.toThrow();
  });

  it('shows its progress on a terminal', async () => {
    const { Progress } = await import('../output/progress.js');
    const { vi } = await import('vitest');
    const shown: string[] = [];
    vi.spyOn(Progress.prototype, 'update').mockImplementation((text) => void shown.push(text));
    vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const args = ['solve', at('b.npy'), ...system(), '--alpha', '0.1', '--out', at('seen.npy')];
    try {
      const program = await createProgram(args);
      await program.parseAsync(['node', 'mercer', ...args, '--device', 'cpu']);
    } finally {
      vi.restoreAllMocks();
    }
    const steps = shown.filter((text) => /^iteration \d+, residual \d\.\de[-+]\d+$/.test(text));
    expect(steps.length).toBeGreaterThan(5);
  });

  it('refuses what does not go together, before it reads', async () => {
    const out = ['--out', at('nothing.npy')];
    const formula = ['--formula', 'Exp(-SqDist(x,y))'];
    const linear = ['b.npy', '--formula', 'u', '--alias', 'u=Vj(1)', '--unknown', 'u'];
    const rank = [...formula, '--preconditioner', 'nystrom'];
    const cases: (readonly [string[], RegExp])[] = [
      [['a.npy', ...out], /takes two files, A and B, and 1 are given/],
      [['a.npy', 'b.npy', ...formula, ...out], /takes one file.*2 are given/s],
      [
        ['a.npy', 'b.npy', '--alpha', '1', ...out],
        /--alpha is of systems whose matrix is a formula/,
      ],
      [['a.npy', 'b.npy', '--max-iterations', '1', ...out], /--max-iterations is of systems/],
      [['b.npy', ...formula, '--method', 'lu', ...out], /--method is of stored matrices/],
      [['b.npy', ...formula, '--right-hand-sides', 'rows', ...out], /--right-hand-sides is of/],
      [['b.npy', ...formula, '--rank', '3', ...out], /--rank 3 is that of a preconditioner/],
      [['b.npy', ...rank, ...out], /--preconditioner nystrom needs a rank/],
      [['b.npy', ...rank, '--rank', '3', '--alpha', '0', ...out], /--alpha is 0\. Raise it/],
      [['b.npy', ...rank, '--rank', '0', ...out], /at least 1/],
      [['b.npy', ...formula, '--alpha', '-1', ...out], /at least 0/],
      [['b.npy', ...formula, '--preconditioner', 'ilu', ...out], /none of none, jacobi/],
      [['b.npy', '--formula', 'Sum_Reduction(x, 0)', ...out], /whole reduction/],
      [['b.npy', ...formula, '--unknown', 'u', ...out], /--unknown u is no alias of rows/],
      [
        ['b.npy', ...formula, '--alias', 'g=Pm(1)', '--unknown', 'g', ...out],
        /--unknown g is no alias of rows/,
      ],
      [
        [...linear, '--preconditioner', 'jacobi', ...out],
        /--preconditioner jacobi reads entries.*--unknown/,
      ],
      [[...linear, '--arg', 'u=b.npy', ...out], /--arg u is the data of the unknown/],
      [['a.npy', 'b.npy', '--unknown', 'u', ...out], /--unknown is of systems whose matrix/],
      [['b.npy', '--formula', 'Exp(', ...out], /--formula 'Exp\('/],
      [
        ['b.npy', ...formula, '--alias', 'x=Vi(2)', '--alias', 'y=Vj(2)', ...out],
        /--arg x is missing/,
      ],
    ];
    const runs = await mercerOneByOne(cases.map(([args]) => ['solve', ...args]));
    for (const [k, [args, message]] of cases.entries()) {
      expect({ args, status: runs[k]?.status }).toEqual({ args, status: 2 });
      expect(runs[k]?.stderr).toMatch(message);
    }
  });
});
