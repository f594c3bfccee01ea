import type { Scalars } from '@mercer/kernels';
import { describeValue, own, type OptionNames } from '@mercer/options';
import { isTensor, MercerError, type LoadOptions, type Tensor } from '@mercer/tensor';
import {
  differentiable,
  exampleShape,
  flatArguments,
  inFront,
  isTraced,
  keyPart,
  nestedLike,
  Operation,
  readOptions,
  spreadOver,
  type BatchRule,
  type CallTensors,
  type DerivativeRule,
  type KnownValue,
  type OperationRules,
} from '@mercer/tensor/operation';
import { flag } from './checks.js';
import { checkInfos, type InfoMeaning } from './infos.js';
import type { CallOptions, WrtOption } from './options.js';
import { PlannedCall, type Kinds, type Targets } from './planned-call.js';

/** The tensors by name, in the order in which they are checked, and what else the plan reads. */
export type LinalgArguments = readonly [
  tensors: Readonly<Record<string, Tensor>>,
  ...others: unknown[],
];

/** What options of every operation are beside its own. */
type Options<O> = O & LoadOptions & CallOptions & WrtOption & { readonly out?: unknown };

/** What an operation is made from. */
export interface LinalgRules<O extends object> extends Kinds {
  readonly what: string;
  /** Names of the tensors, in the order of the arguments, in front of other arguments. */
  readonly matrices?: readonly string[];
  /** The same out of arguments that are objects: only those that are there. */
  readonly read?: (args: never) => LinalgArguments;
  readonly options: OptionNames<O>;
  /**
   * The results by name, in the order in which the plan makes them. `out` alone is the first. With an option `wrt`: gradients, of which
   * it names those that are wanted.
   */
  readonly results: readonly string[];
  /** Results behind these that no caller sees, for `finish`. */
  readonly hidden?: (options: O, args: LinalgArguments) => readonly string[];
  /** Options that write a result over a matrix: its name, and the result, which may be one that no caller sees. */
  readonly overwrites?: readonly (readonly [option: string, matrix: string, result: string])[];
  /** Options that a preparation does not take: they make a call wait. */
  readonly waiting?: readonly string[];
  /** Options that are numbers which the kernels are given anew in each call. */
  readonly numbers?: readonly string[];
  /** Those numbers by their names in the routine; undefined where they are as the plan has them. @throws MercerError */
  readonly scalars?: (options: O, args: LinalgArguments) => Scalars | undefined;
  /** What is to be told of other arguments by a key: what plans read of them. */
  readonly key?: (options: O, args: LinalgArguments) => string | undefined;
  /** Checks and plans a call whose matrices fit together. @throws MercerError */
  readonly plan: (call: PlannedCall, options: O, args: LinalgArguments) => void;
  /** What a positive info says; default: there are none. */
  readonly meaning?: (options: O) => InfoMeaning;
  /** What an ordinary call does with its results, and what else it has by name, before it gives them. */
  readonly finish?: (
    tensors: Readonly<Record<string, Tensor | undefined>>,
    options: O,
    args: LinalgArguments,
  ) => Promise<void> | undefined;
  /** How it is differentiated, of what {@link linalgFunction} makes; default: it is not. */
  readonly derivative?: DerivativeRule;
}

/** Options that say where, and who looks on: not what is computed. */
const ELSEWHERE = [
  'out',
  'stream',
  'signal',
  'debug',
  'onProgress',
  'checkErrors',
  'onJitter',
  'onDegenerate',
  'wrt',
];
/** Options with which a call waits, or tells while it waits. */
const WAITING = ['onProgress', 'checkErrors', 'onJitter', 'onDegenerate'];

