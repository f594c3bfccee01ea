import { inTurn } from '../call-order.js';
import { bytesOf } from '../checked-size.js';
import type { DeviceCore } from '../device-core.js';
import { purposeOf } from '../operations.js';
import type { CapturedGraph, RepeatedGraph, StreamCapture, StreamCore } from '../stream-core.js';
import type { TensorForm } from '../tensor-form.js';
import { MercerError } from '../mercer-error.js';
import { Tensor } from '../tensor.js';
import type { CapturedWork } from './capture.js';
import { DeviceLoop } from './device-loop.js';
import { PieceCopies, type PieceCopier, type Place } from './piece-copies.js';
import { assertNotPreparing } from './refusals.js';

/** A result of captured work: where its elements are, row-major, and what a copy of them is. */
export interface Result extends Place {
  readonly form: TensorForm;
}

/** Results that become inputs where the work is repeated. */
interface Feedback {
  /** For each input, the result that takes its place. */
  readonly from: readonly (Result | undefined)[];
  /** The copies as captured work, on a CPU, which repeats without the host. On a GPU those of the arguments copy them. */
  readonly graph: CapturedGraph | undefined;
}

/** How often captured work is done. */
export interface Repetitions {
  readonly times: number;
  /** A result, float64, none of whose elements is 0 once further repetitions change nothing: a device that repeats without the host leaves them out. */
  readonly rests?: number | undefined;
}

const ONCE: Repetitions = { times: 1 };

const nothing = (): void => undefined;
/** Who captures work that is in line, and holds all memory itself. */
const UNORDERED: StreamCapture = {
  waitsForCompiler: false,
  isProvisional: false,
  touch: nothing,
  begin: nothing,
  beginWithArguments: nothing,
  end: nothing,
};

/** What a replay holds. */
interface HeldWork {
  readonly work: CapturedWork;
  readonly device: DeviceCore;
  between: CapturedGraph | undefined;
  /** Of a GPU: loops by the result that they look at, undefined where there is none. */
  readonly loops: Map<number | undefined, DeviceLoop | undefined>;
}

const release = ({ work, between, loops }: HeldWork): void => {
  work.dispose();
  between?.dispose();
  for (const loop of loops.values()) loop?.dispose();
};

/** Gives back the memory of work that nobody reaches any more and that was not disposed; the inputs are tensors, of which the same is seen to. */
const collected = new FinalizationRegistry<HeldWork>((held) => {
  held.device.noteLeakedBytes(held.work.bytes);
  release(held);
});

/** Captured work that is done again with other arguments, which are copied in, as its results are copied out. */
export class Replay {
  readonly #copier: PieceCopier;
  readonly #device: DeviceCore;
  readonly #work: CapturedWork;
  readonly #inputs: readonly Tensor[];
  readonly #results: readonly Result[];
  readonly #copiesIn: PieceCopies;
  readonly #copiesOut: PieceCopies;
  /** What is given back where nobody disposes it. */
  readonly #held: HeldWork;
  #feedback: Feedback | undefined;
  #pending = 0;
  #disposed = false;

