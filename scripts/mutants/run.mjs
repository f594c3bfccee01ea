/**
 * Takes each protection of a package away in turn, on a copy, and demands that its tests fail. Runs in the package's folder, whose
 * `mutants/mutants.mjs` lists them: `node ../../scripts/mutants/run.mjs [text...]` runs only those whose promise or name contains one of
 * the texts; with `--covering` only one of each promise, and of the others it demands that their text stands in the source. `--share 0/3` takes every
 * third of what is chosen, from the first on.
 *
 * `--out FILE` records each verdict in a JSON file, with the tests that failed: what the file says of mutants that did not run stays.
 */
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { inShare } from '../lib/share.mjs';
import { record } from './record.mjs';

/**
 * One protection taken away: `find` must stand exactly once in `file` (under src/, or `../../lazy/src/...` of another package), and `and`, where
 * one place is not enough, in the same file. The tests of `test`, a file of the package or of another (`../lazy/src/...`), whose names
 * match `pattern` must then fail: one of them, or each with `each`.
 *
 * @typedef {{ find: string, replace: string }} Edit
 * @typedef {Edit & { promise: number | string, name: string, file: string, and?: Edit, test: string, pattern: string, each?: true }} Mutant
 */

const root = process.cwd();
const packages = dirname(root);
const workspace = dirname(packages);
const own = relative(packages, root);
const area = join(root, 'build', 'mutants');
let reports = 0;
const require = createRequire(join(workspace, 'package.json'));
/** @type {typeof import('typescript')} */
const ts = require('typescript');
const vitest = join(require.resolve('vitest/package.json'), '..', 'vitest.mjs');

/** @type {{ mutants: readonly Mutant[], promises?: number }} */
const { mutants, promises = 0 } = await import(
  pathToFileURL(join(root, 'mutants', 'mutants.mjs')).href
);

/**
 * A package's tests run as `npm test` runs them: on the same executor and with the same compiler. But they load other packages, and start
 * processes, from the copy. Mutants may wait in vain, so their tests end early; sound code has the time that a busy machine needs.
 */
const config = (
  /** @type {string} */ folder,
  /** @type {number} */ testTimeout,
) => `import own from ${JSON.stringify(join(packages, folder, 'vitest.config.ts'))};
const projects = own.test.projects.map(({ test: { alias, globalSetup, env, ...rest } }) => {
  const { MERCER_TEST_INSTALLED, ...kept } = env;
  const limits = { testTimeout: ${testTimeout}, hookTimeout: 60000 };
  const original = ${JSON.stringify(join(packages, folder))};
  const setupFiles = rest.setupFiles.map((file) => file.replace(original, import.meta.dirname));
  return { root: import.meta.dirname, test: { ...rest, ...limits, setupFiles, env: kept } };
});
export default { test: { projects } };`;

/** Whether a run reads a file: of what was built it does not read types, maps and tests. */
const isNeeded = (/** @type {string} */ file) =>
  !/\.(map|d\.ts|tsbuildinfo)$|\/dist\/.*\.test\.js$/.test(file);

/** A copy of the packages in which one mutant at a time lives; they load each other from the copy. */
function makeCopy(/** @type {string} */ name, testTimeout = 20_000) {
  const copy = join(area, name);
  for (const folder of readdirSync(packages)) {
    const [from, to] = [join(packages, folder), join(copy, 'packages', folder)];
    mkdirSync(to, { recursive: true });
    for (const part of readdirSync(from)) {
      if (part === 'build') {
        mkdirSync(join(to, part));
        if (existsSync(join(from, part, 'Release'))) {
          symlinkSync(join(from, part, 'Release'), join(to, part, 'Release'));
        }
      } else if (part === 'node_modules') linkModules(join(from, part), join(to, part), copy);
      else if (part === 'src' || part === 'dist' || part === 'test' || part === 'package.json') {
        cpSync(join(from, part), join(to, part), { recursive: true, filter: isNeeded });
      } else if (part === 'native') symlinkSync(join(from, part), join(to, part));
    }
    writeFileSync(join(to, 'vitest.config.mjs'), config(folder, testTimeout));
  }
  for (const part of ['node_modules', '.nvrtc', 'package.json']) {
    if (existsSync(join(workspace, part))) symlinkSync(join(workspace, part), join(copy, part));
  }
  return copy;
}

