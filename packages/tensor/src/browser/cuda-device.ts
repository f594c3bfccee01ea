import { noCuda } from '@mercer/options/browser';

export { noCuda as assertCudaIndex } from '@mercer/options/browser';

/** In the place of cuda-device.ts: there is none. */
export class CudaDevice {
  readonly kind = noCuda();
}

export { CudaDevice as CudaStreamCore };
