import type { DeviceCore } from '../device-core.js';
import type { DeviceKernel } from '../device-kernel.js';
import type { StorageBlock } from '../storage-block.js';
import type { CapturedGraph, RepeatedGraph, StreamCore } from '../stream-core.js';

/** Captured work that a GPU repeats by itself, from the second repetition on: a kernel behind each says whether there is another. */
export class DeviceLoop {
  readonly graph: CapturedGraph;
  readonly #device: DeviceCore;
  /** Repetitions that are left, which the kernel counts. */
  readonly #left: StorageBlock;

  private constructor(device: DeviceCore, graph: CapturedGraph, left: StorageBlock) {
    this.#device = device;
    this.graph = graph;
    this.#left = left;
  }

  /**
   * The loop, or undefined where the driver has none, or not for such work: then the host launches each repetition.
   *
   * @param repeats what decides
   * @param rests no further repetition when none of these numbers is 0
   */
  static of(
    device: DeviceCore,
    repeats: DeviceKernel,
    work: CapturedGraph,
    rests: RepeatedGraph['rests'],
  ): DeviceLoop | undefined {
    const left = device.take(4, 'repetitions left', device.ownStream);
    const args = repeats.newArguments();
    args.packer.setPointer(0, rests?.address ?? 0);
    args.packer.setPointer(1, left.address);
    repeats.setScalars(args, { decision: 0, count: rests?.count ?? 0 });
    try {
      const graph = repeats.loopOf(work, args);
      if (graph !== undefined) return new DeviceLoop(device, graph, left);
    } catch {
      // told by what the caller does instead
    }
    left.dispose();
    return undefined;
  }

  /** The next launch does the work so many times at most, once at least. */
  begin(times: number, queue: StreamCore): void {
    this.#left.beforeWrite(queue);
    this.#device.memset(this.#left, 0, 1, 4, BigInt(times), queue);
    this.#left.noteWrite(queue);
  }

  dispose(): void {
    this.graph.dispose();
    this.#left.dispose();
  }
}
