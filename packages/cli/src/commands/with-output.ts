import type { Command } from 'commander';
import { Output } from '../output/output.js';

/** Options that every command takes. */
export interface CommonOptions {
  readonly json?: boolean;
  readonly debug?: boolean;
}

/** Adds `--json` and `--debug` to a command. */
export function withCommonOptions(command: Command): Command {
  return command
    .option('--json', 'print the result as JSON on standard output')
    .option('--debug', 'print stacks with errors');
}

/**
 * What a command does. A method, so that each command may declare the options that its own definition guarantees.
 */
interface CommandRunner {
  run(output: Output, options: CommonOptions, args: string[]): Promise<void>;
}

/**
 * Wraps what a command does: gives it an Output made from its options, its parsed options and its arguments.
 */
export function action(run: CommandRunner['run']): (this: Command) => Promise<void> {
  return async function (this: Command): Promise<void> {
    const options: CommonOptions = this.optsWithGlobals();
    const output = new Output({ json: options.json === true, debug: options.debug === true });
    try {
      await run(output, options, this.args);
    } finally {
      output.progress.clear();
    }
  };
}