  /**
   * @param inputs what the work reads in the place of its arguments; it takes them over
   * @param copies of arguments to the inputs, and of results, which are captured with the work on a GPU
   */
  constructor(
    copier: PieceCopier,
    work: CapturedWork,
    inputs: readonly Tensor[],
    results: readonly Result[],
    copies: { readonly in: PieceCopies; readonly out: PieceCopies },
  ) {
    this.#copier = copier;
    this.#device = copier.device;
    this.#work = work;
    this.#inputs = inputs;
    this.#results = results;
    this.#copiesIn = copies.in;
    this.#copiesOut = copies.out;
    this.#held = { work, device: copier.device, between: undefined, loops: new Map() };
    collected.register(this, this.#held, this);
  }

  get isProvisional(): boolean {
    return this.#work.isProvisional;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * From now on results take the place of inputs where the work is repeated.
   *
   * @param pairs `[result, input]`, of tensors that are alike
   * @throws MercerError UNSUPPORTED where a result is another input
   */
  feedBack(pairs: readonly (readonly [number, number])[]): void {
    const from = this.#inputs.map((): Result | undefined => undefined);
    for (const [result, input] of pairs) {
      const one = this.#results[result] as Result;
      const other = this.#inputs[input] as Tensor;
      if (one.storage === other.storage && one.byteOffset === other.byteOffset) continue;
      if (this.#inputs.some(({ storage }) => storage === one.storage)) {
        throw new MercerError(
          'UNSUPPORTED',
          `a prepared function: its result ${result} is an argument that becomes another argument in the next repetition. Return its clone().`,
        );
      }
      from[input] = one;
    }
    const isRepeatedByDevice = this.#copier.kernel === undefined;
    const graph = isRepeatedByDevice ? this.#captured(from) : undefined;
    this.#feedback = { from, graph };
    this.#held.between = graph;
  }

  /** Copies to the inputs as work of their own, between memory that this replay holds. */
  #captured(from: readonly (Result | undefined)[]): CapturedGraph {
    const pairs = this.#inputs.flatMap((to, at) => {
      const one = from[at];
      return one === undefined ? [] : [{ from: one, to }];
    });
    const copies = new PieceCopies(
      this.#copier,
      pairs.map(({ to }) => bytesIn(to)),
    );
    const stream = this.#device.createStream();
    stream.beginCapture(UNORDERED);
    copies.enqueueBare(
      pairs.map((one) => one.from),
      pairs.map(({ to }) => to),
      stream,
    );
    return stream.endCapture();
  }

  /** Ends repetitions that are enqueued already with the one under way: their results are what was reached. For work that nobody waits for any more; a GPU goes on. */
  stop(): void {
    if (!this.#disposed) this.#work.graph.stop?.();
  }

  /**
   * Enqueues the work and gives its results.
   *
   * @param args like the inputs
   * @param repetitions more than once only behind `feedBack`
   * @throws MercerError DISPOSED, CAPTURED, OUT_OF_MEMORY
   */
  call(args: readonly Tensor[], repetitions: Repetitions = ONCE): Tensor[] {
    assertNotPreparing('a prepared function', 'is replayed');
    for (const one of args) {
      one.assertAlive();
      one.storage.assertComputed();
    }
    const queue = this.#device.ownStream;
    const results = this.#make(queue);
    if (!this.#isBehindOthers(args)) {
      try {
        this.#enqueue(args, results, queue, repetitions);
      } catch (error) {
        for (const one of results) one.dispose();
        throw error;
      }
      return results;
    }
    this.#pending++;
    // handles of its own: the caller may dispose the tensors meanwhile
    const held = [args, results].map((all) => all.map((one) => one.view()));
    const { touched } = this.#work;
    const written = [...touched.keys()].filter((one) => touched.get(one));
    const [given = [], made = []] = held;
    const storages = [given, made].map((all) => all.map(({ storage }) => storage));
    const [reads = [], writes = []] = storages;
    const enqueue = async (): Promise<void> => {
      await Promise.resolve();
      this.#enqueue(given, made, queue, repetitions);
    };
    void inTurn([...reads, ...touched.keys()], [...writes, ...written], undefined, enqueue).finally(
      () => {
        for (const one of held.flat()) one.dispose();
        this.#pending--;
        if (this.#disposed) this.#release();
      },
    );
    return results;
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    collected.unregister(this);
    this.#release();
  }

  #release(): void {
    if (this.#pending > 0) return;
    release(this.#held);
    for (const one of this.#inputs) one.dispose();
  }

  #make(queue: StreamCore): Tensor[] {
    const made: Tensor[] = [];
    try {
      for (const { form } of this.#results) {
        const memory = this.#device.take(bytesIn(form), purposeOf(form.shape, form.dtype), queue);
        made.push(new Tensor(memory, form.dtype, form));
      }
      return made;
    } catch (error) {
      for (const one of made) one.dispose();
      throw error;
    }
  }

  #isBehindOthers(args: readonly Tensor[]): boolean {
    for (const { storage } of args) if (storage.calls?.hasWriters === true) return true;
    for (const [storage, writes] of this.#work.touched) {
      const { calls, hasLaterReads } = storage;
      if (writes ? calls?.isEmpty === false || hasLaterReads : calls?.hasWriters === true)
        return true;
    }
    return false;
  }

  #enqueue(
    args: readonly Tensor[],
    results: readonly Tensor[],
    queue: StreamCore,
    { times, rests }: Repetitions,
  ): void {
    if (this.#copier.kernel === undefined) {
      this.#copiesIn.enqueue(args, this.#inputs, queue);
      const between = times > 1 ? this.#feedback?.graph : undefined;
      this.#launch(queue, between && { times, between, rests: this.#numbersOf(rests) });
      this.#copiesOut.enqueue(this.#results, results, queue);
    } else {
      this.#replayGraph(args, results, queue, { times, rests });
      for (const { storage } of args) storage.noteRead(queue);
      for (const { storage } of results) storage.noteWrite(queue);
    }
    for (const [storage, writes] of this.#work.touched) if (!writes) storage.noteRead(queue);
  }

  /**
   * In repetitions the copies of arguments bring what the one before gave. The device does all but the first in one launch where it can; else each is one, of which the last
   * copies the results out.
   */
  #replayGraph(
    args: readonly Tensor[],
    results: readonly Tensor[],
    queue: StreamCore,
    { times, rests }: Repetitions,
  ): void {
    const { graph } = this.#work;
    const loop = times > 2 ? this.#loop(rests) : undefined;
    this.#copiesIn.bind(graph, args, this.#inputs, queue);
    if (times > 1) this.#copiesOut.rebind(graph);
    if (loop !== undefined) {
      this.#launch(queue);
      loop.begin(times - 1, queue);
      this.#launch(queue, undefined, loop.graph);
      this.#copiesOut.enqueue(this.#results, results, queue);
      return;
    }
    for (let done = 0; done < times; done++) {
      if (done === 1) this.#copiesIn.rebind(graph, this.#feedback?.from, this.#inputs);
      if (done === times - 1) this.#copiesOut.bind(graph, this.#results, results, queue);
      this.#launch(queue);
    }
  }

  /** Whether repetitions behind `feedBack` are without the host, and end where a result rests. */
  repeatsAlone(rests: number): boolean {
    return this.#copier.kernel === undefined || this.#loop(rests) !== undefined;
  }

  #loop(rests: number | undefined): DeviceLoop | undefined {
    const { loops } = this.#held;
    const { repeats } = this.#copier;
    if (loops.has(rests) || repeats === undefined) return loops.get(rests);
    const { graph } = this.#work;
    this.#copiesIn.rebind(graph, this.#feedback?.from, this.#inputs, true);
    this.#copiesOut.rebind(graph, [], [], true);
    const loop = DeviceLoop.of(this.#device, repeats, graph, this.#numbersOf(rests));
    loops.set(rests, loop);
    return loop;
  }

  #numbersOf(result: number | undefined): RepeatedGraph['rests'] {
    const one = result === undefined ? undefined : this.#results[result];
    return one && { address: one.storage.address + one.byteOffset, count: one.form.size };
  }

  #launch(queue: StreamCore, repeated?: RepeatedGraph, graph = this.#work.graph): void {
    const { touched } = this.#work;
    for (const [storage, writes] of touched) {
      if (writes) storage.beforeWrite(queue);
      else storage.beforeRead(queue);
    }
    queue.admit();
    graph.launch(queue, repeated);
    queue.enqueued++;
    for (const [storage, writes] of touched) if (writes) storage.noteWrite(queue);
  }
}

/** Bytes of a tensor without gaps. */
export const bytesIn = ({ size, dtype }: Pick<Tensor, 'size' | 'dtype'>): number =>
  bytesOf(size, dtype);
