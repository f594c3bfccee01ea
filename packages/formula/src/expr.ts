import type { MathOp } from './functions/math-ops.js';
import type { ArgTypes, ExprType, Op } from './op.js';

/**
 * A node of an expression: immutable and interned, so two expressions are structurally equal
 * exactly when they are `===`.
 */
export interface Expr {
  readonly op: Op;
  readonly type: ExprType;
  readonly args: readonly Expr[];
  /** The number of a `const` node. */
  readonly value?: number;
  /** The name of a `var` node. */
  readonly name?: string;
  /** The function of a `call` node. */
  readonly fn?: MathOp;
  /** The fixed numbers of a `call` node. */
  readonly attributes?: readonly number[];
  /** Unique in this process, never reused; not stable between processes. */
  readonly id: number;
}

/** An expression whose value is a real number. */
export interface RealExpr extends Expr {
  readonly type: 'real';
}

/** An expression whose value is true or false: only `select` reads one. */
export interface BoolExpr extends Expr {
  readonly type: 'bool';
}

/** What the constructors take where a real value is wanted. */
export type Operand = RealExpr | number;

/** The expression type that stands for a value type. */
export type ExprOf<T extends ExprType> = T extends 'bool' ? BoolExpr : RealExpr;

type ExprTuple<T extends readonly ExprType[]> = { readonly [I in keyof T]: ExprOf<T[I]> };

/** The arguments of operation `K` as expressions. */
export type ExprArgs<K extends Op> = ExprTuple<ArgTypes[K]>;

/** A node that calls a function. */
export interface CallNode extends RealExpr {
  readonly op: 'call';
  readonly args: readonly RealExpr[];
  readonly fn: MathOp;
  readonly attributes: readonly number[];
}

/** A node known to have operation `K`. */
export type NodeOf<K extends Op> = K extends 'const'
  ? RealExpr & { readonly value: number }
  : K extends 'var'
    ? RealExpr & { readonly name: string }
    : K extends 'call'
      ? CallNode
      : Omit<Expr, 'args'> & { readonly op: K; readonly args: ExprArgs<K> };
