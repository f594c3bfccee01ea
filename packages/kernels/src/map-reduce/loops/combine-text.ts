import { lines } from '../../emit/indent.js';
import type { ScheduledLoop } from './loop-order.js';
import type { TileDialect } from './tile-dialect.js';

/** Ends the name of a sum of one run. */
export const PARTIAL = 'part';
const BEST = 'best';

const isLargest = (combine: ScheduledLoop['combine']): boolean =>
  combine === 'max' || combine === 'argmax';

/** Declares what a loop leaves, or the part of it with `suffix`. */
export function declareText(
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
export function updateText(
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
