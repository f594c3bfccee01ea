import type { DType } from '@mercer/kernels';
import type { Device } from '../device.js';
import type { Pending } from '../pending.js';
import type { Tensor } from '../tensor.js';

/** What rules calculate with: a tensor, or one that is pending; traced ones look the same. */
export type Value = Tensor | Pending<Tensor>;

/** An argument of a call that is differentiated: its shape is known. */
export type KnownValue = Value & ValueForm;

/** A cotangent or tangent of one argument: computed where it is needed, undefined where it is 0. */
export type Share = (() => Value | undefined) | undefined;

/** Shares of the elements of a record, and of records in it. */
export interface SharesByName {
  readonly [name: string]: Share | SharesByName;
}

/** Of each argument the share of its gradient: of lists and records of tensors a list or a record. */
export type Shares = readonly (Share | readonly (Share | SharesByName)[] | SharesByName)[];

/** A call that a rule differentiates. */
export interface AppliedCall<A extends readonly unknown[]> {
  /** The arguments as they were, without traces of the level that is differentiated. */
  readonly args: A;
  /** What the call gave. */
  readonly result: KnownValue;
  /** Like the arguments: whether the share of each is asked for, so that a rule can compute those together. */
  readonly wanted: readonly unknown[];
}

/** What a value is, where it is known without its elements. */
export interface ValueForm {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly device: Device;
}

/** How an operation is differentiated. Rules are written with public functions and methods, so that what they compute is differentiated again. */
export interface DerivativeRule<A extends readonly unknown[] = never> {
  /**
   * The cotangents of the arguments from that of the result, which has the result's shape. Of an operation with several results the cotangent is
   * like what it gives, an array or an object, with undefined where a result has none.
   */
  vjp(cotangent: Value, call: AppliedCall<A>): Shares;
  /**
   * The tangent of the result from those of the arguments: 'linear' where it is the operation itself on the tangent of its one tensor. Default: from
   * `vjp`, which is linear in the cotangent and so differentiated by it.
   */
  readonly jvp?: 'linear' | ((tangents: Tangents, call: AppliedCall<A>) => unknown) | undefined;
  /**
   * Called where derivatives of results are used: a cotangent reaches them, or a tangent of theirs goes on to another operation or to the caller. It is for
   * warnings, and changes nothing.
   *
   * @param used like the result, undefined where none is used
   */
  readonly noteUse?: ((used: unknown, result: unknown) => void) | undefined;
  /**
   * What `vjp` launches, within the call, follows from the form of the cotangent, the arguments and the result alone: dtypes, shapes, strides, and what is no tensor. So
   * a backward pass that has only such rules is made again by its launches.
   */
  readonly isOfForms?: true;
  /** `vjp` is a user's: that it is linear in the cotangent is checked where it is turned round. */
  readonly checksLinear?: true;
  /** The cotangent may have extents of 1, or lack axes, where it is constant along the result's. */
  readonly broadcasts?: true;
}

/** The tangents of the arguments: undefined for those that have none, lists and records for lists and records. */
export type Tangents = readonly unknown[];

/** A call on many examples at once: its tensors that are mapped have one axis more in front, along which the examples lie. */
export interface MappedCall<A extends readonly unknown[] = never> {
  readonly args: A;
  /** Like the arguments: whether each has the mapped axis. One of them has it. */
  readonly mapped: readonly unknown[];
  /** The extent of the mapped axis. */
  readonly size: number;
  /** The operation on any arguments. */
  readonly call: (...args: never[]) => unknown;
}

/**
 * How an operation is computed for many examples at once: each value of its result has the mapped axis in front. Undefined where the rule takes no such
 * arguments: then it is called for one example after the other. Rules are written with public functions and methods, so that what they compute is
 * differentiated and mapped again.
 */
export type BatchRule<A extends readonly unknown[] = never> = (call: MappedCall<A>) => unknown;

/** How an operation is differentiated that is a composition of others. */
export interface Composition<A extends readonly unknown[] = never> {
  /** Gives what the operation gives, by operations that have derivatives. Called in its place, with traced values, where it is differentiated. */
  readonly composedOf: (...args: A) => unknown;
  /** It is composed by every trace, for examples and for what only owns too, but by one that asks for it by name: a layer of a network, which has no kernel of its own. */
  readonly isTransparent?: true;
}

/** An operation that traces record. */
export interface Primitive {
  /** The name by which users call it. */
  readonly name: string;
  /** The operation on any arguments, traced or not. */
  readonly call: (...args: never[]) => unknown;
  /** The same on arguments that are known, none of them traced, where that is quicker. */
  readonly untraced?: ((...args: never[]) => unknown) | undefined;
  /** How it is differentiated; 'constant' for one whose result does not change with small changes of its arguments; undefined for one that refuses. */
  readonly derivative: DerivativeRule | Composition | 'constant' | undefined;
  /** How it is mapped; default: one example after the other. */
  readonly batch?: BatchRule | undefined;
}

/** Zeros like a value, whatever its elements are: part of the kernel that reads them. */
export function zerosLike(x: KnownValue): Value {
  const { dtype } = x;
  return x.isNaN().where(0, 0).cast(dtype);
}
