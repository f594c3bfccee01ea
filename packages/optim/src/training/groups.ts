import { substitute, variable, variablesOfAll, type RealExpr } from '@mercer/formula';
import { describeValue, type OptionNames } from '@mercer/options';
import { MercerError, type Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import {
  composedFor,
  COMMON_OPTIONS,
  optimiserOf,
  readSettings,
  type CommonOptions,
} from '../optimiser-of.js';
import type { Optimiser } from '../optimiser.js';
import type { Rule, RuleStep, StepNumbers } from '../rule.js';
import type { NamedLeaf } from '../tree.js';

/** Which group a parameter is in: a function of its path, or groups by path, where a path stands for all that is in it and the longest counts. */
export type GroupOf = ((path: string, tensor: Tensor) => string) | Readonly<Record<string, string>>;

/** Options of {@link parameterGroups}. */
export interface GroupsOptions extends CommonOptions {
  /** Optimisers by the names of the groups. What they do about gradients that are not finite and about norms is replaced by the options here, which are of all groups together. */
  readonly groups: Readonly<Record<string, Optimiser>>;
  readonly of: GroupOf;
}

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
  let merged: { readonly parts: readonly object[]; readonly formulas: StepNumbers['formulas'] } = {
    parts: [],
    formulas: {},
  };
  return {
    name,
    options: Object.fromEntries([...rules].map(([group, rule]) => [group, rule.options])),
    slots: (leaf) => (rules.get(of(leaf)) as Rule).slots(leaf),
    numbers: (step) => {
      const all = [...rules].map(([group, rule]) => [prefix(group), rule.numbers(step)] as const);
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
    async update(step) {
      for (const [group, rule] of rules) {
        const leaves = step.leaves.filter(
          ({ name: path, param }) => of({ name: path, tensor: param }) === group,
        );
        if (leaves.length === 0) continue;
        await rule.update({ ...step, leaves, numbers: ownNumbers(step.numbers, prefix(group)) });
      }
    },
  };
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
  const { ok, factor } = numbers;
  const own = Object.entries(numbers)
    .filter(([name]) => name.startsWith(before))
    .map(([name, one]) => [name.slice(before.length), one] as const);
  return { ...Object.fromEntries(own), ok, ...(factor && { factor }) };
}
