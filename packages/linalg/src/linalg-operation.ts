import type { Scalars } from '@mercer/kernels';
import { own, type OptionNames } from '@mercer/options';
import { flag } from './checks.js';
import { isTensor, MercerError, type LoadOptions, type Tensor } from '@mercer/tensor';
import {
  keyPart,
  Operation,
  readOptions,
  type CallTensors,
  type OperationRules,
} from '@mercer/tensor/operation';
import { checkInfos, type InfoMeaning } from './infos.js';
import type { CallOptions } from './options.js';
import { PlannedCall, type Targets } from './planned-call.js';

/** Matrices, and numbers behind them. */
export type LinalgArguments = readonly unknown[];

/** What options of every operation are beside its own. */
type Options<O> = O & LoadOptions & CallOptions & { readonly out?: unknown };

/** An operation whose work is that of one routine. */
export interface LinalgRules<O extends object> {
  readonly what: string;
  /** Names of the matrices, in the order of the arguments. */
  readonly matrices: readonly string[];
  /** How many of them, the last ones, are vectors. */
  readonly vectors?: number;
  readonly options: OptionNames<O>;
  /** The results by name, in the order in which the plan makes them. `out` alone is the first. */
  readonly results: readonly string[];
  /** Options that write a result over a matrix: the place of the matrix, and the result, which may be one that no caller sees. */
  readonly overwrites?: readonly (readonly [option: string, place: number, result: string])[];
  /** Options that a preparation does not take: they make a call wait. */
  readonly waiting?: readonly string[];
  /** Options that are numbers which the kernels are given anew in each call. */
  readonly numbers?: readonly string[];
  /** Those numbers by their names in the routine; undefined where they are as the plan has them. @throws MercerError */
  readonly scalars?: (options: O, args: LinalgArguments) => Scalars | undefined;
  /** What is to be told of numbers by a key: those that plans read. */
  readonly key?: (options: O, args: LinalgArguments) => string | undefined;
  /** Checks and plans a call whose matrices fit together. @throws MercerError */
  readonly plan: (call: PlannedCall, options: O, args: LinalgArguments) => void;
  /** What a positive info says; default: there are none. */
  readonly meaning?: (options: O) => InfoMeaning;
  /** What an ordinary call does with its results before it gives them. */
  readonly finish?: (results: Readonly<Record<string, Tensor>>, options: O) => Promise<void>;
}

/** Options that say where, and who looks on: not what is computed. */
const ELSEWHERE = ['out', 'stream', 'signal', 'debug', 'onProgress', 'checkErrors', 'onJitter'];
/** Options with which a call waits, or tells while it waits. */
const WAITING = ['onProgress', 'checkErrors', 'onJitter'];

