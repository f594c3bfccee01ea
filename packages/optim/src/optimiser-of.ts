import { describeValue, isMap, type OptionNames } from '@mercer/options';
import { full, MercerError, zeros, type Tensor } from '@mercer/tensor';
import { assertNotPreparing, formatShape, readOptions } from '@mercer/tensor/operation';
import { checkNumber } from './checks.js';
import { decide, type LossScaling } from './decide.js';
import { OptimError } from './optim-error.js';
import {
  STEP_EXTRAS,
  type Optimiser,
  type OptimiserState,
  type RefreshReport,
  type StepExtras,
  type StepReport,
} from './optimiser.js';
import { otherRefreshes } from './refresh-names.js';
import type { Rule, SlotOf, SteppedLeaf } from './rule.js';
import { noteStep, stepsTaken } from './steps-taken.js';
import { assertApart, gradientsOf, parameterLeaves, type NamedLeaf } from './tree.js';
import { inTurn } from './turns.js';
import { hasMaster, stateDType } from './update.js';

/** Options that all optimisers have. */
export interface CommonOptions {
  /**
   * What a step does where a gradient has NaN or infinity: `skip` (default) writes nothing, which the device decides; `throw` waits for the device and throws, with nothing
   * written; `ignore` looks at none.
   */
  readonly nonFinite?: 'skip' | 'throw' | 'ignore' | undefined;
  /** The most that the norm of all gradients together may be: they are scaled to it where it is more. A norm beyond float64 counts as infinite. Default: no limit. */
  readonly maxGradNorm?: number | undefined;
}

/** Names of {@link CommonOptions}. */
export const COMMON_OPTIONS: OptionNames<CommonOptions> = { nonFinite: true, maxGradNorm: true };

/** What an optimiser does around its rule. */
export interface Settings {
  readonly nonFinite: 'skip' | 'throw' | 'ignore';
  readonly maxGradNorm: number | undefined;
  readonly lossScaling?: LossScaling | undefined;
}

/** @throws MercerError INVALID_ARGUMENT */
export function readSettings(given: CommonOptions, what: string): Settings {
  const { nonFinite = 'skip', maxGradNorm } = given;
  if (!['skip', 'throw', 'ignore'].includes(nonFinite)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: nonFinite is ${describeValue(nonFinite)}. Pass 'skip', 'throw' or 'ignore'.`,
    );
  }
  if (maxGradNorm !== undefined) checkNumber(maxGradNorm, what, 'maxGradNorm');
  return { nonFinite, maxGradNorm };
}

interface Composed {
  readonly rule: Rule;
  readonly settings: Settings;
}

const composed = new WeakMap<Optimiser, Composed>();

const described = new WeakMap<Optimiser, Readonly<Record<string, unknown>>>();

/** Remembers the options of an optimiser that has no rule. */
export function withOptions(
  optimiser: Optimiser,
  options: Readonly<Record<string, unknown>>,
): Optimiser {
  described.set(optimiser, options);
  return optimiser;
}

/** The options of an optimiser, for headers of checkpoints. */
export function optionsOf(optimiser: Optimiser): Readonly<Record<string, unknown>> {
  const found = composed.get(optimiser);
  if (found === undefined) return described.get(optimiser) ?? {};
  return { ...found.rule.options, ...found.settings };
}

/** The rule of an optimiser, and what is done around it. @throws MercerError INVALID_ARGUMENT where it has none */
export function composedFor(optimiser: Optimiser, what: string): Composed {
  const found = composed.get(optimiser);
  if (found !== undefined) return found;
  const name = (optimiser as Partial<Optimiser> | undefined)?.name ?? describeValue(optimiser);
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${name} has no rule for a step by itself. Pass an optimiser such as adam(), and wrap what it gives.`,
  );
}

