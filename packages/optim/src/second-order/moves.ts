import { add, mul, sub, variable } from '@mercer/formula';

const v = variable;
const step = mul(v('nu'), v('u'));
const next = add(mul(v('momentum'), v('m')), step);

/** A parameter less the rate times its direction `u`, shortened by `nu`. */
export const MOVED = { p: sub(v('p'), mul(v('rate'), step)) };

/** The same with momentum. */
export const MOVED_ON = { p: sub(v('p'), mul(v('rate'), next)), m: next };

/** What is copied. */
export const SAME = v('x');
