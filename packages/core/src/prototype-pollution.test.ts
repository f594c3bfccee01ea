import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { cpu } from '@mercer/cpu-runtime';
import ts from 'typescript';
import { afterAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const packages = path.resolve(import.meta.dirname, '../..');
const child = path.join(packages, 'core/dist/testing/polluted-process.test-support.js');
const cache = mkdtempSync(path.join(tmpdir(), 'mercer-polluted-'));

afterAll(() => {
  rmSync(cache, { recursive: true });
});

/** Names that an object of the library may lack and a function may read: optional properties, and defaults of patterns. */
function optionalNames(): readonly string[] {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isPropertySignature(node) && ts.isIdentifier(node.name)) {
      const mayLack = node.questionToken ?? /\bundefined\b/.exec(node.type?.getText() ?? '');
      if (mayLack !== null) names.add(node.name.text);
    }
    if (ts.isBindingElement(node) && node.initializer && ts.isObjectBindingPattern(node.parent)) {
      names.add((node.propertyName ?? node.name).getText());
    }
    ts.forEachChild(node, visit);
  };
  for (const name of readdirSync(packages)) {
    const source = path.join(packages, name, 'src');
    if (name === 'cli') continue;
    for (const file of readdirSync(source, { recursive: true, encoding: 'utf8' })) {
      if (!/^(?!.*\.(test|d)[.-]).*\.ts$/.test(file)) continue;
      const text = readFileSync(path.join(source, file), 'utf8');
      visit(ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true));
    }
  }
  return [...names].sort();
}

type Outcomes = readonly (readonly [operation: string, outcome: string])[];

/** What every operation gives in a process whose Object.prototype has these properties, each with this value. */
async function outcomes(
  executor: string,
  names: readonly string[],
  value: unknown,
  step: number,
): Promise<Outcomes> {
  const env = { ...process.env, MERCER_CPU: executor, MERCER_CACHE_DIR: cache };
  const args = [child, JSON.stringify(names), JSON.stringify(value), String(step)];
  const { stdout } = await run(process.execPath, args, { env, maxBuffer: 2 ** 26 });
  return JSON.parse(stdout) as Outcomes;
}

const VALUES = [true, 1, 'float64', [], { x: 1 }] as const;
const whole = process.env['MERCER_TEST_FULL'] === '1';

describe('properties on Object.prototype', () => {
  const names = optionalNames();

  it('are as many as the code may look for', () => {
    expect(names).toEqual(
      expect.arrayContaining([
        'ranges',
        'accumulate',
        'weight',
        'k',
        'saved',
        'value',
        'index',
        'out',
      ]),
    );
    expect(names.length).toBeGreaterThan(200);
  });

  it('change no bit of what any operation gives on the interpreter', { timeout: 120_000 }, () =>
    changeNothing('interpreted', [true, 1]),
  );

  // The calls of compiled kernels are remembered, so those of the process are made in other ways than the interpreter's.
  it.skipIf(cpu.report().compiler === undefined)(
    'change no bit of what compiled kernels give (skipped only without a C++ compiler)',
    { timeout: 300_000 },
    // most of the time goes into compilers
    () => changeNothing('compiled', ['float64'], whole ? 1 : 4),
  );

  async function changeNothing(executor: string, few: readonly unknown[], step = 1): Promise<void> {
    const wanted = await outcomes(executor, [], 1, step);
    expect(wanted.length).toBeGreaterThan(25);
    expect(wanted.filter(([, outcome]) => /^(undefined|[A-Z_]+) /.test(outcome))).toEqual([]);
    for (const value of whole ? VALUES : few) {
      const found = await outcomes(executor, names, value, step);
      expect(found, JSON.stringify(value)).toEqual(wanted);
    }
  }
});
