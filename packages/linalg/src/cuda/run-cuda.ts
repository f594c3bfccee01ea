import { MercerError } from '@mercer/tensor';
import type { Fields, Routine } from '../routine.js';
import type { CudaCall, CudaRoutine } from './cuda-call.js';
import { namingTheLibrary } from './naming-the-library.js';
import { gemm, gemmTf32, gemmTf32x3 } from './gemm.js';

/** By name of the routine. */
const cudaRoutines: ReadonlyMap<string, CudaRoutine> = new Map([
  ['gemm', gemm as CudaRoutine],
  ['gemm_tf32', gemmTf32 as CudaRoutine],
  ['gemm_tf32x3', gemmTf32x3 as CudaRoutine],
]);

/** Enqueues a routine on a GPU. @throws MercerError UNSUPPORTED where there is none; NO_BACKEND without the library */
export async function runCuda<F extends Fields>(
  { name }: Routine<F>,
  call: CudaCall<F>,
): Promise<void> {
  const routine = cudaRoutines.get(name);
  if (routine === undefined) {
    const { what, device } = call.setting;
    throw new MercerError(
      'UNSUPPORTED',
      `${what}: it is computed on the CPU only, and the tensors are on ${device.id}. Move them with to('cpu').`,
    );
  }
  await namingTheLibrary(call.setting, () => routine(call));
}
