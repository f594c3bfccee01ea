import type { Addon } from './native/addon.js';
import type { GraphExecHandle, GraphHandle } from './native/handles.js';
import { Owned, handleOf, native } from './native/owned.js';
import type { CudaStream } from './stream.js';

/** Work captured from a stream. It keeps the modules and buffers that it was captured with. */
export class CudaGraph extends Owned<GraphHandle> {
  readonly #addon: Addon;
  /** @internal */
  constructor(addon: Addon, handle: GraphHandle) {
    super(handle);
    this.#addon = addon;
  }

  /** Number of operations captured. */
  get nodeCount(): number {
    return this.#addon.graphNodeCount(this[native]);
  }

  /**
   * Makes an executable form. The graph itself may be disposed afterwards.
   *
   * @see cuGraphInstantiateWithFlags: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html
   */
  instantiate(): CudaGraphExec {
    return new CudaGraphExec(this.#addon, this.#addon.graphInstantiate(this[native]));
  }

  override dispose(): void {
    this.#addon.graphDispose(this[native]);
  }
}

/** A graph ready to be launched any number of times, one launch at a time. */
export class CudaGraphExec extends Owned<GraphExecHandle> {
  readonly #addon: Addon;
  /** @internal */
  constructor(addon: Addon, handle: GraphExecHandle) {
    super(handle);
    this.#addon = addon;
  }

  /**
   * Enqueues all captured work on a stream of the same device.
   *
   * @see cuGraphLaunch: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html
   */
  launch(stream: CudaStream): void {
    this.#addon.graphExecLaunch(this[native], handleOf(stream, 'CudaStream'));
  }

  /**
   * Prepares the device in advance, so that the first launch is as quick as the others.
   *
   * @see cuGraphUpload: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html
   */
  upload(stream: CudaStream): void {
    this.#addon.graphExecUpload(this[native], handleOf(stream, 'CudaStream'));
  }

  override dispose(): void {
    this.#addon.graphExecDispose(this[native]);
  }
}