/** The operation behind a function of linear algebra. */
export function linalgOperation<O extends object>(
  rules: LinalgRules<O>,
): Operation<LinalgArguments, Options<O>, undefined, readonly unknown[]> {
  const { what, matrices = [], results } = rules;
  const optional = own(rules, 'vectors', 'others', 'read', 'overwrites', 'waiting', 'numbers');
  const { takesHalves } = own(rules, 'takesHalves');
  const { vectors, others, overwrites = [] } = optional;
  const read = optional.read === undefined ? inOrder(matrices) : ofSaved(what, optional.read);
  const { waiting = [], numbers = [] } = optional;
  const { key: keyOf, scalars, hidden, finish } = own(rules, 'key', 'scalars', 'hidden', 'finish');
  const { meaning } = own(rules, 'meaning');
  const options = rules.options as OptionNames<Options<O>>;
  const without = (names: readonly string[]): OptionNames<Options<O>> =>
    Object.fromEntries(
      Object.entries(options).filter(([name]) => !names.includes(name)),
    ) as OptionNames<Options<O>>;
  const told = Object.keys(without([...ELSEWHERE, ...numbers]));
  const targetsOf = (
    args: LinalgArguments,
    given: Options<O>,
  ): Targets & Pick<CallTensors, 'outs'> => {
    const names = [...(given.wrt ?? results), ...(hidden?.(given, args) ?? [])];
    const outs = [...((given.out ?? []) as (Tensor | undefined)[])];
    const over: (string | undefined)[] = [];
    for (const [option, matrix, name] of overwrites) {
      if (!flag(what, option, given[option as keyof O])) continue;
      const at = names.includes(name) ? names.indexOf(name) : names.push(name) - 1;
      if (outs[at] !== undefined) throw twoPlaces(what, name, option);
      outs[at] = args[0][matrix];
      over[at] = matrix;
    }
    while (outs.length < names.length) outs.push(undefined);
    return { outs, names, over };
  };
  const operation: OperationRules<LinalgArguments, Options<O>, undefined, readonly unknown[]> = {
    what,
    options,
    prepareOptions: without([...WAITING, ...waiting]),
    freeOptions: {
      out: true,
      stream: true,
      ...Object.fromEntries(numbers.map((name) => [name, true])),
    } as never,
    snapshot: (args, given) => {
      const wrt = Object.hasOwn(options, 'wrt') ? wantedOf(what, given, results) : undefined;
      const { out } = given;
      if (out === undefined && wrt === given.wrt) return [read(args), given];
      const outs = out === undefined ? undefined : outsOf(what, out, wrt ?? results);
      return [read(args), { ...given, wrt, out: outs }];
    },
    identify: (args, given) => {
      const own = keyOf === undefined ? '' : keyOf(given, args);
      if (own === undefined) return undefined;
      let key = `${own} ${Object.keys(args[0]).join()} ${given.wrt?.join()}`;
      for (const name of told) {
        const value: unknown = given[name as keyof O];
        const part = typeof value === 'number' ? `${value}` : keyPart(value);
        if (part === undefined) return undefined;
        key += ` ${part}`;
      }
      const { outs } = targetsOf(args, given);
      return { key, tensors: { inputs: Object.values(args[0]), outs } };
    },
    plan: (args, given) => {
      const { outs, ...targets } = targetsOf(args, given);
      const call = new PlannedCall(what, args[0], outs, targets, {
        vectors,
        others,
        takesHalves,
      });
      rules.plan(call, given, args);
      return { tensors: call.tensors, steps: call.steps, scalars };
    },
    finish: (tensors, given, args) => {
      const { checkErrors } = own(given as CallOptions, 'checkErrors');
      if (checkErrors !== true && finish === undefined) return undefined;
      return finished(tensors, given, args);
    },
  };
  const finished = async (
    tensors: readonly Tensor[],
    given: Options<O>,
    args: LinalgArguments,
  ): Promise<void> => {
    const { checkErrors, signal } = own(given as CallOptions, 'checkErrors', 'signal');
    const { outs, names } = targetsOf(args, given);
    const byName = named(names, tensors);
    try {
      const { infos } = byName;
      if (checkErrors === true && infos !== undefined) {
        await checkInfos(what, infos as Tensor<'int32'>, meaning?.(given) ?? 'converged', {
          signal,
        });
      }
      await finish?.({ ...args[0], ...byName }, given, args);
    } catch (error) {
      for (const one of tensors) if (!outs.includes(one)) one.dispose();
      throw error;
    }
  };
  return new Operation(operation);
}

/** Tensors that are arguments of their own, and what is behind them. */
const inOrder =
  (names: readonly string[]) =>
  (args: readonly unknown[]): LinalgArguments => [
    Object.fromEntries(names.map((name, place) => [name, args[place] as Tensor])),
    ...args.slice(names.length),
  ];

