import { empty, type Stream, type Tensor } from '@mercer/tensor';
import type { LinalgDType } from '../../checks.js';
import type { MatrixOperand } from '../../operand.js';
import type { HostBlock } from './host-matrices.js';
import type { PinnedRing } from './pinned-ring.js';

interface Slot {
  readonly memory: Tensor;
  key: string | undefined;
}

/** Room on the device for two blocks of a factor: one arrives while the other one is multiplied. */
export class FactorBlocks implements Disposable {
  readonly #slots: readonly Slot[];
  readonly #ring: PinnedRing;
  readonly #stream: Stream;
  #latest = 0;

  constructor(dtype: LinalgDType, elements: number, ring: PinnedRing, stream: Stream) {
    const { device } = stream;
    const first = empty([elements], { dtype, device, stream });
    try {
      const second = empty([elements], { dtype, device, stream });
      this.#slots = [first, second].map((memory) => ({ memory, key: undefined }));
    } catch (error) {
      first.dispose();
      throw error;
    }
    this.#ring = ring;
    this.#stream = stream;
  }

  /** The block on the device, copied there unless it is one of the last two. Resolves when the copies are enqueued. */
  async get(block: HostBlock): Promise<MatrixOperand> {
    let index = this.#slots.findIndex(({ key }) => key === block.key);
    if (index < 0) {
      index = 1 - this.#latest;
      const slot = this.#slots[index] as Slot;
      slot.key = undefined;
      await this.#ring.upload(block, slot.memory, this.#stream);
      slot.key = block.key;
    }
    this.#latest = index;
    return block.lying((this.#slots[index] as Slot).memory);
  }

  [Symbol.dispose](): void {
    for (const { memory } of this.#slots) memory.dispose();
  }
}
