/**
 * Takes each protection of the cache away in turn, on a copy, and demands that its test fails.
 * `node mutants/run.mjs [text]` runs only those whose promise or name contains the text.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { mutants } from './mutants.mjs';

const root = join(import.meta.dirname, '..');
const area = join(root, 'build', 'mutants');
const require = createRequire(join(root, '..', '..', 'package.json'));
/** @type {typeof import('typescript')} */
const ts = require('typescript');
const vitest = join(require.resolve('vitest/package.json'), '..', 'vitest.mjs');

const config = `export default { test: { include: ['src/**/*.test.ts'], pool: 'forks', testTimeout: 20000 } };`;

/** A copy of the package in which one mutant at a time lives. */
function makeCopy(/** @type {string} */ name) {
  const copy = join(area, name);
  mkdirSync(copy, { recursive: true });
  for (const part of ['src', 'dist', 'package.json']) {
    cpSync(join(root, part), join(copy, part), { recursive: true });
  }
  mkdirSync(join(copy, 'build'));
  symlinkSync(join(root, 'build', 'Release'), join(copy, 'build', 'Release'));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  writeFileSync(join(copy, 'vitest.config.mjs'), config);
  return copy;
}

/** Writes a source file and what it compiles to, for the tests that start processes. */
function write(/** @type {string} */ copy, /** @type {string} */ file, /** @type {string} */ text) {
  writeFileSync(join(copy, 'src', file), text);
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
    fileName: file,
  });
  writeFileSync(join(copy, 'dist', file.replace(/\.ts$/, '.js')), outputText);
}

/** @returns {Promise<{ failed: number, passed: number, output: string }>} */
async function runTests(
  /** @type {string} */ copy,
  /** @type {string[]} */ files,
  /** @type {string} */ pattern,
) {
  const report = join(copy, 'report.json');
  rmSync(report, { force: true });
  const args = [
    vitest,
    'run',
    ...files,
    '-t',
    pattern,
    '--bail=1',
    '--reporter=json',
    `--outputFile=${report}`,
  ];
  const child = spawn(process.execPath, args, { cwd: copy, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  await new Promise((done) => child.on('close', done));
  try {
    const { numFailedTests, numPassedTests } = JSON.parse(readFileSync(report, 'utf8'));
    return { failed: numFailedTests, passed: numPassedTests, output };
  } catch {
    return { failed: 0, passed: 0, output };
  }
}

const wanted = process.argv[2] ?? '';
const chosen = mutants.filter(({ promise, name }) => `${promise} ${name}`.includes(wanted));
rmSync(area, { recursive: true, force: true });
const started = performance.now();

// Whoever is missed by a test that fails anyway would look killed: sound code must pass them all.
const sound = makeCopy('sound');
const files = [...new Set(chosen.map(({ test }) => test))];
const all = [...new Set(chosen.map(({ pattern }) => pattern))].join('|');
const baseline = await runTests(sound, files, all);
if (baseline.failed > 0 || baseline.passed === 0) {
  console.error(baseline.output);
  console.error(
    `Cannot judge mutants: ${baseline.failed} tests fail and ${baseline.passed} pass without any.`,
  );
  process.exit(1);
}

/** @type {{ mutant: import('./mutants.mjs').Mutant, verdict: string, seconds: number }[]} */
const results = [];
const queue = [...chosen];

async function work(/** @type {number} */ number) {
  const copy = makeCopy(`copy-${number}`);
  for (let mutant = queue.shift(); mutant; mutant = queue.shift()) {
    const begun = performance.now();
    const text = readFileSync(join(root, 'src', mutant.file), 'utf8');
    let verdict = 'killed';
    const edits = [mutant, ...(mutant.and ? [mutant.and] : [])];
    if (edits.some(({ find }) => text.split(find).length !== 2)) {
      verdict = 'STALE: its text does not stand exactly once in the source';
    } else {
      const mutated = edits.reduce((all, edit) => all.replace(edit.find, () => edit.replace), text);
      write(copy, mutant.file, mutated);
      const { failed, passed, output } = await runTests(copy, [mutant.test], mutant.pattern);
      if (failed === 0) verdict = passed > 0 ? 'SURVIVED' : `NO TEST RAN: ${output.slice(-500)}`;
      write(copy, mutant.file, text);
    }
    results.push({ mutant, verdict, seconds: (performance.now() - begun) / 1000 });
    process.stderr.write(verdict === 'killed' ? '.' : `\n${mutant.name}: ${verdict}\n`);
  }
}

// One more than there are cores: some mutants are found out by waiting in vain.
const atOnce = Math.min(4, availableParallelism() + 1);
await Promise.all(Array.from({ length: atOnce }, (_, n) => work(n)));
process.stderr.write('\n');
results.sort((a, b) => chosen.indexOf(a.mutant) - chosen.indexOf(b.mutant));
console.log('promise  verdict   seconds  protection taken away');
for (const { mutant, verdict, seconds } of results) {
  const cells = [
    String(mutant.promise).padStart(7),
    verdict.padEnd(8),
    seconds.toFixed(1).padStart(7),
  ];
  console.log(`${cells.join('  ')}  ${mutant.name}`);
}
const killed = results.filter(({ verdict }) => verdict === 'killed').length;
const minutes = ((performance.now() - started) / 60_000).toFixed(1);
console.log(
  `${killed} of ${results.length} killed, ${baseline.passed} tests pass without mutants, ${minutes} min`,
);
rmSync(area, { recursive: true, force: true });
if (
  killed < results.length ||
  (wanted === '' && new Set(results.map(({ mutant }) => mutant.promise)).size < 15)
) {
  process.exit(1);
}