/** Processes that a stopped test left behind may still write into the copies for a moment. */
function removeCopies() {
  rmSync(area, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
}

/** What a package loads: packages of the workspace from the copy, everything else from where it is. */
function linkModules(
  /** @type {string} */ from,
  /** @type {string} */ to,
  /** @type {string} */ copy,
) {
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    const path = join(from, name);
    if (name === '.vite' || name === '.vite-temp') continue;
    if (name.startsWith('@')) {
      linkModules(path, join(to, name), copy);
      continue;
    }
    const real = realpathSync(path);
    const inWorkspace = dirname(real) === packages;
    symlinkSync(
      inWorkspace ? join(copy, 'packages', relative(packages, real)) : real,
      join(to, name),
    );
  }
}

/** Writes a source file and what it compiles to, for other packages and for the tests that start processes. */
function write(/** @type {string} */ copy, /** @type {string} */ file, /** @type {string} */ text) {
  const source = join(copy, 'packages', own, 'src', file);
  writeFileSync(source, text);
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
    fileName: file,
  });
  const place = relative(join(copy, 'packages'), source).split('/');
  place[1] = 'dist';
  writeFileSync(join(copy, 'packages', ...place).replace(/\.ts$/, '.js'), outputText);
}

const STALE = 'STALE: its text does not stand exactly once in the source';

/** Whether an edit of a mutant cannot be made. */
function isStale(/** @type {Mutant} */ { file, find, and }) {
  const text = readFileSync(join(root, 'src', file), 'utf8');
  return [find, ...(and ? [and.find] : [])].some((part) => text.split(part).length !== 2);
}

/** The first mutant of each promise. */
function covering(/** @type {readonly Mutant[]} */ list) {
  const promises = new Set();
  return list.filter(({ promise }) => promises.size < promises.add(promise).size);
}

/** @returns {Promise<{ failed: number, passed: number, killers: readonly string[], output: string }>} */
async function runTests(
  /** @type {string} */ copy,
  /** @type {string} */ test,
  /** @type {string} */ pattern,
  /** @type {{ each?: boolean }} */ { each = false } = {},
) {
  const path = join(copy, 'packages', own, test);
  const folder = join(copy, 'packages', relative(join(copy, 'packages'), path).split('/')[0] ?? '');
  const report = join(copy, `report-${reports++}.json`);
  const args = [
    ...[vitest, 'run', relative(folder, path), '-t', pattern],
    ...(each ? [] : ['--bail=1']),
    ...['--reporter=json', `--outputFile=${report}`],
  ];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  await new Promise((done) => child.on('close', done));
  try {
    const { numFailedTests, numPassedTests, testResults } = JSON.parse(
      readFileSync(report, 'utf8'),
    );
    const killers = /** @type {{ assertionResults: { status: string, fullName: string }[] }[]} */ (
      testResults
    ).flatMap(({ assertionResults }) =>
      assertionResults.flatMap(({ status, fullName }) => (status === 'failed' ? [fullName] : [])),
    );
    return { failed: numFailedTests, passed: numPassedTests, killers, output };
  } catch {
    return { failed: 0, passed: 0, killers: [], output };
  }
}

const { values: flags, positionals } = parseArgs({
  options: {
    out: { type: 'string' },
    covering: { type: 'boolean', default: false },
    share: { type: 'string', default: '0/1' },
  },
  allowPositionals: true,
});
const named = mutants.filter(
  ({ promise, name }) =>
    positionals.length === 0 || positionals.some((text) => `${promise} ${name}`.includes(text)),
);
const chosen = (flags.covering ? covering(named) : named).filter(inShare(flags.share));
const stale = named.filter((one) => !chosen.includes(one) && isStale(one));
for (const { name } of stale) console.error(`${name}: ${STALE}`);
for (const { name, find, replace } of named) {
  if (find === replace) throw new Error(`The mutant '${name}' changes nothing: mend its list.`);
}
removeCopies();
const started = performance.now();

