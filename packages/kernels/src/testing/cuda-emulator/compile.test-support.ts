import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CudaKernel } from '../../emitted-kernel.js';
import { runnableLevels } from '../cpu-harness.test-support.js';
import { keptProgram } from '../kept-program.test-support.js';
import { runProgram, workFolder } from '../run-program.test-support.js';
import { HARNESS } from './harness.test-support.js';
import { hostSource, SHIM } from './shim.test-support.js';
import { translateSource } from './translate-source.test-support.js';

/** Named here, since they are no packages of ours. */
const COMPILER = 'g++';
const ADDRESS_TO_LINE = 'addr2line';

function run(args: readonly string[]): void {
  const { status, stderr } = runProgram(COMPILER, args);
  if (status !== 0) throw new Error(`g++ failed: ${stderr.slice(0, 4000)}`);
}

let shim: string | undefined;

/** The header in front of every kernel, so that lines of the kernel's file are lines of its text. */
function shimHeader(): string {
  if (shim === undefined) {
    shim = join(workFolder(), 'shim.h');
    writeFileSync(shim, SHIM);
  }
  return shim;
}

let harness: string | undefined;

/** The program that runs a compiled kernel. */
export function harnessProgram(): string {
  harness ??= keptProgram('cuda-emulator', HARNESS, (path) => {
    const source = join(workFolder(), 'harness.cpp');
    writeFileSync(source, HARNESS);
    run(
      ['-std=c++17', '-O2', '-U_FORTIFY_SOURCE', '-fno-stack-protector', '-rdynamic', '-w'].concat([
        ...[source, '-o', path, '-ldl'],
      ]),
    );
  });
  return harness;
}

const FLAGS = [
  ...['-std=c++17', '-O1', '-g1', '-fPIC', '-w', '-fno-exceptions', '-fno-rtti', '-fwrapv'],
  ...['-fno-strict-aliasing', '-fno-math-errno', '-fno-trapping-math', '-fno-stack-protector'],
];
/** Calls before every access, which the harness answers itself. */
const CHECKS = ['-fsanitize=thread,alignment,bounds', '-fno-sanitize-recover=all'];
/** Products and sums may fuse, as they do on a GPU, where this machine has an instruction for it. clang fuses them; g++ does not at -O1. */
const FUSED = runnableLevels().includes('x86-64-v3') ? ['-mfma'] : [];

const libraries = new Map<string, string>();

/** Compiles a kernel's text into a shared object, each text once per process. */
export function kernelLibrary(kernel: CudaKernel, check: boolean): string {
  const key = `${check} ${kernel.source}`;
  const known = libraries.get(key);
  if (known !== undefined) return known;
  const path = join(workFolder(), `k${libraries.size}`);
  const fused = kernel.options.some(({ name, value }) => name === 'fmad' && value === false)
    ? ['-ffp-contract=off']
    : ['-ffp-contract=fast'];
  writeFileSync(`${path}.cpp`, hostSource(translateSource(kernel.source), kernel.entry));
  run([
    ...[...FLAGS, ...FUSED, ...fused, ...(check ? CHECKS : [])],
    ...['-pipe', '-include', shimHeader(), '-shared', `${path}.cpp`, '-o', `${path}.so`],
    // calls of the checks, of libc and of libm stay open: the harness has them
    ...['-nostdlib', '-lgcc'],
  ]);
  libraries.set(key, `${path}.so`);
  return `${path}.so`;
}

/** The line of the kernel's text that an address of its library belongs to, undefined if unknown. */
export function lineOf(library: string, address: string): number | undefined {
  try {
    const offset = `0x${Number(address).toString(16)}`;
    const text = execFileSync(ADDRESS_TO_LINE, ['-i', '-e', library, offset], { encoding: 'utf8' });
    const line = /\/k\d+\.cpp:(\d+)/.exec(text)?.[1];
    return line === undefined ? undefined : Number(line);
  } catch {
    return undefined;
  }
}
