import type { RealExpr } from '@mercer/formula';
import type { Tensor } from '@mercer/tensor';
import type { OptimiserState, StepExtras } from './optimiser.js';
import type { NamedLeaf } from './tree.js';
import type { DeviceNumber, UpdatedLeaf } from './update.js';

/** A tensor of the state beside a parameter. */
export interface SlotOf {
  readonly shape: readonly number[];
  readonly dtype: 'float32' | 'float64' | 'int32';
  /** What it begins with; default zeros. */
  readonly begin?: () => PromiseLike<Tensor>;
}

/** Numbers of a step that follow on the device from `t`, the count of steps that were taken, this one included. */
export interface StepNumbers {
  /** Of the variable `t`, the parameters and the inputs. They are computed in float64. */
  readonly formulas: Readonly<Record<string, RealExpr>>;
  readonly parameters: Readonly<Record<string, number>>;
  /** 0-d tensors. */
  readonly inputs?: Readonly<Record<string, Tensor>>;
}

/** A parameter in a step. */
export interface SteppedLeaf extends UpdatedLeaf {
  readonly grad: Tensor;
}

/** What a rule is given in a step. */
export interface RuleStep {
  readonly leaves: readonly SteppedLeaf[];
  /** What {@link Rule.numbers} asked for; `ok`, 0 where nothing may be written; `factor`, which gradients are multiplied by, where they are; and `unscale`, 1 / the scale of the loss, where it has one. */
  readonly numbers: Readonly<Record<string, DeviceNumber>> & { readonly ok: DeviceNumber };
  /** Calls of `step`, from 1. */
  readonly step: number;
  /** Whose state it is. */
  readonly state: OptimiserState;
  /** The tree, as it was given. */
  readonly params: unknown;
  readonly extras: StepExtras;
  /** What {@link Rule.check} gave. */
  readonly checked?: Disposable | undefined;
}

/** What a rule is given where its preconditioners are refreshed by a call. */
export interface RuleRefresh {
  readonly leaves: readonly UpdatedLeaf[];
  readonly state: OptimiserState;
}

/** How a rule refreshes its preconditioners where that is not counted by steps. */
export interface Refreshing {
  /** Checks what can be known before anything is written. @throws OptimError */
  check(now: RuleRefresh): Promise<void>;
  /** Enqueues the work. @returns how often in a row a matrix had no result, of the one with most: 0-d, for the caller to dispose */
  run(now: RuleRefresh): Promise<Tensor>;
}

/** What a rule checks of a step. */
export type CheckedStep = Omit<RuleStep, 'numbers' | 'checked'>;

/**
 * How an optimiser moves parameters: what optimisers are composed of. What all of them do alike, checks and the decision whether a step is
 * taken, is `optimiserOf`'s.
 */
export interface Rule {
  readonly name: string;
  /** For the headers of saved states. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The state of a parameter, by slot. */
  slots(leaf: NamedLeaf): Readonly<Record<string, SlotOf>>;
  /**
   * @param step calls of `step`, from 1
   * @param global a number of the state by its name in {@link Rule.globals}
   * @throws MercerError INVALID_ARGUMENT for what a schedule gives
   */
  numbers(step: number, global: (name: string) => Tensor): StepNumbers;
  /** Numbers of the state that are of no parameter, by name. */
  readonly globals?: Readonly<Record<string, SlotOf & { readonly value: number }>> | undefined;
  /** Why gradients of a scaled loss are not enough for it, where they are not: the end of a sentence that begins with its name. */
  readonly refusesScale?: string | undefined;
  /**
   * Checks what a step is given, before anything is written, and makes what of it can fail. What it gives is for `update`, and disposed when that has ended.
   *
   * @throws OptimError, and what functions of the caller throw
   */
  check?(step: CheckedStep): Promise<Disposable | undefined>;
  /** Enqueues the work. It reads no value. */
  update(step: RuleStep): Promise<void>;
  /** Of a rule with preconditioners whose refreshes are calls. */
  readonly refreshing?: Refreshing | undefined;
}
