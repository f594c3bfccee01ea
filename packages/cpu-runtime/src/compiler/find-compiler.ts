import process from 'node:process';
import { execFile, execFileSync, type ExecFileException } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { CompilerNotFoundError, type Attempt } from '../errors.js';

/** A C++ compiler that answered and compiles for this machine. */
export interface CompilerInfo {
  /** Absolute path of the program. */
  readonly path: string;
  /** Arguments that come before all others (CXX="ccache g++" gives ["g++"]). */
  readonly prefix: readonly string[];
  readonly kind: 'gcc' | 'clang';
  /** First line of --version. */
  readonly version: string;
  /** Changes whenever the compiler does: goes into cache keys. */
  readonly identity: string;
}

interface Candidate {
  readonly label: string;
  readonly path: string;
  readonly prefix: readonly string[];
}

type Lookup = Candidate | Attempt;

const oldest = { gcc: 11, clang: 12 } as const; // the first that know -march=x86-64-v4
const versionTimeoutMs = 20_000;

/** An executable file of this name, by path or on PATH. */
function which(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
  const paths = name.includes('/') ? [name] : folders.map((folder) => join(folder, name));
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return statSync(path).isFile();
    } catch {
      return false;
    }
  });
}

function lookUp(label: string, command: string): Lookup {
  const whole = which(command);
  if (whole !== undefined) return { label, path: whole, prefix: [] };
  const [program = '', ...prefix] = command.split(/\s+/).filter((word) => word !== '');
  const path = prefix.length === 0 ? undefined : which(program);
  if (path !== undefined) return { label, path, prefix };
  const where = command.includes('/') ? 'no such executable file' : 'not on PATH';
  return { path: label, error: where };
}

function candidates(): Lookup[] {
  const fromEnvironment = process.env['CXX']?.trim();
  const named = ['c++', 'g++', 'clang++'].map((name) => lookUp(name, name));
  if (fromEnvironment === undefined || fromEnvironment === '') {
    return [{ path: 'CXX', error: 'the environment variable is not set' }, ...named];
  }
  return [lookUp(`CXX=${fromEnvironment}`, fromEnvironment), ...named];
}

// One call tells both: GCC and Clang print the version, then the target.
const questions = [['--version'], ['-dumpmachine'], ['-dumpversion']] as const;

/** Which file a path leads to, and which edition of it. */
function fileState(path: string): string {
  const real = realpathSync(path);
  const { size, mtimeMs } = statSync(real);
  return `${real} ${size} ${mtimeMs}`;
}

function judge(candidate: Candidate, answers: readonly string[]): CompilerInfo | string {
  const [banner = '', machine = '', dumped = ''] = answers.map((answer) => answer.trim());
  const version = banner.split('\n')[0] ?? '';
  const kind = /clang/i.test(banner)
    ? 'clang'
    : /g\+\+|gcc|Free Software Foundation/i.test(banner)
      ? 'gcc'
      : undefined;
  if (kind === undefined) return `neither GCC nor Clang: it calls itself "${version.slice(0, 80)}"`;
  const wanted = process.arch === 'arm64' ? /^(aarch64|arm64)/ : /^(x86_64|amd64)/;
  if (!wanted.test(machine)) {
    return `compiles for ${machine === '' ? 'an unknown machine' : machine}, not for ${process.arch}`;
  }
  const major = Number.parseInt(/(\d+)\.\d+/.exec(version)?.[1] ?? dumped, 10);
  if (!(major >= oldest[kind])) {
    return `too old: ${version}; needed is ${kind === 'gcc' ? 'GCC' : 'Clang'} ${oldest[kind]} or newer`;
  }
  const { path, prefix } = candidate;
  const identity = createHash('sha256')
    .update(JSON.stringify([fileState(path), prefix, version, machine]))
    .digest('hex');
  return { path, prefix, kind, version, identity: `${kind}-${major}-${identity}` };
}

