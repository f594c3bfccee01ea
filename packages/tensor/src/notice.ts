import process from 'node:process';

let given = false;

/** Whether Node was asked for no warnings; a notice is none, but nobody who asks for silence wants it. */
function isSilent(): boolean {
  const flags = [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/)];
  return process.env['NODE_NO_WARNINGS'] === '1' || flags.includes('--no-warnings');
}

/**
 * Says in one line on standard error what this machine lacks, and only the first thing: `mercer doctor` has the rest. No process
 * warning, which Node prints with a second line about its own flags.
 */
export function notice(what: string, quiet: string): void {
  if (given) return;
  given = true;
  if (isSilent()) return;
  process.stderr.write(`mercer: ${what}. More: npx mercer doctor. Silent with ${quiet}.\n`);
}