/** The operation behind a function of linear algebra. */
export function linalgOperation<O extends object>(
  rules: LinalgRules<O>,
): Operation<LinalgArguments, Options<O>> {
  const { what, matrices, results } = rules;
  const optional = own(rules, 'vectors', 'overwrites', 'waiting', 'numbers', 'key', 'scalars');
  const { vectors, overwrites = [], waiting = [], numbers = [], key: keyOf, scalars } = optional;
  const { meaning, finish: finishOwn } = own(rules, 'meaning', 'finish');
  const options = rules.options as OptionNames<Options<O>>;
  const without = (names: readonly string[]): OptionNames<Options<O>> =>
    Object.fromEntries(
      Object.entries(options).filter(([name]) => !names.includes(name)),
    ) as OptionNames<Options<O>>;
  const told = Object.keys(without([...ELSEWHERE, ...numbers]));
  const outNames = Object.fromEntries(results.map((name) => [name, true as const]));
  const tensorsOf = (args: LinalgArguments, given: Options<O>): CallTensors & Targets => {
    const names = [...results];
    const outs = [...((given.out ?? []) as (Tensor | undefined)[])];
    const over: (number | undefined)[] = [];
    for (const [option, place, name] of overwrites) {
      if (!flag(what, option, given[option as keyof O])) continue;
      const at = names.includes(name) ? names.indexOf(name) : names.push(name) - 1;
      if (outs[at] !== undefined) throw twoPlaces(what, name, option);
      outs[at] = args[place] as Tensor;
      over[at] = place;
    }
    while (outs.length < names.length) outs.push(undefined);
    return { inputs: args.slice(0, matrices.length) as Tensor[], outs, names, over };
  };
  const operation: OperationRules<LinalgArguments, Options<O>> = {
    what,
    options,
    prepareOptions: without([...WAITING, ...waiting]),
    freeOptions: {
      out: true,
      stream: true,
      ...Object.fromEntries(numbers.map((name) => [name, true])),
    } as never,
    snapshot: (args, given) => {
      const { out } = given;
      if (out === undefined) return [args, given];
      return [args, { ...given, out: outsOf(what, out, results, outNames) }];
    },
    identify: (args, given) => {
      let key = keyOf === undefined ? '' : keyOf(given, args);
      if (key === undefined) return undefined;
      for (const name of told) {
        const value: unknown = given[name as keyof O];
        const part = typeof value === 'number' ? `${value}` : keyPart(value);
        if (part === undefined) return undefined;
        key += ` ${part}`;
      }
      return { key, tensors: tensorsOf(args, given) };
    },
    plan: (args, given) => {
      const { inputs, outs, ...targets } = tensorsOf(args, given);
      const call = new PlannedCall(what, matrices, { inputs, outs }, targets, vectors);
      rules.plan(call, given, args);
      return { tensors: call.tensors, steps: call.steps, scalars };
    },
    finish: (tensors, given, args) => {
      if (
        own(given as CallOptions, 'checkErrors').checkErrors !== true &&
        finishOwn === undefined
      ) {
        return undefined;
      }
      return finish(tensors, given, args);
    },
  };
  const finish = async (
    tensors: readonly Tensor[],
    given: Options<O>,
    args: LinalgArguments,
  ): Promise<void> => {
    const { checkErrors, signal } = own(given as CallOptions, 'checkErrors', 'signal');
    const outs = (given.out ?? []) as readonly unknown[];
    const byName = named(results, tensors);
    try {
      const { infos } = byName;
      if (checkErrors === true && infos !== undefined) {
        await checkInfos(what, infos as Tensor<'int32'>, meaning?.(given) ?? 'converged', {
          signal,
        });
      }
      await finishOwn?.(byName, given);
    } catch (error) {
      for (const one of tensors) if (!outs.includes(one) && !args.includes(one)) one.dispose();
      throw error;
    }
  };
  return new Operation(operation);
}

const named = (names: readonly string[], tensors: readonly Tensor[]): Record<string, Tensor> =>
  Object.fromEntries(names.map((name, place) => [name, tensors[place] as Tensor]));

/** `out` by the places of the results. @throws MercerError INVALID_ARGUMENT for what is neither a tensor nor tensors by name */
function outsOf(
  what: string,
  out: unknown,
  results: readonly string[],
  names: OptionNames<Record<string, unknown>>,
): readonly unknown[] {
  if (isTensor(out) || results.length === 1) return [out];
  const given = readOptions(`${what}: out`, out as Record<string, unknown>, names);
  return results.map((name) => given[name]);
}

const twoPlaces = (what: string, result: string, option: string): MercerError =>
  new MercerError(
    'INVALID_ARGUMENT',
    `${what}: both out and ${option} are given. Choose one place for ${result}.`,
  );

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
  const give = (args: LinalgArguments, tensors: readonly Tensor[]): Record<string, Tensor> =>
    named(
      rules.results,
      // Without what was written over a matrix and no caller sees.
      tensors.slice(0, rules.results.length).map((one) => (args.includes(one) ? one.view() : one)),
    );
  const run = async (...given: readonly unknown[]): Promise<Record<string, Tensor>> => {
    const args = given.slice(0, arity);
    return give(args, await operation.call(args, given[arity] as never));
  };
  const prepare = async (...examples: readonly unknown[]): Promise<unknown> => {
    const prepared = await operation.prepare(examples.slice(0, arity), examples[arity] as never);
    const now = (...given: readonly unknown[]): Record<string, Tensor> => {
      const args = given.slice(0, arity);
      return give(args, prepared(args, given[arity] as never));
    };
    const later = async (...given: readonly unknown[]): Promise<Record<string, Tensor>> => {
      const args = given.slice(0, arity);
      return give(args, await prepared.whenEnqueued(args, given[arity] as never));
    };
    return waits ? later : now;
  };
  return Object.assign(run, { prepare }) as F;
}
