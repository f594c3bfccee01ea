import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** What a run of the built command left behind. */
export interface BinRun {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The packages, as they are installed where vitest.shared.ts says so and else as they lie here (the GPU bundle). */
const PACKAGES =
  process.env['MERCER_TEST_INSTALLED'] ?? fileURLToPath(new URL('../../..', import.meta.url));
/** The package: programs that the tests profile import @mercer/core from here. */
const HERE = join(PACKAGES, 'cli');

/** A store of this test process's own: the user's is neither needed nor touched. */
const STORE = mkdtempSync(join(tmpdir(), 'mercer-cli-store-'));
process.once('exit', () => rmSync(STORE, { recursive: true, force: true }));

export const BIN = join(HERE, 'bin/mercer.js');

/** Runs the built command once for each list of arguments, and prints what every run left behind. */
const ONE_BY_ONE = `
  const [main, lists] = process.argv.slice(1);
  const print = process.stdout.write.bind(process.stdout);
  const runs = [];
  for (const [n, args] of JSON.parse(lists).entries()) {
    const run = { status: 0, stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) {
      process[name].write = (text) => ((run[name] += text), true);
    }
    process.argv = [process.execPath, 'mercer', ...args];
    process.exitCode = 0;
    await import(main + '?' + n);
    process.stdout.removeAllListeners('error');
    runs.push({ ...run, status: process.exitCode });
  }
  process.exitCode = 0;
  print(JSON.stringify(runs));
`;

/** Runs the built `mercer` as a user would, without a terminal, on the CPU. */
export function mercer(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<BinRun> {
  return node([BIN, ...args], env);
}

/** The same with bytes on standard input, and the bytes that it writes. */
export function mercerPiped(
  args: readonly string[],
  input: Uint8Array,
): Promise<BinRun & { readonly bytes: Buffer }> {
  return node([BIN, ...args], {}, input);
}

/** The same for several lists of arguments in one process, which is for commands that end before they compute. */
export async function mercerOneByOne(lists: readonly (readonly string[])[]): Promise<BinRun[]> {
  const main = pathToFileURL(join(HERE, 'dist/main.js')).href;
  const run = await node(['--input-type=module', '-e', ONE_BY_ONE, main, JSON.stringify(lists)]);
  if (run.status !== 0) throw new Error(`the runs ended with ${run.status}: ${run.stderr}`);
  return JSON.parse(run.stdout) as BinRun[];
}

function node(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  input?: Uint8Array,
): Promise<BinRun & { readonly bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...args], {
      cwd: HERE,
      env: { ...plainEnvironment(), MERCER_DEVICE: 'cpu', MERCER_CACHE_DIR: STORE, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const pieces: Buffer[] = [];
    let stderr = '';
    child.stdin.on('error', () => undefined); // a command that ends early closes it
    child.stdin.end(input);
    child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.on('error', reject);
    child.on('close', (status) => {
      const bytes = Buffer.concat(pieces);
      resolve({ status, stdout: bytes.toString(), stderr, bytes });
    });
  });
}

/** Without the settings that a test runner passes on. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const {
    FORCE_COLOR: _force,
    NO_COLOR: _no,
    MERCER_TEST_INSTALLED: _installed,
    ...rest
  } = process.env;
  return rest;
}

/** The same, with its standard output parsed; fails on anything but one JSON value. */
export async function mercerJson(
  args: readonly string[],
  env?: NodeJS.ProcessEnv,
): Promise<unknown> {
  // What follows the command of `profile` belongs to the profiled program.
  const [command = '', ...rest] = args;
  const all = command === 'profile' ? [command, '--json', ...rest] : [...args, '--json'];
  const run = await mercer(all, env);
  if (run.status !== 0) throw new Error(`mercer ${args.join(' ')} failed: ${run.stderr}`);
  return JSON.parse(run.stdout) as unknown;
}
