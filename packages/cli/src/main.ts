import { CommanderError } from 'commander';
import { usageError, type CliError } from './cli-error.js';
import { createProgram, versions } from './program.js';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0); // the reader, such as `head`, has seen enough
  throw error;
});

try {
  const args = withStreamsNamed(process.argv.slice(2));
  if (asksForVersions(args)) process.stdout.write(`${JSON.stringify(versions(), null, 2)}\n`);
  else await (await createProgram(args)).parseAsync(args, { from: 'user' });
} catch (error) {
  await fail(error);
}

function asksForVersions(args: readonly string[]): boolean {
  const [first, second, ...more] = [...args].sort();
  return first === '--json' && (second === '--version' || second === '-V') && more.length === 0;
}

/** An argument such as `-:x,y` is standard input and not an option; what stands behind `profile` is another program's. */
function withStreamsNamed(args: readonly string[]): string[] {
  if (args[0] === 'profile') return [...args];
  return args.map((arg, at) => {
    const isOutput = /^--(out|values|vectors)/.test(args[at - 1] ?? '');
    return isOutput ? arg : arg.replace(/^-(?=:|\.[a-z])/i, '/dev/stdin');
  });
}

async function fail(error: unknown): Promise<void> {
  if (error instanceof CommanderError && error.exitCode === 0) return;
  const usage = error instanceof CommanderError;
  const debug = process.argv.includes('--debug');
  const { colorsFor } = await import('./output/color.js');
  const { errorBlock, exitCodeOf } = await import('./output/error-block.js');
  const shown = usage ? usageMessage(error) : error;
  if (!usage || error.code !== 'commander.help') {
    process.stderr.write(errorBlock(shown, colorsFor(process.stderr, process.env), debug));
  }
  process.exitCode = usage ? 2 : exitCodeOf(error);
}

function usageMessage(error: CommanderError): CliError {
  const text = error.message.replace(/^error: /, '');
  return usageError(`${text}. Run with --help to see what is possible.`);
}
