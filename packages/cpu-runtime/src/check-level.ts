import { X86_LEVELS, type CpuLevel } from './compiler/compile-options.js';
import { CpuRuntimeError } from './errors.js';
import { cpuInfo } from './report.js';

const LEVELS: readonly CpuLevel[] = ['arm64', ...X86_LEVELS];

/** @throws CpuRuntimeError `UNSUPPORTED_CPU` for instructions that this processor lacks */
export function checkLevel(level: CpuLevel, what: string): void {
  const own = cpuInfo().level;
  if (LEVELS.indexOf(level) <= LEVELS.indexOf(own)) return;
  throw new CpuRuntimeError(
    'UNSUPPORTED_CPU',
    `${what} failed: this processor is ${own} and cannot run ${level}. Leave the level out.`,
  );
}
