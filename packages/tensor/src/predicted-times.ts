import { tileWork, type CpuLimits, type EmittedKernel } from '@mercer/kernels';

/*
 * Measured by scripts/start-time/predicted-times.mjs on two cores of an Intel Xeon with AVX-512 that other programs used as well, g++ 12,
 * least of four: the compiler took 102 ms for a text of 3847 characters, 146 ms for 9683 and 220 ms for 17,112. Sums over four million pairs took
 * the interpreter 1.3 to 58 ms, 0.4 to 2.8 times what is predicted here.
 */
const COMPILE_MS = 70;
const COMPILE_MS_PER_CHARACTER = 0.008;
/** Additions of vectors on one core. */
const VECTORS_PER_MS = 7e5;

/** How long the C++ compiler is expected to take for a kernel. */
export function predictedCompileMs({ source }: EmittedKernel): number {
  return COMPILE_MS + COMPILE_MS_PER_CHARACTER * source.length;
}

/** How long the interpreter is expected to take for so many values of a kernel that has a program. */
export function predictedInterpreterMs(
  kernel: EmittedKernel,
  values: number,
  { level, cores }: CpuLimits,
): number {
  const program = kernel.dialect === 'cpu' ? kernel.program : undefined;
  if (program === undefined) return Infinity;
  return (values * tileWork(program, level)) / (VECTORS_PER_MS * cores);
}
