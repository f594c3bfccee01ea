import type { CudaKernel, LaunchableKernel, KernelProgram } from '../emitted-kernel.js';
import {
  launchKernel,
  type Launch,
  type LaunchOptions,
  type Memory,
} from './cuda-emulator/launch.test-support.js';

export type { Memory } from './cuda-emulator/launch.test-support.js';

/**
 * Runs the text of a CUDA kernel on the CPU, one launch with the kernel's own geometry, and throws an
 * error with the block, the thread and the line where the kernel does what it must not:
 * - it touches memory outside its buffers or its shared arrays, or misaligned, or writes what it declares as read;
 * - threads use shared or device memory that another thread changes, with no barrier (in a warp: no
 *   `__syncwarp`) between them, or that a cp.async is still copying to;
 * - a barrier or a warp operation is not reached by all, or inline assembly is unknown;
 * - parameters, launch bound and geometry do not fit together.
 *
 * Shared memory starts as NaN (all bits set) in each block. An address is as aligned as the view it comes
 * from: `byteOffset` modulo 256. Products and sums may fuse, as on a GPU.
 *
 * ```text
 * const { kernel } = emitPairwise(plan).steps[0];
 * const a = Float32Array.of(0, 3), b = Float32Array.of(0, 4), out = new Float32Array(1);
 * const scalars = { m: 1, n: 1, k: 2, batch: 1, lda: 2, ldb: 2, ldo: 1 };
 * const strides = { batchStrideA: 2, batchStrideB: 2, batchStrideOut: 1, p: 2 };
 * // one pointer per pointer parameter of the kernel, in its order; out is written in place
 * runCudaKernel(kernel as CudaKernel, {
 *   scalars: { ...scalars, ...strides },
 *   pointers: [a, b, out],
 * });
 * ```
 */
export function runCudaKernel(kernel: CudaKernel, launch: Launch): void {
  launchKernel(kernel, launch);
}

/**
 * Runs the steps of a program in order, pointers by the names of the parameters. A workspace of the
 * program's size, filled with NaN, goes to the parameter `workspace`.
 */
export function runCudaProgram(
  program: KernelProgram<LaunchableKernel>,
  launch: {
    readonly scalars: Readonly<Record<string, number>>;
    readonly pointers: Readonly<Record<string, Memory | null>>;
    readonly options?: LaunchOptions;
  },
): void {
  const { scalars, options = {} } = launch;
  const workspace = new Uint8Array(program.workspaceBytes(scalars)).fill(255);
  const byName: Readonly<Record<string, Memory | null>> = { workspace, ...launch.pointers };
  for (const { kernel, scalars: own } of program.steps) {
    if (kernel.dialect !== 'cuda') throw new TypeError(`${kernel.name} is no CUDA kernel`);
    const pointers = kernel.params.flatMap(({ kind, name }) => {
      if (kind !== 'pointer') return [];
      const memory = byName[name];
      if (memory === undefined) throw new TypeError(`kernel ${kernel.entry}: no pointer ${name}`);
      return [memory];
    });
    launchKernel(kernel, { scalars: { ...scalars, ...own }, pointers, options });
  }
}
