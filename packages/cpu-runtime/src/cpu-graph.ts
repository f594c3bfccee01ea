import { rawBinding } from './addon.js';
import { Branded } from './brand.js';
import type { RawGraph } from './raw-binding.js';

/**
 * Launches and copies captured from a stream, to be enqueued together any number of times with `stream.enqueueGraph`. Made by
 * `stream.endCapture()`. They read and write the memory that they were captured with, which the graph keeps.
 */
export class CpuGraph extends Branded {
  #raw: RawGraph;

  /** @internal Use `stream.endCapture()`. */
  constructor(raw: RawGraph) {
    super();
    this.#raw = raw;
  }

  /** @internal */
  get raw(): RawGraph {
    return this.#raw;
  }

  /** Number of operations captured. */
  get nodeCount(): number {
    return rawBinding().graphNodeCount(this.#raw);
  }

  /** Ends what `enqueueGraph` repeats of it, running or waiting, with the pass under way, or with the first; what is enqueued later is repeated. */
  stop(): void {
    rawBinding().stopGraph(this.#raw);
  }

  /** Lets the handle go; work that is enqueued still runs. */
  dispose(): void {
    rawBinding().disposeGraph(this.#raw);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
