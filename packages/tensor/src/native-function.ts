import type { CpuGeometry, CudaGeometry } from '@mercer/kernels';
import type { CpuExecutor } from './cpu-executor.js';
import type { CapturedGraph, StreamCore } from './stream-core.js';

/** A kernel loaded on a device, below argument checking. @internal */
export interface NativeFunction {
  /** Whether it is machine code that was loaded for it, and not a program or a function of the runtime's own. */
  readonly isImage: boolean;
  /** What runs it on the CPU; undefined for a GPU, and for functions of the runtime's own. */
  readonly executor: CpuExecutor | undefined;
  /** Enqueues one launch; `packed` is copied before it returns, `keepAlive` lives until the launch is done. */
  launch(
    geometry: CpuGeometry | CudaGeometry,
    stream: StreamCore,
    packed: Uint8Array,
    keepAlive: readonly object[],
  ): void;
  /** Replays of a graph from now on, or loops made of it from now on, launch it so at a point of the capture, behind which it was captured alone; undefined on a CPU. */
  readonly launchIn?:
    | ((
        graph: CapturedGraph,
        point: number,
        geometry: CudaGeometry,
        packed: Uint8Array,
        ofLoops: boolean,
      ) => void)
    | undefined;
  /** A graph's work as a loop of the device, with this behind each repetition; undefined on a CPU. @throws where the driver has none, or not for such work */
  readonly loopOf?:
    | ((graph: CapturedGraph, geometry: CudaGeometry, packed: Uint8Array) => CapturedGraph)
    | undefined;
}
