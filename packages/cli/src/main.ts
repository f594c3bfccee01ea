import { CommanderError } from 'commander';
import { colorsFor } from './output/color.js';
import { errorBlock, exitCodeOf } from './output/error-block.js';
import { createProgram } from './program.js';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0); // the reader, such as `head`, has seen enough
  throw error;
});

try {
  await createProgram().parseAsync(process.argv);
} catch (error) {
  fail(error);
}

function fail(error: unknown): void {
  if (error instanceof CommanderError && error.exitCode === 0) return;
  const usage = error instanceof CommanderError;
  const debug = process.argv.includes('--debug');
  const shown = usage ? usageMessage(error) : error;
  if (!usage || error.code !== 'commander.help') {
    process.stderr.write(errorBlock(shown, colorsFor(process.stderr, process.env), debug));
  }
  process.exitCode = usage ? 2 : exitCodeOf(error);
}

function usageMessage(error: CommanderError): Error {
  const text = error.message.replace(/^error: /, '');
  return new Error(`${text}. Run with --help to see what is possible.`);
}
