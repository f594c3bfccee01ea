import { describeValue } from '@mercer/options';
import { X86_LEVELS, type CpuLevel } from './compiler/compile-options.js';
import { CpuRuntimeError } from './errors.js';
import { cpuInfo } from './report.js';

/** @throws CpuRuntimeError `UNSUPPORTED_CPU` for instructions that this processor lacks */
export function checkLevel(level: CpuLevel, what: string): void {
  const own = cpuInfo().level;
  if (level === own) return;
  const place = X86_LEVELS.indexOf(level);
  if (place >= 0 && place < X86_LEVELS.indexOf(own)) return;
  throw new CpuRuntimeError(
    'UNSUPPORTED_CPU',
    `${what} failed: this processor is ${own} and cannot run ${typeof level === 'string' ? level : describeValue(level)}. Leave the level out.`,
  );
}
