import { isTensor, type Device, type Tensor } from '@mercer/tensor';
import {
  coreOf,
  isPreparing,
  KnownCalls,
  LaunchesAgain,
  LaunchNotes,
  ValueForms,
  type DerivativeRule,
  type NotedLaunch,
  type PlaceOfTensor,
} from '@mercer/tensor/operation';
import type { Node, Reverse, Seed, Source } from './reverse.js';

/** What was done at a node. */
interface PassStep {
  readonly launches: NotedLaunch[];
  /** Its rule read its arguments, and its result. */
  readsArguments: boolean;
  readsResult: boolean;
}

/** What a backward pass launched. */
interface KnownPass {
  /** By the places of nodes on the tape, and behind these what the cotangents of the variables launched. */
  readonly steps: readonly (PassStep | undefined)[];
  /** Where the cotangents of the variables are. */
  readonly given: readonly (PlaceOfTensor | undefined)[];
}

/** Those that were made before. The first time a pass is only noted as seen: one whose numbers differ from step to step never comes again. */
const passes = new KnownCalls<KnownPass | 'seen'>();

const numbers = new WeakMap<DerivativeRule, number>();
let newest = 0;

function numberOf(rule: DerivativeRule): number {
  let number = numbers.get(rule);
  if (number === undefined) numbers.set(rule, (number = ++newest));
  return number;
}

/** A backward pass as calls are known: by the forms of all that its rules read. */
export class Pass {
  readonly #tape: Reverse;
  /** Whether the tape keeps what a rule was the last to read, which is freed else. */
  readonly #keeps: boolean;
  readonly #device: Device;
  readonly #key: string;
  readonly #tensors: readonly Tensor[];
  /** What is noted while it is made; undefined where it is not. */
  #notes: LaunchNotes | undefined;
  readonly #steps: PassStep[] = [];
  readonly #enqueuedBefore: number;
  readonly #known: KnownPass | 'seen' | undefined;

  private constructor(
    tape: Reverse,
    keeps: boolean,
    device: Device,
    key: string,
    tensors: readonly Tensor[],
  ) {
    this.#tape = tape;
    this.#keeps = keeps;
    this.#device = device;
    this.#key = key;
    this.#tensors = tensors;
    this.#enqueuedBefore = coreOf(device).defaultStream.enqueued;
    this.#known = passes.get(device, key);
    if (this.#known === 'seen') this.#notes = new LaunchNotes(tensors);
    if (this.#known === undefined) passes.set(device, key, 'seen');
  }

  /** Undefined for one that cannot be made without its rules. */
  static of(
    tape: Reverse,
    seeds: readonly Seed[],
    wanted: readonly Source[],
    keeps: boolean,
  ): Pass | undefined {
    const [seed] = seeds;
    if (seed === undefined || !tape.remembers || tape.detectsNaN || isPreparing()) return undefined;
    const forms = new ValueForms();
    const sourceText = ({ node, output }: Source): string => `${node.at}.${output}`;
    let key = keeps ? 'keeps\n' : '';
    for (const { at, rule, args, sources, result } of tape.nodes) {
      if (rule !== undefined && rule.isOfForms !== true) return undefined;
      key += `${at} ${rule === undefined ? '' : numberOf(rule)}`;
      for (const one of sources) key += one === undefined ? ' -' : ` ${sourceText(one)}`;
      for (const one of args.all) key += ` ${forms.textOf(one)}`;
      key += ` ${forms.textOf(result)}\n`;
      if (!forms.isComplete) return undefined;
    }
    for (const { source, cotangent } of seeds)
      key += `${sourceText(source)} ${forms.textOf(cotangent)}\n`;
    for (const one of wanted) key += `${sourceText(one)} `;
    const { device } = seed.cotangent;
    const isHere = forms.tensors.every((one) => one.device === device);
    return forms.isComplete && isHere
      ? new Pass(tape, keeps, device, key, forms.tensors)
      : undefined;
  }

  /** Does what belongs to a node, or behind all nodes. */
  part<T>(node: Node | undefined, work: () => T): T {
    if (this.#notes === undefined) return work();
    const [given, launches] = this.#notes.during(work);
    // what waits launches later
    if (given instanceof Promise) this.#notes = undefined;
    this.#stepOf(node).launches.push(...launches);
    return given;
  }

  /** The rule of a node is called. */
  noteArgumentsRead(node: Node): void {
    if (this.#notes !== undefined) this.#stepOf(node).readsArguments = true;
  }

  /** It reads what the node gave. */
  noteResultRead(node: Node): void {
    if (this.#notes !== undefined) this.#stepOf(node).readsResult = true;
  }

  /** Remembers it where all that it launched is known. @param given for the variables */
  remember(given: readonly (Tensor | undefined)[]): void {
    const notes = this.#notes;
    if (notes?.isComplete !== true) return;
    const { enqueued } = coreOf(this.#device).defaultStream;
    if (enqueued - this.#enqueuedBefore !== notes.enqueued) return;
    const places = given.map((one) => (isTensor(one) ? notes.placeOf(one) : undefined));
    const areKnown = given.every((one, at) => one === undefined || places[at] !== undefined);
    if (areKnown) passes.set(this.#device, this.#key, { steps: this.#steps, given: places });
  }

  /** The pass by its launches; undefined where these are not known. */
  again(): Promise<readonly (Tensor | undefined)[]> | undefined {
    const known = this.#known;
    if (known === undefined || known === 'seen') return undefined;
    const holdsAll = known.steps.every(
      (step) => step?.launches.every(({ call }) => call.holdsAll) ?? true,
    );
    return holdsAll ? this.#again(known) : undefined;
  }

  async #again({ steps, given }: KnownPass): Promise<readonly (Tensor | undefined)[]> {
    const tape = this.#tape;
    const launching = new LaunchesAgain(this.#tensors);
    let isHeld = false;
    // callers may dispose theirs while the pass waits
    const hold = (): void => {
      if (isHeld) return;
      isHeld = true;
      for (const [at, one] of this.#tensors.entries())
        if (!one.disposed && !tape.owns(one)) launching.replace(at, one.view());
    };
    const launch = (step: PassStep | undefined): Promise<void> | undefined =>
      step && launching.launch(step.launches, hold);
    try {
      for (const node of tape.nodes.toReversed()) {
        const step = steps[node.at];
        if (step !== undefined) {
          tape.signal?.throwIfAborted();
          if (step.readsArguments) tape.assertUnchanged(node.name, node.args);
          if (step.readsResult) tape.assertResultUnchanged(node);
          const waiting = launch(step);
          if (waiting !== undefined) await waiting;
        }
        if (!this.#keeps) tape.free(tape.freeable(node));
      }
      const waiting = launch(steps[tape.nodes.length]);
      if (waiting !== undefined) await waiting;
      return given.map((one) => one && launching.take(one));
    } finally {
      launching.dispose();
    }
  }

  #stepOf(node: Node | undefined): PassStep {
    const at = node?.at ?? this.#tape.nodes.length;
    return (this.#steps[at] ??= { launches: [], readsArguments: false, readsResult: false });
  }
}
