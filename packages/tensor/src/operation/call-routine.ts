import type { Scalars } from '@mercer/kernels';
import type { LoadOptions, Stream, WatchOptions } from '../device.js';
import type { Tensor } from '../tensor.js';
import type { Enqueuing } from './enqueuing.js';

/** What a routine is called with. */
export interface RoutineCall extends WatchOptions, LoadOptions {
  readonly stream: Stream;
  /** By the names of its pointers; undefined for one that is not given. */
  readonly memory: Readonly<Record<string, Tensor | undefined>>;
  readonly scalars: Scalars;
}

/** Work of a call that no kernel does alone: that of a library, or of a worker thread. */
export interface CallRoutine {
  /**
   * Enqueues it without a generator, which a small call would spend its time on. Undefined where a call like one before may still wait for
   * more than room in the stream, or is many launches.
   *
   * @throws as `ready` and `enqueue`
   */
  readonly now: ((call: RoutineCall) => void) | undefined;
  /**
   * Makes and loads all that `enqueue` may need beside the tensors of a call, so that a prepared call waits for none of it.
   *
   * @throws as loading does
   */
  prepare(options: LoadOptions): Promise<void>;
  /**
   * Waits for what it needs beside memory, and looks whether it is there. All routines of a call are asked before the first one is
   * enqueued, so that nothing is written where something is missing.
   *
   * @throws as loading does, MercerError where a library is missing
   */
  ready(call: RoutineCall): Enqueuing;
  /** Enqueues it. Waits are optional where a prepared call is to give its results at once. */
  enqueue(call: RoutineCall): Enqueuing;
}
