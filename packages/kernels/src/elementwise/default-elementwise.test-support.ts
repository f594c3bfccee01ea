import { DTYPES } from '../dtype.js';
import type { CopyMode, ElementsPlan } from './plan-copy.js';
import { rawElement, type ElementType } from './element-type.js';

const RAW = ['bits8', 'bits16', 'bits32', 'bits64'] as const;
const RANKS = [1, 2, 3, 4, 5, 6, 7, 8] as const;

/**
 * Plans that together show every line of text this family can print: each dtype pair in each mode, each rank in each
 * mode for one pair, each width of fill.
 */
export function defaultElementwisePlans(): readonly ElementsPlan[] {
  const plans = new Map<string, ElementsPlan>();
  const add = (plan: ElementsPlan): void => {
    plans.set(JSON.stringify(plan), Object.freeze(plan));
  };
  const copy = (from: ElementType, to: ElementType, mode: CopyMode, rank: number): void => {
    add({ family: 'copy', from, to, mode, rank });
  };
  for (const from of DTYPES) {
    for (const to of DTYPES) {
      const [a, b] = from === to ? [rawElement(from), rawElement(to)] : [from, to];
      copy(a, b, 'linear', 1);
      copy(a, b, 'strided', 2);
      copy(a, b, 'tiled', 2);
    }
  }
  for (const rank of RANKS) {
    copy('bits32', 'bits32', 'strided', rank);
    if (rank >= 2) copy('bits32', 'bits32', 'tiled', rank);
    add({ family: 'fill', to: 'bits32', mode: 'strided', rank });
  }
  for (const to of RAW) {
    add({ family: 'fill', to, mode: 'linear', rank: 1 });
    add({ family: 'fill', to, mode: 'strided', rank: 2 });
  }
  return [...plans.values()];
}