function failure(error: unknown): string {
  const { code, signal, killed, message } = error as ExecFileException;
  if (killed === true) return `gave no answer to --version within ${versionTimeoutMs / 1000} s`;
  if (typeof signal === 'string') return `was killed by ${signal} when asked for its version`;
  if (typeof code === 'number') return `exited with status ${code} when asked for its version`;
  return message;
}

const environment = (): NodeJS.ProcessEnv => ({ ...process.env, LC_ALL: 'C' });

function ask(candidate: Candidate, question: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      candidate.path,
      [...candidate.prefix, ...question],
      { timeout: versionTimeoutMs, env: environment() },
      (error, stdout) => {
        if (error === null) resolve(stdout);
        else reject(new Error(failure(error), { cause: error }));
      },
    );
  });
}

const isAttempt = (lookup: Lookup): lookup is Attempt => 'error' in lookup;

function labelOf(candidate: Candidate): string {
  return candidate.label === candidate.path
    ? candidate.label
    : `${candidate.label} (${candidate.path})`;
}

/** What to install, per distribution. */
export const compilerRemedy =
  'Install a C++ compiler (GCC 11 or Clang 12, or newer): Debian and Ubuntu: apt-get install g++; Fedora and RHEL: ' +
  'dnf install gcc-c++; Arch: pacman -S gcc; Alpine: apk add g++; openSUSE: zypper install gcc-c++; macOS: ' +
  'xcode-select --install. Or point CXX at one.';

interface Remembered {
  readonly environment: string;
  readonly state: string;
  readonly info: CompilerInfo;
}

let remembered: Remembered | undefined;

/** Asking a compiler takes three processes; the answer holds while the environment and the file stay the same. */
function recall(): CompilerInfo | undefined {
  if (remembered?.environment !== searchEnvironment()) return undefined;
  try {
    return fileState(remembered.info.path) === remembered.state ? remembered.info : undefined;
  } catch {
    return undefined;
  }
}

const searchEnvironment = (): string => JSON.stringify([process.env['CXX'], process.env['PATH']]);

/**
 * Looks for a compiler: CXX, c++, g++, clang++, the first that answers, is GCC 11 or Clang 12 or newer, and compiles for this
 * machine. The answer follows the environment: another CXX, PATH or compiler file is noticed.
 *
 * @throws CompilerNotFoundError with every attempt and what to install
 */
export async function findCompiler(): Promise<CompilerInfo> {
  const known = recall();
  if (known !== undefined) return known;
  const attempts: Attempt[] = [];
  for (const candidate of candidates()) {
    if (isAttempt(candidate)) {
      attempts.push(candidate);
      continue;
    }
    try {
      const environment = searchEnvironment();
      const state = fileState(candidate.path);
      const answers = await Promise.all(questions.map((question) => ask(candidate, question)));
      const verdict = judge(candidate, answers);
      if (typeof verdict !== 'string') {
        remembered = { environment, state, info: verdict };
        return verdict;
      }
      attempts.push({ path: labelOf(candidate), error: verdict });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      attempts.push({ path: labelOf(candidate), error: why });
    }
  }
  throw new CompilerNotFoundError(attempts, compilerRemedy);
}

/** The same for reports: blocks for some milliseconds, never throws. */
export function findCompilerSync(): { compiler?: CompilerInfo; attempts: Attempt[] } {
  const attempts: Attempt[] = [];
  for (const candidate of candidates()) {
    if (isAttempt(candidate)) {
      attempts.push(candidate);
      continue;
    }
    try {
      const answers = questions.map((question) =>
        execFileSync(candidate.path, [...candidate.prefix, ...question], {
          timeout: versionTimeoutMs,
          env: environment(),
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'ignore'],
        }),
      );
      const verdict = judge(candidate, answers);
      if (typeof verdict !== 'string') return { compiler: verdict, attempts };
      attempts.push({ path: labelOf(candidate), error: verdict });
    } catch (error) {
      attempts.push({ path: labelOf(candidate), error: failure(error) });
    }
  }
  return { attempts };
}
