import { LibraryNotFoundError } from '@mercer/cuda-runtime';
import { MercerError } from '@mercer/tensor';
import type { Fields, Routine } from '../routine.js';
import type { CudaCall, CudaRoutine } from './cuda-call.js';
import { gemm } from './gemm.js';

/** By name of the routine. */
const cudaRoutines: ReadonlyMap<string, CudaRoutine> = new Map([['gemm', gemm as CudaRoutine]]);

/** Enqueues a routine on a GPU. @throws MercerError UNSUPPORTED where there is none; NO_BACKEND without the library */
export async function runCuda<F extends Fields>(
  { name }: Routine<F>,
  call: CudaCall<F>,
): Promise<void> {
  const routine = cudaRoutines.get(name);
  const { what, device } = call.setting;
  if (routine === undefined) {
    throw new MercerError(
      'UNSUPPORTED',
      `${what}: it is computed on the CPU only, and the tensors are on ${device.id}. Move them with to('cpu').`,
    );
  }
  try {
    await routine(call);
  } catch (cause) {
    if (!(cause instanceof LibraryNotFoundError)) throw cause;
    throw new MercerError('NO_BACKEND', `${what} on ${device.id}: ${cause.message}`, { cause });
  }
}
