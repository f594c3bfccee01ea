import { variables, type Expr } from '@mercer/formula';
import { indent, lines } from '../../emit/text.js';
import { ROW_NAMES } from '../lowering/lower.js';
import {
  isLoop,
  loopGroups,
  type ScheduledGather,
  type ScheduledLoop,
  type ScheduledStep,
} from './loop-order.js';
import type { StagedLoads, TileDialect } from './tile-dialect.js';
import type { LoopFormula } from './loop-formula.js';

/** The text of a formula over tiles of pairs. */
export interface TileText {
  /** Loops that leave what `roots` need, in the scope of the loop `parent`. */
  readonly loops: (parent: string, roots: readonly Expr[]) => string;
  /** Declarations for one pair, and the values of `exprs`. */
  readonly values: (
    exprs: readonly Expr[],
    r: string,
    g: string,
    read?: StagedLoads['read'],
  ) => {
    readonly text: string;
    readonly results: readonly string[];
    /** Instructions of a pair, about; loops are not counted. */
    readonly issueSlots: number;
  };
  /** All roots of the formula. */
  readonly roots: readonly Expr[];
  /** Values for every pair that stand outside of all loops and that `values` of `exprs` reads. */
  readonly read: (exprs: readonly Expr[]) => readonly string[];
}

/** The statements that compute expressions from variables of these names. */
interface Written {
  readonly names: readonly string[];
  readonly text: string;
  readonly results: readonly string[];
  readonly issueSlots: number;
}

/** More terms than this are added in parts, so that the error grows like the root of their number. */
export const LONGEST_RUN = 128;

/** The roots and loops of a formula as expressions. */
export function scheduledLoops(formula: LoopFormula): {
  readonly roots: readonly Expr[];
  readonly scheduled: readonly ScheduledStep[];
} {
  const roots = formula.values;
  const bodyOf = ({ name, root }: { readonly name: string; readonly root: number }): Expr => {
    const body = roots[root];
    if (body === undefined) throw new TypeError(`the loop ${name} has no body`);
    return body;
  };
  const gathers = (formula.gathers ?? []).map((gather): ScheduledGather => {
    const loads = formula.loads.filter(({ row }) => row?.name === gather.name);
    return {
      ...gather,
      counter: gather.name,
      parent: '',
      body: bodyOf(gather),
      loads: loads.map(({ name }) => name),
    };
  });
  return {
    roots,
    scheduled: [...formula.loops.map((loop) => ({ ...loop, body: bodyOf(loop) })), ...gathers],
  };
}

