import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CompileUnit, Toolchain } from '../types.js';

/** What a fake toolchain does; plain data, so that a child process can be given it. */
export interface FakeToolchainOptions {
  readonly identity?: string;
  readonly delayMs?: number;
  readonly bytes?: number;
  /** Every compile appends a line here: the count across processes. */
  readonly counterFile?: string;
  readonly fails?: boolean;
}

/** Bytes that only this identity, source and target give, in the form of an ELF file. */
export function fakeBinary(identity: string, unit: CompileUnit, bytes = 4096): Uint8Array {
  const binary = new Uint8Array(Math.max(64, bytes));
  let block = createHash('sha256')
    .update(JSON.stringify([identity, unit]))
    .digest();
  for (let at = 64; at < binary.length; at += 32) {
    binary.set(block.subarray(0, Math.min(32, binary.length - at)), at);
    block = createHash('sha256').update(block).digest();
  }
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
      if (counterFile) appendFileSync(counterFile, `${String(process.pid)} ${unit.source}\n`);
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
