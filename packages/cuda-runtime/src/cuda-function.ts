import { describeValue, type OptionNames } from '@mercer/options';
import { misuse } from './errors.js';
import { CudaGraphExec } from './graph.js';
import type { Addon } from './native/addon.js';
import type { FunctionHandle } from './native/handles.js';
import { handleOf, native } from './native/owned.js';
import { loadAddon } from './native/load-addon.js';
import { readOptions } from './read-options.js';
import type { CudaStream } from './stream.js';

/** How many blocks of how many threads, with how much dynamic shared memory. */
export interface LaunchGeometry {
  readonly grid: readonly [x: number, y: number, z: number];
  readonly block: readonly [x: number, y: number, z: number];
  readonly sharedMemBytes: number;
  /** Blocks per cluster (compute capability 9.0 and newer). */
  readonly cluster?: readonly [x: number, y: number, z: number] | undefined;
  /**
   * Lets the kernel begin before the one ahead has ended; it must wait with griddepcontrol itself. The one ahead should be such a kernel too: others are launched as graphs once they are
   * launched often, of which the whole is waited for (`MERCER_CUDA_LAUNCH_GRAPHS=0` has none).
   */
  readonly programmatic?: boolean | undefined;
}

const GEOMETRY: OptionNames<LaunchGeometry> = {
  grid: true,
  block: true,
  sharedMemBytes: true,
  cluster: true,
  programmatic: true,
};

/** What the compiler and the driver know about a kernel. */
export interface FunctionAttributes {
  readonly registers: number;
  readonly localBytes: number;
  readonly sharedBytes: number;
  readonly constBytes: number;
  readonly maxThreadsPerBlock: number;
  /** 90 for sm_90. */
  readonly binaryVersion: number;
}

/** A kernel of a loaded module. Usable until the module is disposed. */
export class CudaFunction {
  readonly #addon: Addon;
  readonly #geometry: Uint32Array;
  /** @internal */
  readonly [native]: FunctionHandle;
  readonly name: string;
  /** @internal */
  constructor(addon: Addon, handle: FunctionHandle, name: string) {
    this.#addon = addon;
    this.#geometry = loadAddon().geometry;
    this[native] = handle;
    this.name = name;
  }

  get attributes(): FunctionAttributes {
    const get = (attribute: number): number =>
      this.#addon.functionAttribute(this[native], attribute);
    return {
      maxThreadsPerBlock: get(0),
      sharedBytes: get(1),
      constBytes: get(2),
      localBytes: get(3),
      registers: get(4),
      binaryVersion: get(6),
    };
  }

  /** Byte sizes of the parameters in order; empty on drivers older than CUDA 12.4. */
  get paramBytes(): readonly number[] {
    return this.#addon.functionParamSizes(this[native]);
  }

  /**
   * Must be called before a launch with more than 48 KiB of dynamic shared memory.
   *
   * @see cuFuncSetAttribute: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html
   */
  setMaxDynamicSharedMem(bytes: number): void {
    this.#addon.functionSetAttribute(this[native], 8, bytes);
  }

  /**
   * Allows clusters of more than 8 blocks, which only some devices can run.
   *
   * @see cuFuncSetAttribute: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html
   */
  allowNonPortableClusterSize(): void {
    this.#addon.functionSetAttribute(this[native], 14, 1);
  }

  /**
   * How many blocks of this size one multiprocessor holds at a time.
   *
   * @see cuOccupancyMaxActiveBlocksPerMultiprocessor: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__OCCUPANCY.html
   */
  maxActiveBlocks(blockThreads: number, dynamicSharedBytes: number): number {
    return this.#addon.functionMaxActiveBlocks(this[native], blockThreads, dynamicSharedBytes);
  }

  /**
   * How many clusters of this geometry the device holds at a time.
   *
   * @see cuOccupancyMaxActiveClusters: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__OCCUPANCY.html
   */
  maxActiveClusters(geometry: LaunchGeometry): number {
    const read = readGeometry(this.name, geometry);
    this.#writeGeometry(read);
    return this.#addon.functionMaxActiveClusters(this[native]);
  }

  /**
   * Enqueues the kernel and returns. `params` holds the parameters packed like a C struct,
   * `paramOffsets` where each begins; both are copied during the call. The memory that pointers
   * among the parameters refer to must stay alive until the work is done (or be freed in the
   * stream's order).
   *
   * @see cuLaunchKernelEx: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html
   */
  launch(
    geometry: LaunchGeometry,
    stream: CudaStream,
    params: Uint8Array,
    paramOffsets: Uint32Array,
  ): void {
    const read = readGeometry(this.name, geometry);
    this.enqueue(read, stream, params, paramOffsets);
  }

