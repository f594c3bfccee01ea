import type { ReductionKind } from '@mercer/formula';
import type { OptionNames } from '@mercer/options';
import type { LazyDType } from './lazy-dtype.js';
import { DESCRIBE_OPTIONS, type DescribeOptions, type LazyReductions } from './lazy-reductions.js';
import type { IndexDType, OutDType, ResultOf } from './reduction-types.js';

/** A reduction among several: what kind, of what, and what the kind needs. */
export interface ReductionSpec<K extends ReductionKind = ReductionKind> extends DescribeOptions {
  readonly kind: K;
  /** What is reduced. Default: the matrix whose method is called. */
  readonly of?: LazyReductions | undefined;
}

/** Names of {@link ReductionSpec}. */
export const SPEC_OPTIONS: OptionNames<ReductionSpec> = {
  ...DESCRIBE_OPTIONS,
  kind: true,
  of: true,
};

/** Reductions by the names of their results; a kind alone stands for `{ kind }`. */
export type ReductionSpecs = Readonly<Record<string, ReductionKind | ReductionSpec>>;

/** The kind of a specification. */
export type KindOfSpec<S> = S extends ReductionKind
  ? S
  : S extends { readonly kind: infer K extends ReductionKind }
    ? K
    : never;

/** The results of `reduceMany`, by name. */
export type ManyResults<
  S extends ReductionSpecs,
  D extends OutDType = LazyDType,
  I extends IndexDType = 'int32',
> = {
  readonly [N in keyof S]: ResultOf<KindOfSpec<S[N]>, D, I>;
};
