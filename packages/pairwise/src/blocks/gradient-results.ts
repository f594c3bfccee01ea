import { describeValue } from '@mercer/options';
import {
  concat,
  isTensor,
  MercerError,
  type Device,
  type DType,
  type Tensor,
} from '@mercer/tensor';
import { checkOut, viewsOverlap } from '@mercer/tensor/operation';
import type { BlockedBackward } from './blocked-backward.js';
import { addTo, labelAt, type SumsByPlace } from './group-sums.js';
import { resultSink, type ResultSink } from './result-sink.js';

/** What gradients look like. */
export interface GradientForm {
  /** By label, in the order in which they are wanted. */
  readonly shapes: ReadonlyMap<string, readonly number[]>;
  readonly dtype: DType;
}

/** A form, where results go that no `out` takes, and what the call reads. */
interface ResultsForm extends GradientForm {
  readonly home: Device;
  readonly read: readonly Tensor[];
}

/** Where the sums of groups are put together. */
export interface GradientResults {
  /** Takes over the sums of a group. */
  readonly add: (group: number, sums: SumsByPlace) => Promise<void>;
  /** The gradients, or what was given for them, once all of so many groups are there. */
  readonly finish: (groups: number) => Promise<Readonly<Record<string, unknown>>>;
  /** The call has ended early. */
  readonly abandon: () => Promise<void>;
}

/** @throws MercerError for an `out` that does not take its gradient; what opening a destination throws */
export async function gradientResults(
  call: Pick<BlockedBackward, 'what' | 'out' | 'b' | 'signal'>,
  form: ResultsForm,
): Promise<GradientResults> {
  const writers = new Map<string, Writer>();
  const abandon = async (): Promise<void> => {
    for (const one of writers.values()) await one.abandon();
  };
  try {
    checkOuts(call, form);
    for (const label of form.shapes.keys()) writers.set(label, await writerOf(label, call, form));
  } catch (error) {
    await abandon();
    throw error;
  }
  const merging = new Merging();
  return {
    add: (group, sums) => merging.add(group, sums),
    abandon: async () => {
      merging.dispose();
      await abandon();
    },
    finish: async (groups) => {
      using totals = merging.totals(groups);
      const results: Record<string, unknown> = {};
      for (const [label, writer] of writers) {
        using whole = await totals.of(label, label === 'a' && call.b === undefined);
        using rounded = await whole.cast(form.dtype);
        results[label] = await writer.write(rounded);
      }
      return results;
    },
  };
}

/** @throws MercerError OVERLAP */
function checkOuts(
  { what, out = {} }: Pick<BlockedBackward, 'what' | 'out'>,
  { shapes }: ResultsForm,
): void {
  const outs = [...shapes.keys()].map((label) => out[label]).filter((one) => isTensor(one));
  for (const [at, one] of outs.entries()) {
    const other = outs.slice(0, at).find((before) => viewsOverlap(before, one));
    if (other === undefined) continue;
    throw new MercerError(
      'OVERLAP',
      `${what}: the tensors of out share memory: the ${other.label} and the ${one.label}. Pass tensors of their own.`,
    );
  }
}

/** Where one gradient goes. */
interface Writer {
  /** Of the whole, in host memory. */
  readonly write: (whole: Tensor) => Promise<unknown>;
  readonly abandon: () => Promise<void>;
}

async function writerOf(
  label: string,
  { what, out: outs = {}, signal }: Pick<BlockedBackward, 'what' | 'out' | 'signal'>,
  { shapes, dtype, home, read }: ResultsForm,
): Promise<Writer> {
  const out = outs[label];
  const shape = shapes.get(label) ?? [];
  const named = `${what}: ${label}`;
  if (label === 'a' || label === 'b') {
    const sink = await resultSink(out, { what: named, shape, dtype, home, read, signal });
    return { write: (whole) => writtenRows(whole, sink), abandon: () => sink.abandon() };
  }
  const abandon = (): Promise<void> => Promise.resolve();
  if (out === undefined) return { write: (whole) => onDevice(whole, home), abandon };
  if (!isTensor(out)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${named}: out is ${describeValue(out)}. The gradient of a parameter is small: pass a tensor for it, or leave it out.`,
    );
  }
  out.assertAlive();
  checkOut(out, { shape, dtype, device: out.device }, read, named);
  return { write: (whole) => out.copyFrom(whole).then(() => out), abandon };
}

async function writtenRows(whole: Tensor, sink: ResultSink): Promise<unknown> {
  const [rows = 0, columns = 0] = whole.shape.slice(-2);
  using stream = whole.device.createStream();
  await whole.device.defaultStream.synchronize();
  const how = { stream, signal: new AbortController().signal };
  await sink.put(whole, [0, rows], [0, columns], how);
  return await sink.finish();
}

const onDevice = (whole: Tensor, device: Device): Promise<Tensor> =>
  whole.device === device ? whole.clone().then((one) => one) : whole.to(device);

/** Sums of groups that are added up in the order of the groups, whatever the order is in which they come. */
class Merging {
  readonly #waiting = new Map<number, SumsByPlace>();
  readonly #sums: SumsByPlace = new Map();
  #next = 0;
  #turn = Promise.resolve();

  /** Resolves when they are added, or wait for those before them. */
  add(group: number, sums: SumsByPlace): Promise<void> {
    this.#waiting.set(group, sums);
    this.#turn = this.#turn.then(() => this.#addNext());
    return this.#turn;
  }

  async #addNext(): Promise<void> {
    for (
      let sums = this.#waiting.get(this.#next);
      sums !== undefined;
      sums = this.#waiting.get(this.#next)
    ) {
      await addTo(this.#sums, sums);
      this.#waiting.delete(this.#next++);
    }
  }

  totals(groups: number): Totals {
    if (this.#next !== groups) throw new Error('not all groups have been added');
    return new Totals(this.#sums);
  }

  dispose(): void {
    for (const sums of [this.#sums, ...this.#waiting.values()]) {
      for (const one of sums.values()) one.dispose();
    }
  }
}

/** The gradients in float64, in host memory. */
class Totals implements Disposable {
  readonly #sums: SumsByPlace;

  constructor(sums: SumsByPlace) {
    this.#sums = sums;
  }

  /** @param both whether the gradient is the sum of those of both roles */
  async of(label: string, both: boolean): Promise<Tensor> {
    const own = await this.#whole(label);
    if (!both) return own;
    using a = own;
    using b = await this.#whole('b');
    return await a.add(b);
  }

  async #whole(label: string): Promise<Tensor> {
    const parts = [...this.#sums]
      .map(([place, sum]) => ({ sum, at: labelAt(place) }))
      .filter(({ at }) => at[0] === label)
      .sort((x, y) => x.at[1] - y.at[1])
      .map(({ sum }) => sum);
    const [only] = parts;
    if (parts.length === 1 && only !== undefined) return only.view();
    return await concat(parts as [Tensor, ...Tensor[]], -2);
  }

  [Symbol.dispose](): void {
    for (const one of this.#sums.values()) one.dispose();
  }
}
