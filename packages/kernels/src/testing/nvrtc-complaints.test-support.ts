import { nvrtc } from '@mercer/cuda-runtime';
import { expect } from 'vitest';
import type { NamedKernel } from '../named-kernel.test-support.js';
import { covering } from '../../../formula/test/covering.mjs';

/** Every default plan compiles for these: for one of both, or for both with MERCER_TEST_FULL=1. */
export const EVERY_PLAN = ['sm_90a', 'sm_120'] as const;
/** Some plans of each kind compile for these. */
export const SOME_PLANS = ['sm_80', 'sm_86', 'sm_89', 'sm_100'] as const;
export const ARCHITECTURES = [...EVERY_PLAN, ...SOME_PLANS] as const;

/**
 * The kernels that a run compiles for an architecture: every other one, and of {@link SOME_PLANS} every other one of `some`, so that each has its
 * turn on the next architecture; all with MERCER_TEST_FULL=1.
 */
export function chosenFor(
  arch: (typeof ARCHITECTURES)[number],
  kernels: readonly NamedKernel[],
  some = kernels,
): readonly NamedKernel[] {
  const at = ARCHITECTURES.indexOf(arch);
  return covering(at < EVERY_PLAN.length ? kernels : some, at);
}

/**
 * Bytes that kernels of this name may keep in memory, once: a float64 division is a call in fixed
 * registers, and what is alive around it gives way.
 */
const aroundCalls = (name: string): number => (name.includes('float64') ? 64 : 0);

/** Compiles a text with NVRTC for an architecture and gives what the assembler tells about it. */
export async function assemblerLog(source: string, arch: string): Promise<string> {
  const options = [`--gpu-architecture=${arch}`, '--ptxas-options=-v'];
  const { log } = await nvrtc.compile({ source, options });
  expect(log).toContain('registers');
  return log;
}

/** Compiles kernels and gives every line about a warning or about more spilled bytes than allowed. */
export async function complaints(
  kernels: readonly NamedKernel[],
  arch: string,
  spillBytes: (name: string) => number = aroundCalls,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { name, kernel } of kernels) {
    for (const line of (await assemblerLog(kernel.source, arch)).split('\n')) {
      const spilled = Number(/(\d+) bytes spill stores/.exec(line)?.[1] ?? 0);
      if (spilled > spillBytes(name) || line.includes('warning'))
        found.push(`${name}: ${line.trim()}`);
    }
  }
  return found;
}
