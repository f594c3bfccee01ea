import {
  MercerError,
  tensor,
  type Device,
  type RowReader,
  type Stream,
  type StridedSource,
  type Tensor,
} from '@mercer/tensor';
import { viewOf } from '@mercer/tensor/operation';
import { hostLayout } from '../host-shape.js';
import type { Input } from '../input.js';
import type { LazyDType } from '../lazy-dtype.js';
import type { LazyData } from '../make-input.js';
import { isRowReader } from '../row-reader.js';
import { viewAfter, type ViewStep } from '../view-step.js';
import { withSteps } from '../with-steps.js';
import type { Rows } from './plan-shards.js';

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

interface Held {
  readonly input: Promise<Input>;
  users: number;
}

/** The blocks of inputs that a device holds: each is brought there once while anything uses it, and what lies there already is not copied. */
export class BlockInputs {
  readonly #inputs: readonly Input[];
  readonly #used: ReadonlySet<number>;
  readonly #place: BlockPlace;
  readonly #held = new Map<string, Held>();

  constructor(inputs: readonly Input[], used: ReadonlySet<number>, place: BlockPlace) {
    this.#inputs = inputs;
    this.#used = used;
    this.#place = place;
  }

  /** The inputs of a cell on the device; each call needs a `release`. */
  async take(cell: Cell, signal: AbortSignal): Promise<readonly Input[]> {
    const taken = this.#inputs.map((one, place) => {
      const key = keyOf(one, place, cell);
      let held = this.#held.get(key);
      if (held === undefined) {
        held = { users: 0, input: this.#bring(one, place, cell, signal) };
        held.input.catch(() => undefined);
        this.#held.set(key, held);
      }
      held.users++;
      return held.input;
    });
    return Promise.all(taken);
  }

  /** The cell needs its inputs no more: memory that nothing uses is returned, in the order of the device's work. */
  async release(cell: Cell): Promise<void> {
    const done = this.#inputs.map(async (one, place) => {
      const key = keyOf(one, place, cell);
      const held = this.#held.get(key);
      if (held === undefined || --held.users > 0) return;
      this.#held.delete(key);
      const input = await held.input.catch(() => undefined);
      if (input?.source.kind === 'tensor') input.source.tensor.dispose();
    });
    await Promise.all(done);
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
    const read: unknown = await data.readRows(rows.start, rows.count, { signal });
    return checkRead(read, data, [rows.count, ...data.shape.slice(1)]);
  }
  const whole = await data.readRows(0, data.shape[0] ?? 0, { signal });
  return viewAfter(hostLayout(whole), part.steps);
}

/** What a reader gave. @throws MercerError SHAPE_MISMATCH */
function checkRead(read: unknown, { dtype }: RowReader, shape: readonly number[]): StridedSource {
  const given = Object(read) as Partial<StridedSource>;
  const size = shape.reduce((product, extent) => product * extent, 1);
  const isRight = String(given.shape) === String(shape) && (given.data?.length ?? -1) >= size;
  if (isRight && (given.dtype ?? dtype) === dtype) return read as StridedSource;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `readRows gave ${given.dtype ?? ''} [${String(given.shape)}] of ${given.data?.length ?? 'no'} numbers. Rows that were asked for are ${dtype} [${shape.join(', ')}].`,
  );
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
