import { kindOf, REDUCTION_NAMES, type ReductionKind, type ReductionName } from '@mercer/formula';
import { describeList } from '@mercer/options';
import { LazyError } from './lazy-error.js';

/** The reduction of a text: the one that a whole reduction names, `Max_Reduction(F, 0)`, else that of the options. */
export type ReductionOf<
  F extends string,
  N extends ReductionName,
> = F extends `${infer Name}_Reduction(${string}` ? (Name extends ReductionName ? Name : N) : N;

/** @throws LazyError INVALID_ARGUMENT */
export function reductionKind(what: string, name: ReductionName): ReductionKind {
  const kind = kindOf(name);
  if (kind !== undefined) return kind;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: there is no reduction ${describeList(name)}. Use one of ${REDUCTION_NAMES.join(', ')}.`,
  );
}