/** The optimiser of a rule: checks, the decision of each step on the device, and state. */
export function optimiserOf(rule: Rule, settings: Settings): Optimiser {
  const checked: CheckedStates = new WeakMap();
  const optimiser: Optimiser = {
    name: rule.name,
    init: (params) => initialState(rule, settings, params),
    step: (params, grads, state, extras) =>
      inTurn(state, rule.name, async () => {
        const given = readOptions(rule.name, extras as StepExtras | undefined, STEP_EXTRAS);
        return takeStep({ rule, settings, checked, params, grads, state, extras: given });
      }),
    refresh: (params, state) =>
      inTurn(state, rule.name, () => takeRefresh({ rule, settings, checked, params, state })),
  };
  composed.set(optimiser, { rule, settings });
  return optimiser;
}

/** A state, which can also be disposed. */
export class NamedState implements OptimiserState, Disposable {
  readonly optimiser: string;
  step = 0;
  readonly tensors: ReadonlyMap<string, Tensor>;

  constructor(optimiser: string, tensors: ReadonlyMap<string, Tensor>) {
    this.optimiser = optimiser;
    this.tensors = tensors;
  }

  readonly #last: (() => void)[] = [];

  /** Calls a function when the state is disposed. */
  whenDisposed(last: () => void): void {
    this.#last.push(last);
  }