/** Tensors out of what a forward call left behind, the second argument. @throws MercerError INVALID_ARGUMENT where that is no object */
const ofSaved =
  (what: string, read: (args: never) => LinalgArguments) =>
  (args: readonly unknown[]): LinalgArguments => {
    const [, saved] = args;
    if (typeof saved === 'object' && saved !== null) return read(args as never);
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: the second argument is ${describeValue(saved)}. Pass an object of the tensors of the forward call, by name.`,
    );
  };

const named = (names: readonly string[], tensors: readonly Tensor[]): Record<string, Tensor> =>
  Object.fromEntries(names.map((name, place) => [name, tensors[place] as Tensor]));

/** `out` by the places of the results. @throws MercerError INVALID_ARGUMENT for what is neither a tensor nor tensors by name */
function outsOf(what: string, out: unknown, results: readonly string[]): readonly unknown[] {
  if (isTensor(out)) return [out];
  const names = Object.fromEntries(results.map((name) => [name, true as const]));
  const given = readOptions(`${what}: out`, out as Record<string, unknown>, names);
  return results.map((name) => given[name]);
}

const twoPlaces = (what: string, result: string, option: string): MercerError =>
  new MercerError(
    'INVALID_ARGUMENT',
    `${what}: both out and ${option} are given. Choose one place for ${result}.`,
  );

/** The wanted ones of the inputs. @throws MercerError INVALID_ARGUMENT for a name that is none of them */
function wantedOf(what: string, { wrt }: WrtOption, inputs: readonly string[]): readonly string[] {
  const given: unknown = wrt;
  if (given !== undefined && !Array.isArray(given)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: wrt is ${describeValue(given)}. Pass a list of names, of ${inputs.join(', ')}.`,
    );
  }
  const strangers = wrt?.filter((name) => !inputs.includes(name)) ?? [];
  if (strangers.length === 0) return inputs.filter((name) => wrt?.includes(name) ?? true);
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: wrt names ${strangers.map(describeValue).join(', ')}, and the inputs are ${inputs.join(', ')}. Use some of these.`,
  );
}

/**
 * An operation as a function of `arity` arguments and options, which gives its results by name, with its `prepare`. A result that was
 * written over a matrix is another handle for it.
 *
 * @param waits whether prepared calls give a promise, as their routine may wait
 */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the face, which types the arguments
export function linalgFunction<F, O extends object>(
  rules: LinalgRules<O>,
  arity: number,
  waits = false,
): F {
  const operation = linalgOperation(rules);
  const { hidden, derivative } = own(rules, 'hidden', 'derivative');
  const options = rules.options as OptionNames<WrtOption>;
  /** The names of what such a call gives. @throws MercerError INVALID_ARGUMENT */
  const namesOf = (what: string, given: unknown): readonly string[] =>
    Object.hasOwn(options, 'wrt')
      ? wantedOf(what, readOptions(what, given as WrtOption, options), rules.results)
      : rules.results;
  const give = (
    args: readonly unknown[],
    names: readonly string[],
    tensors: readonly Tensor[],
  ): Record<string, Tensor> => {
    // Behind them is what no caller sees: a matrix that was written over, or a result that was hidden.
    if (hidden !== undefined) for (const one of tensors.slice(names.length)) one.dispose();
    return named(
      names,
      tensors.slice(0, names.length).map((one) => (args.includes(one) ? one.view() : one)),
    );
  };
  const run = async (...given: readonly unknown[]): Promise<Record<string, Tensor>> => {
    const args = given.slice(0, arity);
    const names = namesOf(rules.what, given[arity]);
    return give(args, names, await operation.call(args, given[arity] as never));
  };
  const prepare = async (...examples: readonly unknown[]): Promise<unknown> => {
    const names = namesOf(`${rules.what}.prepare`, examples[arity]);
    const prepared = await operation.prepare(examples.slice(0, arity), examples[arity] as never);
    const now = (...given: readonly unknown[]): Record<string, Tensor> => {
      const args = given.slice(0, arity);
      return give(args, names, prepared(args, given[arity] as never));
    };
    const later = async (...given: readonly unknown[]): Promise<Record<string, Tensor>> => {
      const args = given.slice(0, arity);
      return give(args, names, await prepared.whenEnqueued(args, given[arity] as never));
    };
    return waits ? later : now;
  };
  // gradients of what all examples share are not sums over them
  const batch = rules.read === undefined ? inFront(2) : repeated;
  return differentiable(
    rules.what,
    Object.assign(run, { prepare }),
    derivative,
    batch,
    'one call',
  ) as F;
}

/** Matrices and vectors of one example each, repeated where all examples share one. */
const repeated: BatchRule<readonly unknown[]> = ({ args, mapped, size, call }) => {
  const are = flatArguments(mapped);
  const flat = flatArguments(args);
  const isSingle = flat.every(
    (one, at) => !isValue(one) || exampleShape(one, are[at]).length <= MATRIX,
  );
  if (!isSingle) return undefined;
  const given = flat.map((one, at) => (isValue(one) ? spreadOver(one, are[at], size) : one));
  return call(...(nestedLike(args, given) as never[]));
};

const MATRIX = 2;

const isValue = (one: unknown): one is KnownValue => isTensor(one) || isTraced(one);