// One more than there are cores: some mutants are found out by waiting in vain.
const atOnce = Math.min(4, availableParallelism() + 1, chosen.length);
const severally = (/** @type {(n: number) => Promise<void>} */ task) =>
  Promise.all(Array.from({ length: atOnce }, (_, n) => task(n)));

// Whoever is missed by a test that fails anyway would look killed: sound code must pass them all.
const sound = makeCopy('sound', 120_000);
const soundFiles = [...new Set(chosen.map(({ test }) => test))];
let soundTests = 0;

async function passSound() {
  for (let test = soundFiles.shift(); test; test = soundFiles.shift()) {
    const all = chosen.filter((one) => one.test === test).map(({ pattern }) => pattern);
    const pattern = [...new Set(all)].join('|');
    const isSound = (/** @type {{ failed: number, passed: number }} */ { failed, passed }) =>
      failed === 0 && passed > 0;
    let found = await runTests(sound, test, pattern);
    // What watches a clock may fail beside others: it is run a second time.
    if (!isSound(found)) found = await runTests(sound, test, pattern);
    const { failed, passed, output } = found;
    if (!isSound(found)) {
      console.error(output);
      console.error(
        `Cannot judge mutants: ${failed} tests of ${test} fail and ${passed} pass without any.`,
      );
      process.exit(1);
    }
    soundTests += passed;
  }
}

await severally(passSound);

/** @type {{ mutant: Mutant, verdict: string, killers: readonly string[], seconds: number }[]} */
const results = [];
const queue = [...chosen];

/** @returns {Promise<{ verdict: string, killers: readonly string[] }>} what the tests say of the mutant that lives in a copy */
async function judge(/** @type {string} */ copy, /** @type {Mutant} */ mutant) {
  const { failed, passed, killers, output } = await runTests(
    copy,
    mutant.test,
    mutant.pattern,
    mutant,
  );
  let verdict = 'killed';
  if (failed === 0) verdict = passed > 0 ? 'SURVIVED' : `NO TEST RAN: ${output.slice(-500)}`;
  else if (mutant.each && passed > 0) verdict = `SURVIVED ${passed} of ${passed + failed} tests`;
  return { verdict, killers };
}

async function work(/** @type {number} */ number) {
  const copy = makeCopy(`copy-${number}`);
  for (let mutant = queue.shift(); mutant; mutant = queue.shift()) {
    const begun = performance.now();
    const text = readFileSync(join(root, 'src', mutant.file), 'utf8');
    let verdict = STALE;
    /** @type {readonly string[]} */
    let killers = [];
    const edits = [mutant, ...(mutant.and ? [mutant.and] : [])];
    if (!isStale(mutant)) {
      const mutated = edits.reduce((all, edit) => all.replace(edit.find, () => edit.replace), text);
      write(copy, mutant.file, mutated);
      // A race may end well once: who seems to survive is run a second time.
      for (let run = 0; run < 2; run++) {
        ({ verdict, killers } = await judge(copy, mutant));
        if (verdict === 'killed') break;
        process.stderr.write(`\n${mutant.name}: ${verdict}\n`);
      }
      write(copy, mutant.file, text);
    }
    results.push({ mutant, verdict, killers, seconds: (performance.now() - begun) / 1000 });
    process.stderr.write(verdict === 'killed' ? '.' : `\n${mutant.name}: ${verdict}\n`);
  }
}

await severally(work);
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
if (flags.out !== undefined) {
  const file = join(workspace, flags.out);
  record(file, { package: own, list: mutants, results });
}
const killed = results.filter(({ verdict }) => verdict === 'killed').length;
const minutes = ((performance.now() - started) / 60_000).toFixed(1);
console.log(
  `${killed} of ${results.length} killed, ${soundTests} tests pass without mutants, ${minutes} min`,
);
try {
  removeCopies();
} catch (error) {
  console.error(
    `The copies could not be removed, which says nothing about the mutants: ${String(error)}`,
  );
}
const met = new Set(results.map(({ mutant }) => mutant.promise)).size;
if (stale.length > 0 || killed < results.length) process.exit(1);
if (positionals.length === 0 && flags.share === '0/1' && met < promises) process.exit(1);