  [Symbol.dispose](): void {
    for (const one of this.tensors.values()) one.dispose();
    for (const last of this.#last.splice(0)) last();
  }
}

/** The slots of a parameter: those of the rule, and its master. */
function slotsOf(rule: Rule, leaf: NamedLeaf): Readonly<Record<string, SlotOf>> {
  const { tensor } = leaf;
  const slots = rule.slots(leaf);
  if (!hasMaster(tensor)) return slots;
  const begin = () => tensor.cast('float32');
  return { ...slots, master: { shape: tensor.shape, dtype: 'float32', begin } };
}

/** Numbers of the state that are of no parameter. */
function globalsOf(
  { globals }: Rule,
  { lossScaling }: Settings,
): Readonly<Record<string, SlotOf & { readonly value: number }>> {
  return {
    ...globals,
    count: { shape: [], dtype: 'int32', value: 0 },
    skips: { shape: [], dtype: 'int32', value: 0 },
    ...(lossScaling && {
      lossScale: { shape: [], dtype: 'float32', value: lossScaling.initial },
      goodSteps: { shape: [], dtype: 'int32', value: 0 },
    }),
  };
}

async function initialState(rule: Rule, settings: Settings, params: unknown): Promise<NamedState> {
  const leaves = await parameterLeaves(params, rule.name);
  const tensors = new Map<string, Tensor>();
  try {
    const [{ tensor: first }] = leaves as readonly [NamedLeaf];
    const { device } = first;
    for (const [name, { dtype, value }] of Object.entries(globalsOf(rule, settings))) {
      tensors.set(name, await full([], value, { dtype, device }));
    }
    for (const leaf of leaves) {
      for (const [slot, { shape, dtype, begin }] of Object.entries(slotsOf(rule, leaf))) {
        const made = begin ? await begin() : await zeros([...shape], { dtype, device });
        tensors.set(`${leaf.name}/${slot}`, made);
      }
    }
  } catch (error) {
    for (const one of tensors.values()) one.dispose();
    throw error;
  }
  return new NamedState(rule.name, tensors);
}

/** That a state is of something else. */
export const wrongState = (what: string, why: string): OptimError =>
  new OptimError(
    'WRONG_STATE',
    `${what}: ${why}. Pass the state that init() of this optimiser made for these parameters.`,
  );

type Slots = Readonly<Record<string, Tensor>>;

/** A state that was found to be one of some parameters. */
interface CheckedState {
  readonly leaves: readonly NamedLeaf[];
  readonly tensors: ReadonlyMap<string, Tensor>;
  /** What was in it. */
  readonly entries: readonly (readonly [string, Tensor])[];
  readonly slots: readonly Slots[];
}

/** The last check of each state by one optimiser: steps come with the same tensors again. */
type CheckedStates = WeakMap<OptimiserState, CheckedState>;

/** Whether the tensors of a state and the parameters are those of a check. @throws MercerError DISPOSED */
function isAsChecked(
  found: CheckedState | undefined,
  leaves: readonly NamedLeaf[],
  state: OptimiserState,
): found is CheckedState {
  if (found === undefined) return false;
  const { tensors } = state;
  if (tensors !== found.tensors || tensors.size !== found.entries.length) return false;
  if (leaves.length !== found.leaves.length) return false;
  for (const [at, { name, tensor }] of leaves.entries()) {
    const before = found.leaves[at];
    if (before?.tensor !== tensor || before.name !== name) return false;
  }
  for (const [name, tensor] of found.entries) {
    if (tensors.get(name) !== tensor) return false;
    tensor.assertAlive();
  }
  return true;
}

/** Checks that a state is one of these parameters, and gives the slots of each. @throws OptimError WRONG_STATE; MercerError DISPOSED */
function checkState(
  { rule, settings, checked, state }: StateCall,
  leaves: readonly NamedLeaf[],
): readonly Slots[] {
  const before = checked.get(state);
  if (isAsChecked(before, leaves, state) && state.optimiser === rule.name) return before.slots;
  const slots = slotsIn(rule, settings, leaves, state);
  const { tensors } = state;
  checked.set(state, { leaves, tensors, entries: [...tensors], slots });
  return slots;
}

function slotsIn(
  rule: Rule,
  settings: Settings,
  leaves: readonly NamedLeaf[],
  state: OptimiserState,
): readonly Slots[] {
  const [{ tensor: first }] = leaves as readonly [NamedLeaf];
  const all = leaves.map((leaf) => ({ leaf, slots: Object.entries(slotsOf(rule, leaf)) }));
  const wanted = Object.fromEntries(
    all.flatMap(({ leaf, slots }) =>
      slots.map(([slot, one]) => [`${leaf.name}/${slot}`, one] as const),
    ),
  );
  const tensors = checkTensors(rule.name, state, first.device, {
    ...globalsOf(rule, settings),
    ...wanted,
  });
  return all.map(({ leaf, slots }) =>
    Object.fromEntries(
      slots.map(([slot]) => [slot, tensors.get(`${leaf.name}/${slot}`) as Tensor]),
    ),
  );
}

/** That a state is one of an optimiser of this name. @throws OptimError WRONG_STATE */
export function assertStateOf(what: string, state: OptimiserState): void {
  if (!isMap((state as Partial<OptimiserState> | undefined)?.tensors)) {
    throw wrongState(what, `the state is ${describeValue(state)}`);
  }
  if (state.optimiser !== what) throw wrongState(what, `the state is one of ${state.optimiser}`);
}

/** Checks that a state is an optimiser's and has these tensors on a device, and no others. @throws OptimError WRONG_STATE; MercerError DISPOSED */
export function checkTensors(
  what: string,
  state: OptimiserState,
  device: Tensor['device'],
  wanted: Readonly<Record<string, SlotOf>>,
): ReadonlyMap<string, Tensor> {
  assertStateOf(what, state);
  const { tensors } = state;
  const why = otherRefreshes('the state', tensors.keys(), Object.keys(wanted));
  if (why !== undefined) throw new OptimError('WRONG_STATE', `${what}: ${why}.`);
  for (const [name, { shape, dtype }] of Object.entries(wanted)) {
    const found = tensors.get(name);
    if (found === undefined) throw wrongState(what, `the state has no ${name}`);
    found.assertAlive();
    if (found.dtype === dtype && String(found.shape) === String(shape) && found.device === device) {
      continue;
    }
    throw wrongState(
      what,
      `${name} is ${found.label}, and should be ${dtype} ${formatShape(shape)} on ${device.id}`,
    );
  }
  const more = [...tensors.keys()].find((name) => !Object.hasOwn(wanted, name));
  if (more !== undefined)
    throw wrongState(what, `the state has ${more}, and params has no such tensor`);
  return tensors;
}

/** A call with a state. */
interface StateCall {
  readonly rule: Rule;
  readonly settings: Settings;
  readonly checked: CheckedStates;
  readonly params: unknown;
  readonly state: OptimiserState;
}

interface StepCall extends StateCall {
  readonly grads: unknown;
  readonly extras: StepExtras;
}

/** That an optimiser has no preconditioners that are refreshed by a call. */
export const nothingToRefresh = (what: string): MercerError =>
  new MercerError(
    'INVALID_ARGUMENT',
    `${what}: refresh() has nothing to refresh. It is for shampoo, soap and kfac with frequency: 'manual'; others refresh in their steps, or have nothing.`,
  );

async function takeRefresh(call: StateCall): Promise<RefreshReport> {
  const { rule, params, state } = call;
  const { refreshing } = rule;
  if (refreshing === undefined) throw nothingToRefresh(rule.name);
  const leaves = await parameterLeaves(params, rule.name);
  const slots = checkState(call, leaves);
  const own = leaves.map(({ name, tensor }, at) => ({
    name,
    param: tensor,
    slots: slots[at] as Slots,
  }));
  const given = { leaves: own, state };
  await refreshing.check(given);
  using failures = await refreshing.run(given);
  return { failures: await failures.cast('int32') };
}

async function takeStep(call: StepCall): Promise<StepReport> {
  const { rule, settings, params, grads, state, extras } = call;
  const what = rule.name;
  const { nonFinite, maxGradNorm, lossScaling } = settings;
  const leaves = await parameterLeaves(params, what);
  const gradients = await gradientsOf(leaves, grads, what);
  assertApart(leaves, gradients, what);
  const slots = checkState(call, leaves);
  const step = (await stepsTaken(state)) + 1;
  if (nonFinite === 'throw') {
    assertNotPreparing(`${what}: with nonFinite: 'throw' a step`);
  }
  const numbers = rule.numbers(step, (name) => state.tensors.get(name) as Tensor);
  const stepped = leaves.map(({ name, tensor }, at): SteppedLeaf => ({
    name,
    param: tensor,
    grad: gradients[at] as Tensor,
    slots: slots[at] as Slots,
  }));
  const given = { leaves: stepped, step, state, params, extras };
  using checked = await rule.check?.(given);
  const looks = nonFinite !== 'ignore' || maxGradNorm !== undefined || lossScaling !== undefined;
  const decision = await decide({
    tensors: state.tensors,
    measured: looks ? gradients : undefined,
    skips: nonFinite !== 'ignore' || lossScaling !== undefined,
    maxGradNorm,
    lossScaling,
    numbers,
    dtypes: new Set(leaves.map(({ tensor }) => stateDType(tensor))),
  });
  try {
    await rule.update({ ...given, numbers: decision.numbers, checked });
  } catch (error) {
    decision.skipped.dispose();
    throw error;
  } finally {
    decision.dispose();
  }
  noteStep(state, step);
  const { skipped } = decision;
  if (nonFinite === 'throw' && Number(await skipped.item()) === 1) {
    skipped.dispose();
    throw await notFinite(what, leaves, gradients);
  }
  return { skipped };
}

/** Which gradients are not finite; none where their squares are beyond float64. */
async function notFinite(
  what: string,
  leaves: readonly NamedLeaf[],
  gradients: readonly Tensor[],
): Promise<OptimError> {
  const names: string[] = [];
  for (const [at, { name }] of leaves.entries()) {
    using isGood = await (gradients[at] as Tensor).isFinite().all();
    if (!(await isGood.item())) names.push(name);
  }
  const found =
    names.length > 0
      ? `the gradient of ${names.join(', ')} has NaN or infinity`
      : 'the norm of all gradients together is beyond float64';
  return new OptimError(
    'NOT_FINITE',
    `${what}: ${found}, and nothing was changed. Lower lr, clip gradients with maxGradNorm, or pass nonFinite: 'skip'.`,
  );
}
