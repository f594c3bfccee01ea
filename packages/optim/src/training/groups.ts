import { max, substitute, variable, variablesOfAll, type RealExpr } from '@mercer/formula/plan';
import { describeValue, type OptionNames } from '@mercer/options';
import { full, map, MercerError, Scope, type Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import {
  composedFor,
  COMMON_OPTIONS,
  optimiserOf,
  readSettings,
  type CommonOptions,
} from '../optimiser-of.js';
import type { Optimiser, OptimiserState, StepExtras } from '../optimiser.js';
import type {
  CheckedStep,
  Refreshing,
  Rule,
  RuleRefresh,
  RuleStep,
  SteppedLeaf,
  StepNumbers,
} from '../rule.js';
import { partOf } from '../state-parts.js';
import type { NamedLeaf } from '../tree.js';
import type { UpdatedLeaf } from '../update.js';

/** Which group a parameter is in: a function of its path, or groups by path, where a path stands for all that is in it and the longest counts. */
export type GroupOf = ((path: string, tensor: Tensor) => string) | Readonly<Record<string, string>>;

/** Options of {@link parameterGroups}. */
export interface GroupsOptions extends CommonOptions {
  /** Optimisers by the names of the groups. What they do about gradients that are not finite and about norms is replaced by the options here, which are of all groups together. */
  readonly groups: Readonly<Record<string, Optimiser>>;
  readonly of: GroupOf;
}

const MOST = max(variable('x'), variable('y'));

const GROUPS_OPTIONS: OptionNames<GroupsOptions> = { ...COMMON_OPTIONS, groups: true, of: true };

/**
 * One optimiser of several, each for a group of the parameters: other options for biases, or another method. Whether a step is taken is decided for all together.
 *
 * ```ts
 * import { adamW, parameterGroups } from '@mercer/optim';
 *
 * const optimiser = parameterGroups({
 *   groups: { plain: adamW({ weightDecay: 0 }), decayed: adamW({ weightDecay: 0.1 }) },
 *   of: (path) => (path.endsWith('bias') ? 'plain' : 'decayed'),
 * });
 * console.log(optimiser.name); // groups(plain: adamW, decayed: adamW)
 * ```
 *
 * What an optimiser needs beside the gradients it finds in the extras of the step: `kfac` the layers whose weights are in its group, `naturalGradient` its parameters' part of `perSample`. Numbers of the
 * state that are a group's own have its name before them: `<group>:damping`.
 *
 * With `of: { layers: 'decayed', 'layers[0].bias': 'plain' }` paths say it; a group named `default` takes those that no path names.
 *
 * @throws MercerError INVALID_ARGUMENT; its `init` and `step` too, for a parameter in no group
 */
export function parameterGroups(options: GroupsOptions): Optimiser {
  const what = 'parameterGroups';
  const { groups, of, ...common } = readOptions(what, options, GROUPS_OPTIONS);
  if (Object.keys(Object(groups) as object).length === 0) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: groups is ${describeValue(groups)}. Pass optimisers by name.`,
    );
  }
  const rules = Object.entries(groups).map(([name, one]): [string, Rule] => [
    name,
    composedFor(one, `${what}: groups.${name}`).rule,
  ]);
  const name = `groups(${rules.map(([group, rule]) => `${group}: ${rule.name}`).join(', ')})`;
  return optimiserOf(
    groupsRule(name, new Map(rules), checkGroupOf(of, what)),
    readSettings(common, what),
  );
}

/** @throws MercerError INVALID_ARGUMENT */
function checkGroupOf(of: unknown, what: string): (leaf: NamedLeaf) => string {
  if (typeof of === 'function') {
    return ({ name, tensor }) => (of as (path: string, one: Tensor) => string)(name, tensor);
  }
  if (typeof of !== 'object' || of === null) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: of is ${describeValue(of)}. Pass a function of the path, or groups by path.`,
    );
  }
  const paths = Object.entries(of as Record<string, string>).sort(
    ([a], [b]) => b.length - a.length,
  );
  return ({ name }) =>
    paths.find(
      ([path]) => name === path || name.startsWith(`${path}.`) || name.startsWith(`${path}[`),
    )?.[1] ?? 'default';
}

