// Compares every file of bench/results with the version that was committed before it, as `mercer bench compare` does: a row that lost more
// than a tenth of its ratio to the floor or peer of its run fails, unless ACCEPTED says why. Where the history has no earlier version
// there is nothing to compare, and files of benchmarks without floors and peers are passed by.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../lib/workspace.mjs';

/**
 * Rows that were let fall, by file and row, with the reason or where it stands.
 * @type {Record<string, Record<string, string>>}
 */
const ACCEPTED = {
  'cpu-keops.json': {
    'gaussianSum 1000 x 1000, D = 100':
      'the clock differs from hour to hour; the kernel alone, with the exponential of before and with that of now in turns, took 2.40 and 2.35 ns a pair on one core',
  },
  'h200-calls.json': {
    'cdist, ordinary':
      'bound by the host, whose times differ from minute to minute: 7.5 us in this run, 4.5 in one of the same machine just before',
  },
  'h200-keops.json': {
    'gaussianSum 1000 x 1000, D = 3':
      'bound by the host, whose launch alone took 10.4 us in this run and 7.5 in the one before; the plan is the same',
  },
  'h200-optim.json': {
    'sgd 10000000, step':
      'bound by the host, which was busier: torch, foreach, took 544 us in this run and 450 in the one before; replayed it takes 74.5 us, and took 74.7',
    'adam 10000000, step':
      'bound by the host, which was busier: torch, foreach, took 2.28 ms in this run and 1.82 in the one before; replayed it takes 96.5 us, and took 96.3',
    'adamW 10000000, step':
      'bound by the host, which was busier: torch, foreach, took 2.32 ms in this run and 1.76 in the one before; replayed it takes 98.7 us, and took 98.8',
    'lbfgs 10000000, step':
      'bound by the host, which was busier; torch waits for the device less often',
    'perSample 1103142912, gradients of each example':
      'bound by the host, which was busier; replayed they take 1.34 ms, and took 1.35',
    'perSample 1103142912, their norms':
      'bound by the host, which was busier; replayed they take 214 us, and took 215',
  },
  'h200-keops-curves.json': {
    'gaussianSum 100 x 100, D = 3':
      'it takes 12.7 us, before 13.8; its floor is one launch, which took 8.2 us in this run and 10.3 in the one before',
  },
};

const from = (/** @type {string} */ file) =>
  import(pathToFileURL(path.join(root, 'packages/cli/dist/bench/compare', file)).href);
const { compareReports } = await from('compare-reports.js');
const { measuredRows } = await from('measured-rows.js');

const git = (/** @type {string[]} */ ...args) =>
  execFileSync('git', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'pipe'],
  });

/** The content of a file in the commit before the one that wrote it as it is; undefined where there is none. */
function earlierVersion(/** @type {string} */ file) {
  try {
    const isChanged = git('status', '--porcelain', '--', file) !== '';
    const commits = git('log', '-2', '--format=%H', '--', file).split('\n').filter(Boolean);
    const commit = commits[isChanged ? 0 : 1];
    return commit && git('show', `${commit}:${file}`);
  } catch {
    return undefined;
  }
}

/** What is said of two versions of a file; undefined where there is nothing to compare. */
function comparison(
  /** @type {string} */ file,
  /** @type {string} */ before,
  /** @type {string} */ after,
) {
  try {
    return compareReports(measuredRows(file, before), measuredRows(file, after));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'NOT_A_REPORT' || code === 'USAGE') return undefined;
    throw error;
  }
}

let [compared, rows, failures] = [0, 0, 0];
for (const name of readdirSync(path.join(root, 'bench/results')).sort()) {
  if (!name.endsWith('.json')) continue;
  const file = `bench/results/${name}`;
  const before = earlierVersion(file);
  if (before === undefined) continue;
  const found = comparison(file, before, readFileSync(path.join(root, file), 'utf8'));
  if (found === undefined) continue;
  compared++;
  rows += found.compared;
  const accepted = ACCEPTED[name] ?? {};
  for (const row of found.fell) {
    if (accepted[row.name] !== undefined) continue;
    failures++;
    console.error(
      `${file}: ${row.name} fell against ${row.against} from ${row.before.toPrecision(3)} to ${row.after.toPrecision(3)}`,
    );
  }
  for (const row of Object.keys(accepted)) {
    if (found.fell.some((/** @type {{ name: string }} */ one) => one.name === row)) continue;
    failures++;
    console.error(`${file}: ${row} is accepted here, and did not fall. Take it out of ACCEPTED`);
  }
}
console.log(`${compared} files of bench/results compared with their versions before, ${rows} rows`);
if (failures > 0) {
  console.error(
    `${failures} rows. Make them as quick as they were, or write the reason into ACCEPTED of scripts/checks/bench-compare.mjs`,
  );
  process.exitCode = 1;
}