/** Writes a formula in a dialect. */
export function tileText(formula: LoopFormula, dialect: TileDialect): TileText {
  const { roots, scheduled } = scheduledLoops(formula);
  const loads = new Map(formula.loads.map((load) => [load.name, load]));
  const numbers = new Map(formula.numbers.map(({ name, index }) => [name, index]));

  // The statements are the same at every place of the tile, and may be thousands.
  const written = new Map<readonly Expr[], Written>();
  const statementsOf = (exprs: readonly Expr[]): Written => {
    let known = written.get(exprs);
    if (known === undefined) {
      const names = [...new Set(exprs.flatMap((expr) => variables(expr)))];
      const { statements, results, issueSlots = 0 } = dialect.statements(exprs, names);
      known = { names, text: lines(...statements.map((line) => line.trim())), results, issueSlots };
      written.set(exprs, known);
    }
    return known;
  };
  const values: TileText['values'] = (exprs, r, g, read) => {
    const { names, text, results, issueSlots } = statementsOf(exprs);
    const declarations = names.map((name) => `const V ${name} = ${source(name, r, g, read)};`);
    return { text: lines(...declarations, text), results, issueSlots };
  };
  const source = (name: string, r: string, g: string, read: StagedLoads['read'] | undefined) => {
    const staged = read?.(name, r, g);
    if (staged !== undefined) return staged;
    const load = loads.get(name);
    if (load?.row !== undefined) return dialect.taken(load, dialect.valueAt(load.row.name, r, g));
    if (load !== undefined) return dialect.load(load, r, g);
    const index = numbers.get(name);
    if (index !== undefined) return dialect.number(index);
    if (name === ROW_NAMES.i) return dialect.rowNumber('i', r, g);
    if (name === ROW_NAMES.j) return dialect.rowNumber('j', r, g);
    return dialect.valueAt(name, r, g);
  };

  const loops: TileText['loops'] = (parent, wanted) =>
    lines(
      ...loopGroups(scheduled, parent, wanted).map((group) =>
        lines(
          groupText(group.filter(isLoop)),
          ...group.map((step) => !isLoop(step) && gatherText(step)),
        ),
      ),
    );

  const gatherText = ({ name, position, body }: ScheduledGather): string =>
    lines(
      dialect.declare(name, dialect.lit(-1)),
      dialect.each((r, g) => {
        const { text, results } = values([body], r, g);
        const row = dialect.rowOfTable(position, results.join(''));
        return lines(text, `${dialect.valueAt(name, r, g)} = ${row};`);
      }),
    );

  const read: TileText['read'] = (exprs) => {
    const names = new Set(
      exprs.flatMap((expr) => variables(expr)).map((name) => loads.get(name)?.row?.name ?? name),
    );
    return scheduled
      .filter(({ parent, name }) => parent === '' && names.has(name))
      .map(({ name }) => name);
  };

  const groupText = (group: readonly ScheduledLoop[]): string => {
    const [first] = group;
    if (first === undefined) return '';
    const { counter, size, parent } = first;
    const bodies = group.map(({ body }) => body);
    const read = new Set(bodies.flatMap((body) => variables(body)));
    const staged =
      parent === ''
        ? dialect.stage?.(
            formula.loads.filter(({ name }) => read.has(name)),
            counter,
            size,
          )
        : undefined;
    const inParts = size > LONGEST_RUN;
    const stop = `${counter}_stop`;
    const step = lines(
      loops(counter, bodies),
      dialect.each((r, g) => {
        const { text, results } = values(bodies, r, g, staged?.read);
        const updates = group.map((loop, n) =>
          updateText(
            loop,
            results[n] ?? '',
            inParts,
            (name) => dialect.valueAt(name, r, g),
            dialect,
          ),
        );
        return lines(text, ...updates);
      }),
    );
    const part = (from: string, to: string): string => {
      if (staged === undefined) {
        return lines(
          dialect.loopPragma,
          `for (Step ${counter} = ${from}; ${counter} < ${to}; ${counter}++) {`,
          indent(step),
          '}',
        );
      }
      const [begin, place, steps] = [`${counter}_first`, `${counter}_step`, String(staged.steps)];
      const isWhole = size % staged.steps === 0;
      const { issueSlots } = statementsOf(bodies);
      return lines(
        staged.fetch(from),
        dialect.loopPragma,
        `for (Step ${begin} = ${from}; ${begin} < ${to}; ${begin} += ${steps}) {`,
        indent(staged.commit),
        `  if (${begin} + ${steps} < ${to}) {`,
        indent(staged.fetch(`${begin} + ${steps}`), 4),
        '  }',
        !isWhole &&
          `  const Step ${counter}_count = ${to} - ${begin} < ${steps} ? ${to} - ${begin} : ${steps};`,
        indent(dialect.stepsPragma?.({ isWhole, steps: staged.steps, issueSlots }) ?? ''),
        `  for (Step ${place} = 0; ${place} < ${isWhole ? steps : `${counter}_count`}; ${place}++) {`,
        new RegExp(`\\b${counter}\\b`).test(step) &&
          `    const Step ${counter} = ${begin} + ${place};`,
        indent(step, 4),
        '  }',
        '}',
      );
    };
    const declared = group.map((loop) => declareText(loop, dialect, ''));
    const scoped = (text: string): string =>
      staged === undefined ? text : lines('{', indent(lines(staged.setup, text)), '}');
    if (!inParts) return lines(...declared, scoped(part('0', String(size))));
    const sums = group.filter(({ combine }) => combine === 'sum');
    const runs = lines(
      dialect.loopPragma,
      `for (Step ${counter}_run = 0; ${counter}_run < ${size}; ${counter}_run += ${LONGEST_RUN}) {`,
      `  const Step ${stop} = ${counter}_run + ${LONGEST_RUN} < ${size} ? ${counter}_run + ${LONGEST_RUN} : ${size};`,
      ...sums.map((loop) => indent(declareText(loop, dialect, PARTIAL))),
      indent(part(`${counter}_run`, stop)),
      indent(
        dialect.each((r, g) =>
          lines(
            ...sums.map(({ name }) => {
              const total = dialect.valueAt(name, r, g);
              return `${total} = ${total} + ${dialect.valueAt(name + PARTIAL, r, g)};`;
            }),
          ),
        ),
      ),
      '}',
    );
    return lines(...declared, scoped(runs));
  };
  return { loops, values, roots, read };
}

/** Ends the name of a sum of one run. */
const PARTIAL = 'part';
const BEST = 'best';

const isLargest = (combine: ScheduledLoop['combine']): boolean =>
  combine === 'max' || combine === 'argmax';

/** Declares what a loop leaves, or the part of it with `suffix`. */
function declareText(
  { name, combine }: ScheduledLoop,
  dialect: TileDialect,
  suffix: string,
): string {
  const worst = dialect.lit(isLargest(combine) ? -Infinity : Infinity);
  switch (combine) {
    case 'sum':
      return dialect.declare(name + suffix, dialect.lit(0));
    case 'max':
    case 'min':
      return dialect.declare(name, worst);
    case 'argmax':
    case 'argmin':
      return lines(dialect.declare(name, dialect.lit(0)), dialect.declare(name + BEST, worst));
  }
}

/** Combines `f`, the value of one step, with what came before; a NaN is better than any number. */
function updateText(
  { name, combine, counter }: ScheduledLoop,
  f: string,
  inParts: boolean,
  at: (name: string) => string,
  dialect: TileDialect,
): string {
  const all = at(name);
  const sign = isLargest(combine) ? '>' : '<';
  switch (combine) {
    case 'sum': {
      const sum = inParts ? at(name + PARTIAL) : all;
      return `${sum} = ${sum} + ${f};`;
    }
    case 'max':
    case 'min':
      return `${all} = (I)(${f} ${sign} ${all}) | (I)(${f} != ${f}) ? ${f} : ${all};`;
    case 'argmax':
    case 'argmin': {
      const best = at(name + BEST);
      return lines(
        `{ const I better = (I)(${best} == ${best}) & ((I)(${f} != ${f}) | (I)(${f} ${sign} ${best}));`,
        `  ${best} = better ? ${f} : ${best}; ${all} = better ? ${dialect.number(counter)} : ${all}; }`,
      );
    }
  }
}
