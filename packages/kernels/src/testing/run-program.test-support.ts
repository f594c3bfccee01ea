import { spawn, spawnSync } from 'node:child_process';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';

/** How a program ended, and what it wrote. */
export interface Ended {
  /** The exit status, or the name of the signal. */
  readonly status: number | string;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** A shell that runs a line at a time and answers with the status. */
interface Shell {
  readonly folder: string;
  readonly requests: number;
  readonly answers: number;
}

/**
 * It ends, and removes its folder, when the process that asks it is gone, however that ended: also where nobody reads the last answer. Programs that hang
 * end by their processor time.
 */
const LOOP =
  'trap : PIPE; ulimit -t 900; while IFS= read -r line; do eval "$line"; echo "$?"; done; rm -rf "$0"';

let shell: Shell | undefined;

function startShell(): Shell {
  const folder = mkdtempSync(join(tmpdir(), 'kernels-'));
  const paths = ['requests', 'answers'].map((name) => join(folder, name));
  const { stderr, status } = spawnSync('mkfifo', paths, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`no pipes in ${folder}: ${stderr}`);
  const open = (flags: string): number[] => paths.map((path) => openSync(path, flags));
  // Opened for both first, so that opening one end does not wait for the other.
  const both = open('r+');
  const [asked = -1, answers = -1] = open('r');
  const [requests = -1, answered = -1] = open('w');
  // In a session of its own: what interrupts the tests does not end it before it has cleaned up.
  spawn('/bin/sh', ['-c', LOOP, folder], {
    stdio: [asked, answered, 'ignore'],
    detached: true,
  }).unref();
  for (const end of [...both, asked, answered]) closeSync(end);
  return { folder, requests, answers };
}

/** A private folder for everything that is compiled. */
export function workFolder(): string {
  shell ??= startShell();
  return shell.folder;
}

/**
 * Runs a program to its end by a small shell: to start another process the system copies the page tables of this one, which takes ten
 * milliseconds where it has hundreds of megabytes.
 */
export function runProgram(
  program: string,
  args: readonly string[],
  input: Uint8Array = new Uint8Array(),
): Ended {
  shell ??= startShell();
  const { folder, requests, answers } = shell;
  const [into, out, errors] = ['in', 'out', 'err'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(into, input);
  const words = [program, ...args].map(quoted).join(' ');
  if (words.includes('\n')) throw new Error(`a request is one line: ${words}`);
  writeSync(requests, `${words} <${quoted(into)} >${quoted(out)} 2>${quoted(errors)}\n`);
  const status = readAnswer(answers);
  const signal = Object.entries(constants.signals).find(([, n]) => n === status - 128)?.[0];
  return {
    status: signal ?? status,
    stdout: readFileSync(out),
    stderr: readFileSync(errors, 'utf8'),
  };
}

const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;

function readAnswer(pipe: number): number {
  const bytes = Buffer.alloc(16);
  let length = 0;
  while (!bytes.subarray(0, length).includes('\n')) {
    const read = readSync(pipe, bytes, length, bytes.length - length, null);
    if (read === 0) throw new Error('the shell that runs the programs of the tests has ended');
    length += read;
  }
  return Number(bytes.toString('utf8', 0, length));
}
