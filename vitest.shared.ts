import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { TestProjectInlineConfiguration } from 'vitest/config';
import { hasNvidiaDevice } from './scripts/lib/gpu-tests.mjs';
import { workspacePackages } from './scripts/lib/workspace.mjs';

const installed = join(import.meta.dirname, 'node_modules/.cache/installed/node_modules');

/** What a package's exports name, and the file that each is where the package is installed. */
const installedEntries = workspacePackages().flatMap(({ name, manifest }) =>
  Object.entries<{ default?: string }>(manifest.exports).flatMap(([entry, { default: file }]) =>
    file === undefined
      ? []
      : [
          {
            find: new RegExp(`^${name}${entry.slice(1)}$`),
            replacement: join(installed, name, file),
          },
        ],
  ),
);

/** What every package's tests run with. */
export const packageTests = {
  /** Addons load once per process; threads of one would share their state. */
  pool: 'forks' as const,
  /** Three at least: part of a file's time it waits for compilers, processes and timers. */
  maxWorkers: Math.max(3, availableParallelism() - 1),
  sequence: { groupOrder: 1 },
  setupFiles: [join(import.meta.dirname, 'scripts/lib/typed-arrays-equal.mjs')],
  testTimeout: 60_000,
  hookTimeout: 60_000,
  /** A test that asserts nothing fails. */
  expect: { requireAssertions: true },
  /** Other packages load as a user has them, bundled, which takes a third of the time: only this package's sources go through the transformer. */
  alias: installedEntries,
  globalSetup: [join(import.meta.dirname, 'scripts/lib/installed.mjs')],
  server: { deps: { external: [/\/packages\/[^/]+\/dist\//] } },
};

type Executor = 'compiled' | 'interpreted';

/** How the tests of a package run. */
interface Settings {
  /**
   * Whether each file has a process of its own. Otherwise a process loads the sources, and compiles their JavaScript, once for many files, and no test
   * changes what others see but those of {@link OWN_PROCESS}.
   */
  readonly isolate?: boolean;
  /** The executor of the CPU; default compiled kernels. */
  readonly executor?: Executor;
  /**
   * The files that run on the other executor, so that every run covers both. The interpreter takes a fifth of the time. With MERCER_TEST_FULL=1 all files
   * of these packages run on compiled kernels.
   */
  readonly others?: readonly string[];
  /** Files that have a process of their own beside {@link OWN_PROCESS}: they choose an executor, or watch the garbage collection of the process. */
  readonly ownProcess?: readonly string[];
  /** Whether some kernels are compiled with fewer passes, but with MERCER_TEST_FULL=1: for packages whose tests compile hundreds. */
  readonly lighterKernels?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly setupFiles?: readonly string[];
  /** Tests of several processes run the built files. */
  readonly built?: boolean;
  readonly execArgv?: readonly string[];
}

const SETTINGS: Readonly<Record<string, Settings>> = {
  // Each rule runs on other small kernels, and solvers on small systems of many shapes: compiling them would take most of the time, and they have tests of their own.
  autodiff: { executor: 'interpreted' },
  optim: { executor: 'interpreted' },
  solvers: { executor: 'interpreted' },
  // Covering selections: every family of kernels, every layout and formulas at random are compiled here, derivatives in core.
  lazy: {
    lighterKernels: true,
    executor: 'interpreted',
    others: [
      'src/{reductions,joint-reduction,layouts,random-formulas,fast-math,out-dtype}.test.ts',
      'src/keops/keops-cases.test.ts',
    ],
    ownProcess: ['src/{large-formulas,changing-literals}.test.ts'],
  },
  pairwise: {
    lighterKernels: true,
    others: [
      'src/{run-kernel,run-kernel-backward,cdist-backward,weighted-differences}.test.ts',
      'src/blocks/blocks.test.ts',
    ],
  },
  linalg: { lighterKernels: true, others: ['src/backward/backward.test.ts'] },
  tensor: {
    lighterKernels: true,
    others: [
      'src/{creators/creators,indexing/indexing,map,map-lists}.test.ts',
      'src/arithmetic/{deferral,elementwise,reductions}.test.ts',
      'src/{shaping/shaping,sorting/sorting,totals/totals}.test.ts',
    ],
    ownProcess: ['src/{backstop,unsafe-kernel/unsafe-kernel}.test.ts'],
    // Not the user's cache.
    env: {
      MERCER_CACHE_DIR: join(import.meta.dirname, 'packages/tensor/node_modules/.cache/mercer'),
    },
  },
  // Random numbers begin anew in front of each file, so that they do not depend on what ran before it in its process.
  kernels: { setupFiles: ['src/testing/restart-random.test-support.ts'] },
  // The test of the intern table collects garbage on demand.
  formula: { execArgv: ['--expose-gc'] },
  // Compiled: derivatives of kernels, and what only compilers and compiled kernels do.
  core: {
    isolate: true,
    lighterKernels: true,
    executor: 'interpreted',
    others: [
      'src/{asynchronous-calls,bundles,first-calls,known-passes,numbers-in-formulas,order-of-operands,prototype-pollution,quiet}.test.ts',
      'src/{kernel,lazy,map,unsafe-kernel}-derivatives.test.ts',
      'src/{kernel-second-order,threads}.test.ts',
      'src/signals-of-{prepare,reductions}.test.ts',
    ],
  },
  options: {},
  'cpu-runtime': { isolate: true },
  'cuda-runtime': { isolate: true, built: true },
  'jit-cache': { isolate: true, built: true },
  // Compiled: commands that measure kernels, and those on the store of compiled ones.
  cli: {
    isolate: true,
    executor: 'interpreted',
    others: [
      'src/bench/suite.test.ts',
      'src/commands/{bench-keops,bench-kermac,bench-linalg,bench-solvers,cache-warm,machine,reduce}.test.ts',
    ],
  },
};

/** Files that change what others of their process would see, or watch the process. */
const OWN_PROCESS = ['src/**/*.{alone,stress,fake-gpu,fallback,gpu}.test.ts'];

const COMPILER = join(import.meta.dirname, 'scripts/lib/lighter-compiler.sh');
const isFull = process.env['MERCER_TEST_FULL'] === '1';
/** Without a device GPU tests would load everything and skip themselves; the reporter counts their files. */
const withoutDevice = hasNvidiaDevice ? [] : ['src/**/*.gpu.test.ts'];

/** The projects of a package's tests: by the executor, and whether files share a process. A run may name the executor of all. */
export function projectsOf(folder: string): TestProjectInlineConfiguration[] {
  const settings = SETTINGS[folder];
  if (settings === undefined)
    throw new Error(`vitest.shared.ts: no settings for packages/${folder}`);
  const { isolate = false, ownProcess = [] } = settings;
  const alone = [...OWN_PROCESS, ...ownProcess];
  const asked = process.env['MERCER_CPU'];
  const others = asked || isFull ? [] : (settings.others ?? []);
  const executor = isFull && settings.others ? 'compiled' : (settings.executor ?? 'compiled');
  const other = executor === 'compiled' ? 'interpreted' : 'compiled';
  const root = join(import.meta.dirname, 'packages', folder);
  const project = (
    name: string,
    include: readonly string[],
    exclude: readonly string[],
    own: { readonly isolate: boolean; readonly executor: Executor },
  ): TestProjectInlineConfiguration => ({
    root,
    test: {
      ...packageTests,
      name: `@mercer/${folder}${name}`,
      // Not in `exclude`, which would stand in the place of the command line's.
      include: [...include, ...[...exclude, ...withoutDevice].map((glob) => `!${glob}`)],
      isolate: own.isolate,
      env: {
        // Tests are of the executor that is named: not of whichever is ready first (docs/adr/0027).
        MERCER_CPU: asked || own.executor,
        // For tests that start processes over the packages.
        MERCER_TEST_INSTALLED: join(installed, '@mercer'),
        ...(settings.lighterKernels === true &&
          !isFull && { CXX: `${COMPILER} ${process.env['CXX'] || 'c++'}` }),
        ...settings.env,
      },
      setupFiles: [
        ...packageTests.setupFiles,
        ...(settings.setupFiles ?? []).map((file) => join(root, file)),
      ],
      globalSetup: [
        ...packageTests.globalSetup,
        ...(settings.built === true ? [join(root, 'vitest.global-setup.ts')] : []),
      ],
      ...(settings.execArgv && { execArgv: [...settings.execArgv] }),
    },
  });
  const all = ['src/**/*.test.ts'];
  const onOther =
    others.length > 0
      ? [project(`, ${other}`, others, isolate ? [] : alone, { isolate, executor: other })]
      : [];
  if (isolate) return [project('', all, others, { isolate, executor }), ...onOther];
  return [
    project('', all, [...alone, ...others], { isolate, executor }),
    ...onOther,
    project(', own process', alone, [], {
      isolate: true,
      executor: settings.others ? 'compiled' : executor,
    }),
  ];
}