/** A rule of several, each for some of the parameters. */
export function groupsRule(
  name: string,
  rules: ReadonlyMap<string, Rule>,
  groupOf: (leaf: NamedLeaf) => string,
): Rule {
  const of = (leaf: NamedLeaf): string => {
    const group = groupOf(leaf);
    if (rules.has(group)) return group;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${name}: ${leaf.name} is in group ${describeValue(group)}, which there is not. The groups are ${[...rules.keys()].join(', ')}.`,
    );
  };
  const order = [...rules.keys()];
  const prefix = (group: string): string => `of${order.indexOf(group)}_`;
  /** What the rule of each group that has parameters is given. */
  const dividedState = <L extends UpdatedLeaf>(
    leaves: readonly L[],
    state: OptimiserState,
  ): readonly (readonly [string, Rule, readonly L[], OptimiserState])[] => {
    const groups = new Map<string, L[]>(order.map((group) => [group, []]));
    for (const leaf of leaves) groups.get(of({ name: leaf.name, tensor: leaf.param }))?.push(leaf);
    return [...rules].flatMap(([group, rule]) => {
      const own = groups.get(group) ?? [];
      return own.length === 0 ? [] : [[group, rule, own, ownState(state, group, rule, own)]];
    });
  };
  const divided = (step: CheckedStep): readonly (readonly [string, Rule, CheckedStep])[] =>
    dividedState(step.leaves, step.state).map(([group, rule, leaves, state]) => [
      group,
      rule,
      { ...step, leaves, state, extras: ownExtras(step, leaves) },
    ]);
  /** Those that are refreshed by hand. */
  const refreshed = ({
    leaves,
    state,
  }: RuleRefresh): readonly (readonly [Refreshing, RuleRefresh])[] =>
    dividedState(leaves, state).flatMap(([, { refreshing }, own, part]) =>
      refreshing === undefined ? [] : [[refreshing, { leaves: own, state: part }]],
    );
  let merged: { readonly parts: readonly object[]; readonly formulas: StepNumbers['formulas'] } = {
    parts: [],
    formulas: {},
  };
  return {
    name,
    options: Object.fromEntries([...rules].map(([group, rule]) => [group, rule.options])),
    slots: (leaf) => (rules.get(of(leaf)) as Rule).slots(leaf),
    numbers: (step, global) => {
      const all = [...rules].map(
        ([group, rule]) =>
          [prefix(group), rule.numbers(step, (one) => global(`${group}:${one}`))] as const,
      );
      const parts = all.map(([, { formulas }]) => formulas);
      if (!(
        parts.length === merged.parts.length && parts.every((one, k) => one === merged.parts[k])
      )) {
        const formulas = all.map(([before, numbers]) =>
          prefixed(renamed(numbers.formulas, before), before),
        );
        merged = { parts, formulas: Object.assign({}, ...formulas) as StepNumbers['formulas'] };
      }
      return {
        formulas: merged.formulas,
        parameters: Object.assign(
          {},
          ...all.map(([before, { parameters }]) => prefixed(parameters, before)),
        ) as StepNumbers['parameters'],
        inputs: Object.assign(
          {},
          ...all.map(([before, numbers]) => prefixed(numbers.inputs ?? {}, before)),
        ) as Readonly<Record<string, Tensor>>,
      };
    },
    refusesScale: [...rules.values()]
      .filter((rule) => rule.refusesScale !== undefined)
      .map((rule) => `has a group with ${rule.name}, which ${rule.refusesScale ?? ''}`)[0],
    globals: Object.assign(
      {},
      ...[...rules].map(([group, rule]) => prefixed(rule.globals ?? {}, `${group}:`)),
    ) as Rule['globals'],
    ...([...rules.values()].some(({ refreshing }) => refreshing !== undefined) && {
      refreshing: {
        async check(now) {
          for (const [one, own] of refreshed(now)) await one.check(own);
        },
        async run(now) {
          using scope = new Scope();
          const { device } = (now.leaves[0] as UpdatedLeaf).param;
          let most = await full([], 0, { device });
          for (const [one, own] of refreshed(now)) {
            const next = await map(MOST, {
              x: scope.track(most),
              y: scope.track(await one.run(own)),
            });
            most = next as typeof most;
          }
          return most;
        },
      } satisfies Refreshing,
    }),
    async check(step) {
      const all = new AllChecked();
      try {
        for (const [group, rule, own] of divided(step)) {
          all.checked.set(group, await rule.check?.(own));
        }
        return all;
      } catch (error) {
        all[Symbol.dispose]();
        throw error;
      }
    },
    async update(step) {
      const { checked } = step.checked as AllChecked;
      for (const [group, rule, own] of divided(step)) {
        const numbers = ownNumbers(step.numbers, prefix(group));
        await rule.update({ ...own, numbers, checked: checked.get(group) });
      }
    },
  };
}

/** What the checks of the groups gave. */
class AllChecked implements Disposable {
  readonly checked = new Map<string, Disposable | undefined>();

  [Symbol.dispose](): void {
    for (const one of this.checked.values()) one?.[Symbol.dispose]();
  }
}

/** The state as a rule knows it: slots of its parameters, its own numbers without the name of the group before them, and those of all. */
function ownState(
  state: OptimiserState,
  group: string,
  { name, globals = {} }: Rule,
  leaves: readonly UpdatedLeaf[],
): OptimiserState {
  // other parameters in the group of a name are another part: what is under way is not theirs
  const key = [group, ...leaves.map((leaf) => leaf.name)].join('\n');
  const part = partOf(state, key, name, () => {
    const own = Object.keys(globals).map((one) => [one, `${group}:${one}`] as const);
    const slots = leaves.flatMap((leaf) =>
      Object.keys(leaf.slots).map((slot) => `${leaf.name}/${slot}`),
    );
    const all = ['count', 'skips', ...slots].map((one) => [one, one] as const);
    return new Map(
      [...all, ...own].map(([one, there]) => [one, state.tensors.get(there) as Tensor]),
    );
  });
  part.step = state.step;
  return part;
}

/** Statistics of the group's layers: those of other groups are theirs. */
function ownExtras(
  { leaves: all, extras }: CheckedStep,
  leaves: readonly SteppedLeaf[],
): StepExtras {
  const { statistics } = extras;
  if (statistics === undefined) return extras;
  const own = new Set(leaves.map(({ name }) => name));
  const others = new Set(all.map(({ name }) => name).filter((name) => !own.has(name)));
  return { ...extras, statistics: statistics.filter(({ weight }) => !others.has(weight)) };
}

const prefixed = <T>(record: Readonly<Record<string, T>>, before: string): Record<string, T> =>
  Object.fromEntries(Object.entries(record).map(([name, one]) => [before + name, one]));

/** Formulas whose variables, but the count, have a prefix. */
function renamed(
  formulas: StepNumbers['formulas'],
  before: string,
): Readonly<Record<string, RealExpr>> {
  const names = variablesOfAll(Object.values(formulas)).filter((name) => name !== 't');
  const others = Object.fromEntries(names.map((name) => [name, variable(before + name)]));
  return Object.fromEntries(
    Object.entries(formulas).map(([name, one]) => [name, substitute(one, others)]),
  );
}

/** What a group sees of the numbers. */
function ownNumbers(numbers: RuleStep['numbers'], before: string): RuleStep['numbers'] {
  const { ok, factor, unscale } = numbers;
  const own = Object.entries(numbers)
    .filter(([name]) => name.startsWith(before))
    .map(([name, one]) => [name.slice(before.length), one] as const);
  return {
    ...Object.fromEntries(own),
    ok,
    ...(factor && { factor }),
    ...(unscale && { unscale }),
  };
}
