import { tensor, type Device, type Stream, type StridedSource, type Tensor } from '@mercer/tensor';
import { HeldBlocks, isRowReader, readRows, viewOf, type Rows } from '@mercer/tensor/operation';
import { hostLayout } from '../host-shape.js';
import type { Input } from '../input.js';
import type { LazyDType } from '../lazy-dtype.js';
import type { LazyData } from '../make-input.js';
import { viewAfter, type ViewStep } from '../view-step.js';
import { withSteps } from '../with-steps.js';

/** The rows of a cell, of i and of j. */
export interface Cell {
  readonly i: Rows;
  readonly j: Rows;
}

/** Where blocks of inputs go. */
export interface BlockPlace {
  readonly device: Device;
  /** What brings them there. */
  readonly stream: Stream;
  readonly dtype: LazyDType;
}

/** The blocks of inputs that a device holds: each is brought there once while anything uses it, and what lies there already is not copied. */
export class BlockInputs {
  readonly #inputs: readonly Input[];
  readonly #used: ReadonlySet<number>;
  readonly #place: BlockPlace;
  readonly #held = new HeldBlocks<Input>(({ source }) => {
    if (source.kind === 'tensor') source.tensor.dispose();
  });

  constructor(inputs: readonly Input[], used: ReadonlySet<number>, place: BlockPlace) {
    this.#inputs = inputs;
    this.#used = used;
    this.#place = place;
  }

  /** The inputs of a cell on the device; each call needs a `release`. */
  async take(cell: Cell, signal: AbortSignal): Promise<readonly Input[]> {
    const taken = this.#inputs.map((one, place) =>
      this.#held.take(keyOf(one, place, cell), () => this.#bring(one, place, cell, signal)),
    );
    return Promise.all(taken);
  }

  /** The cell needs its inputs no more: memory that nothing uses is returned, in the order of the device's work. */
  async release(cell: Cell): Promise<void> {
    await Promise.all(
      this.#inputs.map((one, place) => this.#held.release(keyOf(one, place, cell))),
    );
  }

  async #bring(one: Input, place: number, cell: Cell, signal: AbortSignal): Promise<Input> {
    const steps = rowSteps(one, cell);
    const part = withSteps(one, [...one.steps, ...steps]);
    // It tells sizes alone.
    if (!this.#used.has(place)) {
      const data = new Float32Array(0);
      return { ...part, steps: [], source: { kind: 'data', data }, device: undefined };
    }
    const { device, stream, dtype } = this.#place;
    const { source } = one;
    const there = (x: Tensor): Input => {
      return { ...part, steps: [], device, source: { kind: 'tensor', tensor: x } };
    };
    if (source.kind === 'tensor') {
      const { tensor: whole } = source;
      const { shape, strides, offset } = whole;
      const block = viewOf(whole, viewAfter({ shape, strides, offset }, part.steps), whole.dtype);
      if (whole.device === device) return there(block);
      using away = block;
      return there(await away.to(device, { stream, signal }));
    }
    if (source.kind === 'placeholder') throw new Error('a bound input has data');
    const block = await blockOf(source.data, one, part, steps, signal);
    return there(await tensor(block, { device, stream, dtype, signal }));
  }
}

/** The numbers of a block in host memory. */
async function blockOf(
  data: LazyData,
  one: Input,
  part: Input,
  [rows]: readonly ViewStep[],
  signal: AbortSignal,
): Promise<StridedSource> {
  if (!isRowReader(data)) return viewAfter(hostLayout(data), part.steps);
  if (one.steps.length === 0 && rows?.op === 'rows') {
    return await readRows(data, [rows.start, rows.count], { signal });
  }
  const whole = await readRows(data, [0, data.shape[0] ?? 0], { signal });
  return viewAfter(hostLayout(whole), part.steps);
}

/** Blocks of equal keys are the same. */
function keyOf({ category, isTable }: Input, place: number, { i, j }: Cell): string {
  if (isTable || category === 'parameter') return `${place}`;
  const rows = { i, j, pair: [...i, ...j] }[category];
  return `${place} ${rows.join(' ')}`;
}

/** How the rows of a cell are taken of an input. */
function rowSteps({ category, isTable }: Input, { i, j }: Cell): readonly ViewStep[] {
  if (isTable || category === 'parameter') return [];
  const rows = (axis: -2 | -3, [start, count]: Rows): ViewStep => {
    return { op: 'rows', axis, start, count, step: 1 };
  };
  if (category === 'pair') return [rows(-3, i), rows(-2, j)];
  return [rows(-2, category === 'i' ? i : j)];
}
