import type { CpuGeometry, CudaGeometry } from '@mercer/kernels';
import type { StreamCore } from './stream-core.js';

/** A kernel loaded on a device, below argument checking. @internal */
export interface NativeFunction {
  /** Enqueues one launch; `packed` is copied before it returns, `keepAlive` lives until the launch is done. */
  launch(
    geometry: CpuGeometry | CudaGeometry,
    stream: StreamCore,
    packed: Uint8Array,
    keepAlive: readonly object[],
  ): void;
}
