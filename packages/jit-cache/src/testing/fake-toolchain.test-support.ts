import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { hostToolchain } from '../toolchains/host.js';
import { nvrtcToolchain } from '../toolchains/nvrtc.js';
import type { CompileUnit, Toolchain } from '../types.js';

/** What a fake toolchain does; plain data, so that a child process can be given it. */
export interface FakeToolchainOptions {
  readonly identity?: string;
  readonly delayMs?: number;
  readonly bytes?: number;
  /** Every compile appends a line here: the count across processes. */
  readonly counterFile?: string;
  readonly fails?: boolean;
  /** A real compiler instead of the fake one, counted all the same. */
  readonly real?: 'host' | 'nvrtc';
}

/** Bytes that only this identity, source and target give, in the form of an ELF file. */
export function fakeBinary(identity: string, unit: CompileUnit, bytes = 4096): Uint8Array {
  const binary = new Uint8Array(Math.max(64, bytes));
  const body = binary.length - 64;
  const hash = createHash('shake128', { outputLength: Math.max(1, body) });
  binary.set(
    hash
      .update(JSON.stringify([identity, unit]))
      .digest()
      .subarray(0, body),
    64,
  );
  binary.set([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
  binary[18] = unit.target.startsWith('sm_') ? 190 : 62;
  return binary;
}

/** A toolchain that counts its compiles in a file. */
export function fakeToolchain(options: FakeToolchainOptions = {}): Toolchain {
  const { identity = 'fake 1.0', delayMs = 0, bytes, counterFile, fails } = options;
  return {
    name: 'fake',
    identity,
    async compile(unit) {
      if (counterFile) appendFileSync(counterFile, `${process.pid} ${unit.source}\n`);
      if (delayMs > 0) await sleep(delayMs);
      if (fails) throw new Error('the fake compiler failed');
      return {
        binary: fakeBinary(identity, unit, bytes),
        loweredNames: Object.fromEntries(unit.names.map((name) => [name, `_Z${name}`])),
        log: `compiled ${unit.source}`,
      };
    },
  };
}

/** The toolchain that the options ask for. */
export async function testToolchain(options: FakeToolchainOptions = {}): Promise<Toolchain> {
  if (options.real === undefined) return fakeToolchain(options);
  const real = options.real === 'host' ? await hostToolchain() : await nvrtcToolchain();
  return {
    ...real,
    compile(unit, limits) {
      if (options.counterFile) appendFileSync(options.counterFile, `${process.pid} real\n`);
      return real.compile(unit, limits);
    },
  };
}

/** Process numbers of all compiles so far. */
export function compilesIn(counterFile: string): number[] {
  if (!existsSync(counterFile)) return [];
  const lines = readFileSync(counterFile, 'utf8').trim().split('\n');
  return lines.filter(Boolean).map((line) => Number(line.split(' ')[0]));
}

/** A unit that differs from others by its source. */
export function fakeUnit(source: string, overrides: Partial<CompileUnit> = {}): CompileUnit {
  return {
    language: 'c++',
    source,
    options: [{ name: 'fmad', value: true }],
    target: 'x86-64-v3',
    names: ['entry'],
    ...overrides,
  };
}
