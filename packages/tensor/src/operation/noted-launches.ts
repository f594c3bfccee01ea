import type { Scalars } from '@mercer/kernels';
import type { StorageBlock } from '../storage-block.js';
import { isUsable, layoutNumber, Tensor } from '../tensor.js';
import { TensorForm } from '../tensor-form.js';

/** A call that is launched again with other tensors that lie as its own did. */
export interface CallAgain {
  /** Whether what it holds beside them is there. */
  readonly holdsAll: boolean;
  /** Its results, or their promise where it has to wait for room, or for calls that were made before. @throws as launches do */
  launchAgain(
    inputs: readonly Tensor[],
    numbers: Scalars | undefined,
  ): Tensor[] | Promise<Tensor[]>;
}

/** A call that was launched. */
export interface LaunchedCall {
  readonly call: CallAgain;
  readonly inputs: readonly Tensor[];
  readonly numbers: Scalars | undefined;
  readonly results: readonly Tensor[];
  /** How much was enqueued for it. */
  readonly enqueued: number;
}

/** A tensor among those that were given and then the results of launches, in their order, or a view of it. */
export interface PlaceOfTensor {
  readonly at: number;
  /** Undefined where it lies as that one. */
  readonly view: TensorForm | undefined;
}

/** A launch with where it finds its tensors. */
export type NotedLaunch = Pick<LaunchedCall, 'call' | 'numbers'> & {
  readonly inputs: readonly PlaceOfTensor[];
};

let hear: ((launched: LaunchedCall) => void) | undefined;

/** Whoever hears of launches now. */
export const hearerOfLaunches = (): typeof hear => hear;

/** Notes the calls that are launched, and where their tensors come from. */
export class LaunchNotes {
  /** What was enqueued for the calls that were noted. */
  enqueued = 0;
  #isComplete = true;
  #launches: NotedLaunch[] = [];
  readonly #tensors: Tensor[];
  readonly #ofStorage = new Map<StorageBlock, number[]>();

  constructor(given: readonly Tensor[]) {
    this.#tensors = [...given];
    for (const [at, one] of given.entries()) this.#add(at, one);
  }

  /** Whether it is known of all launches where their tensors come from. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** What `work` launched before it returned. */
  during<T>(work: () => T): readonly [T, readonly NotedLaunch[]] {
    const before = hear;
    hear = (one) => {
      this.#note(one);
    };
    this.#launches = [];
    try {
      return [work(), this.#launches];
    } finally {
      hear = before;
    }
  }

  /** Where a tensor is, or undefined for other memory. */
  placeOf(tensor: Tensor): PlaceOfTensor | undefined {
    const places = this.#ofStorage.get(tensor.storage)?.filter((at) => isUsable(this.#at(at)));
    const same = places?.find((at) => liesAs(this.#at(at), tensor));
    if (same !== undefined) return { at: same, view: undefined };
    const at = places?.[0];
    return at === undefined
      ? undefined
      : { at, view: new TensorForm(tensor.device, tensor.dtype, tensor) };
  }

  #note({ call, numbers, inputs, results, enqueued }: LaunchedCall): void {
    const places = inputs.flatMap((one) => this.placeOf(one) ?? []);
    if (places.length < inputs.length) this.#isComplete = false;
    this.#launches.push({ call, numbers: numbers && { ...numbers }, inputs: places });
    for (const one of results) this.#add(this.#tensors.push(one) - 1, one);
    this.enqueued += enqueued;
  }

  #at(at: number): Tensor {
    return this.#tensors[at] as Tensor;
  }

  #add(at: number, { storage }: Tensor): void {
    const places = this.#ofStorage.get(storage);
    if (places === undefined) this.#ofStorage.set(storage, [at]);
    else places.push(at);
  }
}

const liesAs = (a: Tensor, b: Tensor): boolean =>
  a.offset === b.offset && layoutNumber(a) === layoutNumber(b);

/** Makes launches that were noted with other tensors in the places of those that were given. */
export class LaunchesAgain {
  readonly #tensors: Tensor[];
  readonly #made: Tensor[] = [];
  readonly #taken = new Set<Tensor>();
  readonly #given: number;

  constructor(given: readonly Tensor[]) {
    this.#tensors = [...given];
    this.#given = given.length;
  }

  /** @param hold called before it waits: what was given has to outlive that @throws as launches do */
  launch(launches: readonly NotedLaunch[], hold: () => void): Promise<void> | undefined {
    for (let at = 0; at < launches.length; at++) {
      const { call, numbers, inputs } = launches[at] as NotedLaunch;
      const results = call.launchAgain(
        inputs.map((one) => this.#input(one)),
        numbers,
      );
      if (results instanceof Promise) {
        hold();
        return results.then(async (all) => {
          this.#tensors.push(...all);
          await this.launch(launches.slice(at + 1), hold);
        });
      }
      this.#tensors.push(...results);
    }
    return undefined;
  }

  /** Another handle in the place of one that was given. */
  replace(at: number, handle: Tensor): void {
    this.#tensors[at] = handle;
    this.#made.push(handle);
  }

  /** What is in a place, for the caller to dispose: a result itself, or another handle. */
  take({ at, view }: PlaceOfTensor): Tensor {
    const tensor = this.#tensors[at] as Tensor;
    if (view !== undefined) return this.#viewOf(tensor, view);
    if (at < this.#given) return tensor.view();
    this.#taken.add(tensor);
    return tensor;
  }

  /** Disposes all that was made and not taken. */
  dispose(): void {
    for (let at = this.#given; at < this.#tensors.length; at++) {
      const one = this.#tensors[at] as Tensor;
      if (!this.#taken.has(one)) one.dispose();
    }
    for (const one of this.#made) one.dispose();
  }

  #input({ at, view }: PlaceOfTensor): Tensor {
    const tensor = this.#tensors[at] as Tensor;
    if (view === undefined) return tensor;
    const made = this.#viewOf(tensor, view);
    this.#made.push(made);
    return made;
  }

  #viewOf({ storage }: Tensor, view: TensorForm): Tensor {
    return new Tensor(storage.retain(), view.dtype, view);
  }
}
