import { createRequire } from 'node:module';
import { Command } from 'commander';
import { examplesText } from './help-examples.js';
import { sectionsText } from './help-sections.js';
import { packageRoot } from './package-root.js';

/** A command by what the help says of it; the file with its options, and all that it computes with, is loaded when it is needed. */
interface Entry {
  readonly description: string;
  /** Other names of the command. */
  readonly aliases?: readonly string[];
  readonly load: () => Promise<() => Command>;
}

const SEE_ALSO = '\nSee also: mercer --help, for exit statuses, environment variables and files';

const COMMANDS: Readonly<Record<string, Entry>> = {
  doctor: {
    description: 'find out what this machine can run and what is missing',
    load: async () => (await import('./commands/doctor.js')).doctorCommand,
  },
  cdist: {
    description: 'distances between the rows of A and the rows of B, as a file',
    load: async () => (await import('./commands/cdist.js')).cdistCommand,
  },
  kernel: {
    description: 'a kernel matrix of the rows of A and of B, as a file',
    load: async () => (await import('./commands/kernel.js')).kernelCommand,
  },
  'weighted-differences': {
    description: 'out[o,n,m] = sum_k c[o,k] a[k,m] sign(t) |t|^(p-1), t = d[n,m] - b[n,k]',
    aliases: ['cdist-grad'], // its name in Kermac
    load: async () =>
      (await import('./commands/weighted-differences.js')).weightedDifferencesCommand,
  },
  reduce: {
    description: 'a formula of rows i and rows j, reduced over j or i without storing the matrix',
    load: async () => (await import('./commands/reduce.js')).reduceCommand,
  },
  solve: {
    description: 'the x of A x = B, with a stored A, or a formula for one that is not stored',
    load: async () => (await import('./commands/solve.js')).solveCommand,
  },
  eigh: {
    description: 'eigenvalues, ascending, and eigenvectors, in columns, of a symmetric matrix',
    load: async () => (await import('./commands/eigh.js')).eighCommand,
  },
  convert: {
    description: 'an array in another format, or columns of it',
    load: async () => (await import('./commands/convert.js')).convertCommand,
  },
  plot: {
    description: 'a picture of an array: points, lines, a heat map or images, as SVG or PNG',
    load: async () => (await import('./commands/plot.js')).plotCommand,
  },
  cache: {
    description: 'look after the store of compiled kernels',
    load: async () => (await import('./commands/cache.js')).cacheCommand,
  },
  bench: {
    description: 'measure kernels beside their limits and peers',
    load: async () => (await import('./commands/bench.js')).benchCommand,
  },
  profile: {
    description: "run a program and show what its kernels did, beside the device's limits",
    load: async () => (await import('./commands/profile.js')).profileCommand,
  },
  train: {
    description: 'train a network by one optimiser or several, with curves of their losses',
    load: async () => (await import('./commands/train.js')).trainCommand,
  },
  completion: {
    description: 'a script with which bash, zsh or fish completes commands and options',
    load: async () => {
      const { completionCommand } = await import('./commands/completion.js');
      return () => completionCommand(createProgram);
    },
  },
  demo: {
    description: 'see it work on real data',
    load: async () => (await import('./commands/demo.js')).demoCommand,
  },
};

/**
 * The command line. Usage errors are thrown as CommanderError and nothing exits the process.
 *
 * @param args where they are given, only the commands that they name are complete; the others have what `--help` shows of them
 */
export async function createProgram(args?: readonly string[]): Promise<Command> {
  const { version } = createRequire(packageRoot)('./package.json') as { version: string };
  const program = new Command('mercer')
    .description(
      'Fused distances, kernel matrices and symbolic reductions on GPU and CPU, and linear algebra: check, run, measure and look.',
    )
    .version(version)
    .enablePositionalOptions()
    .showSuggestionAfterError();
  for (const [name, { description, aliases = [], load }] of Object.entries(COMMANDS)) {
    const needed = args === undefined || [name, ...aliases].some((each) => args.includes(each));
    const create = needed ? await load() : () => new Command(name);
    program.addCommand(create().description(description).aliases(aliases));
  }
  configure(program);
  program.addHelpText('after', () => sectionsText(program));
  return program;
}

/** Commands added with addCommand inherit nothing: each gets the same error handling, its examples, and where the rest of the help is. */
function configure(command: Command, path = ''): void {
  command.exitOverride().configureOutput({ outputError: () => undefined });
  command.addHelpText('after', examplesText(path));
  if (path !== '') command.addHelpText('after', SEE_ALSO);
  for (const each of command.commands) configure(each, `${path} ${each.name()}`.trim());
}

/** What `mercer --version --json` prints: the versions that a report of an error needs. */
export function versions(): Readonly<Record<string, string>> {
  const require = createRequire(packageRoot);
  const versionOf = (file: string): string => (require(file) as { version: string }).version;
  return {
    version: versionOf('./package.json'),
    core: versionOf('@mercer/core/package.json'),
    node: process.version,
    platform: process.platform,
    arch: process.arch,
  };
}