  /** @internal As {@link launch}, with a geometry that has no other properties. */
  enqueue(
    geometry: LaunchGeometry,
    stream: CudaStream,
    params: Uint8Array,
    paramOffsets: Uint32Array,
  ): void {
    this.#writeGeometry(geometry);
    this.#addon.launch(this[native], handleOf(stream, 'CudaStream'), params, paramOffsets);
  }

  /**
   * Later launches of a graph launch this function so at a point of its capture, behind which it was captured alone. What is under way is not changed.
   * With `ofLoops` instead what `loopOf` makes of the graph later.
   *
   * @internal As {@link enqueue}: checked by the caller
   * @see cuGraphExecKernelNodeSetParams: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html
   */
  enqueueIn(
    geometry: LaunchGeometry,
    graph: CudaGraphExec,
    point: number,
    params: Uint8Array,
    paramOffsets: Uint32Array,
    ofLoops = false,
  ): void {
    this.#writeGeometry(geometry);
    const exec = handleOf(graph, 'CudaGraphExec');
    this.#addon.launchIn(this[native], exec, point, params, paramOffsets, ofLoops);
  }

  /**
   * The work of a graph in a loop of the device: once, and again as long as this function, which is launched behind each repetition, says so by
   * `cudaGraphSetConditional`. Its first parameter is what that takes, whatever is packed there.
   *
   * @internal As {@link enqueue}: checked by the caller
   * @throws MercerError NOT_SUPPORTED before CUDA 12.4; CudaError for work that no loop takes
   * @see cuGraphConditionalHandleCreate: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html
   */
  loopOf(
    geometry: LaunchGeometry,
    graph: CudaGraphExec,
    params: Uint8Array,
    paramOffsets: Uint32Array,
  ): CudaGraphExec {
    this.#writeGeometry(geometry);
    const exec = handleOf(graph, 'CudaGraphExec');
    const loop = this.#addon.loopOf(this[native], exec, params, paramOffsets);
    return new CudaGraphExec(this.#addon, loop);
  }

  #writeGeometry(geometry: LaunchGeometry): void {
    const { grid, block } = geometry;
    // Kernels leave these out, and Object.prototype may have them.
    const cluster = Object.hasOwn(geometry, 'cluster') ? geometry.cluster : undefined;
    const programmatic = Object.hasOwn(geometry, 'programmatic') && geometry.programmatic === true;
    const page = this.#geometry;
    page[0] = grid[0];
    page[1] = grid[1];
    page[2] = grid[2];
    page[3] = block[0];
    page[4] = block[1];
    page[5] = block[2];
    page[6] = geometry.sharedMemBytes;
    page[7] = cluster === undefined ? 0 : cluster[0];
    page[8] = cluster === undefined ? 0 : cluster[1];
    page[9] = cluster === undefined ? 0 : cluster[2];
    page[10] = programmatic ? 1 : 0;
    // A number that does not survive the trip (negative, fractional, above 2^32) must not launch.
    if (
      page[0] !== grid[0] ||
      page[1] !== grid[1] ||
      page[2] !== grid[2] ||
      page[3] !== block[0] ||
      page[4] !== block[1] ||
      page[5] !== block[2] ||
      page[6] !== geometry.sharedMemBytes ||
      (cluster !== undefined &&
        (page[7] !== cluster[0] || page[8] !== cluster[1] || page[9] !== cluster[2]))
    ) {
      throw notAGeometry(this.name, geometry);
    }
  }
}

function readGeometry(name: string, given: LaunchGeometry): LaunchGeometry {
  const what = `launching ${name}: the geometry`;
  const geometry = readOptions(what, given, GEOMETRY);
  const { grid, block, cluster = block } = geometry;
  if ([grid, block, cluster].every(isTriple)) return geometry;
  throw misuse(
    'INVALID_ARGUMENT',
    `${what} has grid ${describeValue(geometry.grid)}, block ${describeValue(geometry.block)}, ` +
      `cluster ${describeValue(geometry.cluster)}. Pass three numbers in an array for each; the cluster may be left out.`,
  );
}

const isTriple = (extents: unknown): boolean => Array.isArray(extents) && extents.length === 3;

function notAGeometry(name: string, geometry: LaunchGeometry): Error {
  return misuse(
    'INVALID_ARGUMENT',
    `${textOf(geometry)} is not a launch geometry of ${name}: ` +
      'extents and bytes must be whole numbers from 0 to 2^32 - 1. Correct the numbers.',
  );
}

function textOf(geometry: LaunchGeometry): string {
  return JSON.stringify(geometry, (_, value: unknown) =>
    typeof value === 'object' ? value : describeValue(value),
  );
}
