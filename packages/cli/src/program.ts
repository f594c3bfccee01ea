import { createRequire } from 'node:module';
import { Command } from 'commander';
import { benchCommand } from './commands/bench.js';
import { cacheCommand } from './commands/cache.js';
import { cdistGradCommand } from './commands/cdist-grad.js';
import { cdistCommand } from './commands/cdist.js';
import { demoCommand } from './commands/demo.js';
import { doctorCommand } from './commands/doctor.js';
import { eighCommand } from './commands/eigh.js';
import { kernelCommand } from './commands/kernel.js';
import { profileCommand } from './commands/profile.js';
import { reduceCommand } from './commands/reduce.js';
import { solveCommand } from './commands/solve.js';

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

/** The whole command line. Usage errors are thrown as CommanderError and nothing exits the process. */
export function createProgram(): Command {
  const program = new Command('mercer')
    .description(
      'Fused distances, kernel matrices and symbolic reductions on GPU and CPU, and linear algebra: check, run, measure and look.',
    )
    .version(version)
    .enablePositionalOptions()
    .showSuggestionAfterError();
  for (const command of [
    doctorCommand(),
    cdistCommand(),
    kernelCommand(),
    cdistGradCommand(),
    reduceCommand(),
    solveCommand(),
    eighCommand(),
    cacheCommand(),
    benchCommand(),
    profileCommand(),
    demoCommand(),
  ]) {
    program.addCommand(command);
  }
  configure(program);
  return program;
}

/** Commands added with addCommand inherit nothing: each gets the same error handling. */
function configure(command: Command): void {
  command.exitOverride().configureOutput({ outputError: () => undefined });
  command.commands.forEach(configure);
}
