import type { ElementwiseOp } from './elementwise/elementwise-op.js';

/** Which index a variable follows: rows of the output side `i`, of the other side `j`, both, or none. */
export type Category = 'i' | 'j' | 'pair' | 'parameter';

/** How a vector becomes one number. */
export type Combine = 'sum' | 'max' | 'min' | 'argmax' | 'argmin';

interface NodeBase {
  /** How many components the value has. */
  readonly dim: number;
  readonly args: readonly VectorExpr[];
  /** Unique in this process, never reused; not stable between processes. */
  readonly id: number;
}

/** A number, dim 1. */
export interface LiteralNode extends NodeBase {
  readonly kind: 'literal';
  readonly value: number;
}

/** The zero vector of dim 2 or more; the zero of dim 1 is the literal 0. */
export interface ZeroNode extends NodeBase {
  readonly kind: 'zero';
}

/** Input number `position`: the row of index i or j, the value of the pair (i, j), or the one row of a parameter. */
export interface VariableNode extends NodeBase {
  readonly kind: 'variable';
  readonly category: Category;
  readonly position: number;
}

/** The row number i or j itself, dim 1. */
export interface IndexNode extends NodeBase {
  readonly kind: 'index';
  readonly axis: 'i' | 'j';
}

/** A scalar operation applied to every component; arguments have dim `dim`, or 1 and are repeated. */
export interface ElementwiseNode extends NodeBase {
  readonly kind: 'elementwise';
  readonly op: ElementwiseOp;
  /** Fixed numbers of the operation, such as the order of a Bessel function. */
  readonly attributes: readonly number[];
}

/** One number from all components of the argument, dim 1. */
export interface ComponentsNode extends NodeBase {
  readonly kind: 'components';
  readonly combine: Combine;
}

/** The one component of the argument, `dim` times. */
export interface RepeatNode extends NodeBase {
  readonly kind: 'repeat';
}

/** Component k is component `start + k * step` of the argument. */
export interface SliceNode extends NodeBase {
  readonly kind: 'slice';
  readonly start: number;
  readonly step: number;
}

/** Component `start + k * step` is component k of the argument; all others are 0. */
export interface PlaceNode extends NodeBase {
  readonly kind: 'place';
  readonly start: number;
  readonly step: number;
}

/** The arguments one after the other. */
export interface ConcatNode extends NodeBase {
  readonly kind: 'concat';
}

/** Component `k * n + a` is component k of argument a; all n arguments have the same dim. */
export interface InterleaveNode extends NodeBase {
  readonly kind: 'interleave';
}

/** Shapes and axes of a tensor contraction, row-major. */
export interface Contraction {
  readonly shapeF: readonly number[];
  readonly shapeG: readonly number[];
  /** Axis `axesF[k]` of f is summed together with axis `axesG[k]` of g. */
  readonly axesF: readonly number[];
  readonly axesG: readonly number[];
  /** Where kept axis k, those of f and then those of g, stands in the result. */
  readonly permutation: readonly number[];
}

/** A contraction of two tensors; products of matrices and vectors are cases of it. */
export interface ContractNode extends NodeBase {
  readonly kind: 'contract';
  readonly contraction: Contraction;
}

/** 1 at component `floor(f + 1/2)` of the one-component argument, 0 elsewhere; all 0 outside the range. */
export interface OneHotNode extends NodeBase {
  readonly kind: 'oneHot';
}

/** Row number `floor(index + 1/2)` of `table`, whatever the current row is; NaN outside its rows. */
export interface GatherNode extends NodeBase {
  readonly kind: 'gather';
  readonly table: VariableNode;
}

/**
 * A vector-valued formula: immutable and interned, so two formulas are structurally equal exactly
 * when they are `===`. `kind` tells the union apart.
 */
export type VectorExpr =
  | LiteralNode
  | ZeroNode
  | VariableNode
  | IndexNode
  | ElementwiseNode
  | ComponentsNode
  | RepeatNode
  | SliceNode
  | PlaceNode
  | ConcatNode
  | InterleaveNode
  | ContractNode
  | OneHotNode
  | GatherNode;

/** The kinds of nodes. */
export type Kind = VectorExpr['kind'];

/** The node type of kind `K`. */
export type NodeOfKind<K extends Kind> = Extract<VectorExpr, { readonly kind: K }>;

/** What operations take where a formula is wanted: a number stands for a literal. */
export type VectorOperand = VectorExpr | number;

/** What can be differentiated by: an input, or a row of one taken by index. */
export type Source = VariableNode | GatherNode;
