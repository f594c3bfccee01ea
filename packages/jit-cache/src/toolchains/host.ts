import { createRequire } from 'node:module';
import { cpu, hostCompileOptions, type CpuLevel } from '@mercer/cpu-runtime';
import { CacheError } from '../errors.js';
import type { Toolchain } from '../types.js';

const LEVELS: readonly CpuLevel[] = ['x86-64-v2', 'x86-64-v3', 'x86-64-v4', 'arm64'];

function runtimeVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)('@mercer/cpu-runtime/package.json');
  const known = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return known ? String(manifest.version) : '';
}

function level(target: string): CpuLevel {
  const found = LEVELS.find((candidate) => candidate === target);
  if (found) return found;
  throw new CacheError(
    'TARGET_UNSUPPORTED',
    `Cannot compile C++ for ${target}: it is no level of instructions. Give one of ${LEVELS.join(', ')}.`,
  );
}

/**
 * The C++ compiler of this machine, as `@mercer/cpu-runtime` finds it. Its identity changes with
 * the compiler and with the version of the runtime, which decides the flags.
 *
 * @throws CompilerNotFoundError with every place that was tried
 */
export async function hostToolchain(): Promise<Toolchain> {
  const compiler = await cpu.findCompiler();
  return {
    name: compiler.kind === 'gcc' ? 'g++' : 'clang++',
    identity: `host ${compiler.identity}; cpu-runtime ${runtimeVersion()}`,
    async compile({ source, options, target, names }, limits = {}) {
      const { binary, log } = await cpu.compile({
        source,
        options: hostCompileOptions(options),
        level: level(target),
        compiler,
        ...limits,
      });
      // Entries are extern "C": their names are what they are called.
      return { binary, log, loweredNames: Object.fromEntries(names.map((name) => [name, name])) };
    },
  };
}
