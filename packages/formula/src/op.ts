/** The two types an expression can have. Booleans come from comparisons and are read by `select`. */
export type ExprType = 'real' | 'bool';

/** Argument types of every operation: the one list that all rule tables are checked against. */
export interface ArgTypes {
  const: [];
  var: [];
  add: ['real', 'real'];
  sub: ['real', 'real'];
  mul: ['real', 'real'];
  div: ['real', 'real'];
  neg: ['real'];
  abs: ['real'];
  sign: ['real'];
  sqrt: ['real'];
  rsqrt: ['real'];
  pow: ['real', 'real'];
  exp: ['real'];
  log: ['real'];
  tanh: ['real'];
  min: ['real', 'real'];
  max: ['real', 'real'];
  lt: ['real', 'real'];
  le: ['real', 'real'];
  gt: ['real', 'real'];
  ge: ['real', 'real'];
  eq: ['real', 'real'];
  ne: ['real', 'real'];
  select: ['bool', 'real', 'real'];
  /** A function by name; how many arguments it takes is in its own table. */
  call: readonly 'real'[];
}

/** The name of an operation. */
export type Op = keyof ArgTypes;

/** A tuple like `T` with every element an `R`. */
export type MapTuple<T extends readonly unknown[], R> = { readonly [I in keyof T]: R };

/** Operations whose result is a boolean. */
export type BoolOp = 'lt' | 'le' | 'gt' | 'ge' | 'eq' | 'ne';

/** The result type of operation `K`. */
export type ResultType<K extends Op> = K extends BoolOp ? 'bool' : 'real';

/** What an operation takes and gives. */
export interface Signature<K extends Op = Op> {
  readonly args: Readonly<ArgTypes[K]>;
  readonly type: ResultType<K>;
}

const unary = { args: ['real'], type: 'real' } as const;
const binary = { args: ['real', 'real'], type: 'real' } as const;
const comparison = { args: ['real', 'real'], type: 'bool' } as const;

/** Signatures at run time, the mirror of `ArgTypes`. */
export const SIGNATURES: { readonly [K in Op]: Signature<K> } = {
  const: { args: [], type: 'real' },
  var: { args: [], type: 'real' },
  add: binary,
  sub: binary,
  mul: binary,
  div: binary,
  neg: unary,
  abs: unary,
  sign: unary,
  sqrt: unary,
  rsqrt: unary,
  pow: binary,
  exp: unary,
  log: unary,
  tanh: unary,
  min: binary,
  max: binary,
  lt: comparison,
  le: comparison,
  gt: comparison,
  ge: comparison,
  eq: comparison,
  ne: comparison,
  select: { args: ['bool', 'real', 'real'], type: 'real' },
  call: { args: [], type: 'real' },
};

/** Every operation, in the order of {@link SIGNATURES}. */
export const OPS = Object.freeze(Object.keys(SIGNATURES)) as readonly Op[];
