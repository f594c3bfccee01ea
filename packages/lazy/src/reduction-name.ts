import { REDUCTION_KINDS, type ReductionKind } from '@mercer/formula';
import { describeList } from '@mercer/options';
import { LazyError } from './lazy-error.js';

/** KeOps' spellings that differ from the kinds. */
const KEOPS = {
  SoftMax: 'SumSoftMaxWeight',
  LogSumExpWeight: 'LogSumExp',
  Min_ArgMin: 'MinArgMin',
  Max_ArgMax: 'MaxArgMax',
  KMin_ArgKMin: 'KMinArgKMin',
  KMax_ArgKMax: 'KMaxArgKMax',
  Max_SumShiftExp: 'MaxSumShiftExp',
  Max_SumShiftExpWeight: 'MaxSumShiftExp',
} as const satisfies Record<string, ReductionKind>;

/** A reduction by its kind, or by KeOps' name for it. */
export type ReductionName = ReductionKind | keyof typeof KEOPS;

/** The kind that a name stands for. */
export type KindOf<N extends ReductionName> = N extends keyof typeof KEOPS
  ? (typeof KEOPS)[N]
  : Extract<N, ReductionKind>;

/** The reduction of a text: the one that a whole reduction names, `Max_Reduction(F, 0)`, else that of the options. */
export type ReductionOf<
  F extends string,
  N extends ReductionName,
> = F extends `${infer Name}_Reduction(${string}` ? (Name extends ReductionName ? Name : N) : N;

/** @throws LazyError INVALID_ARGUMENT */
export function reductionKind(what: string, name: ReductionName): ReductionKind {
  if (Object.hasOwn(KEOPS, name)) return KEOPS[name as keyof typeof KEOPS];
  const kind = REDUCTION_KINDS.find((one) => one === name);
  if (kind !== undefined) return kind;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: there is no reduction ${describeList(name)}. Use one of ${[...REDUCTION_KINDS, ...Object.keys(KEOPS)].join(', ')}.`,
  );
}
