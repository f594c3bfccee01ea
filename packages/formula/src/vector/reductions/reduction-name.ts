import { REDUCTION_KINDS, type ReductionKind } from './reduction.js';

/** KeOps' spellings that differ from the kinds. */
export const KEOPS_SPELLINGS = {
  LogSumExpWeight: 'LogSumExp',
  SoftMax: 'SumSoftMaxWeight',
  Max_SumShiftExp: 'MaxSumShiftExp',
  Max_SumShiftExpWeight: 'MaxSumShiftExp',
  Min_ArgMin: 'MinArgMin',
  Max_ArgMax: 'MaxArgMax',
  KMin_ArgKMin: 'KMinArgKMin',
  KMax_ArgKMax: 'KMaxArgKMax',
} as const satisfies Record<string, ReductionKind>;

/** A reduction by its kind, or by KeOps' name for it. */
export type ReductionName = ReductionKind | keyof typeof KEOPS_SPELLINGS;

/** The kind that a name stands for. */
export type KindOf<N extends ReductionName> = N extends keyof typeof KEOPS_SPELLINGS
  ? (typeof KEOPS_SPELLINGS)[N]
  : Extract<N, ReductionKind>;

/** Every name: the kinds, then KeOps' spellings. */
export const REDUCTION_NAMES = Object.freeze([
  ...REDUCTION_KINDS,
  ...Object.keys(KEOPS_SPELLINGS),
]) as readonly ReductionName[];

/** The kind that a name stands for, `undefined` where it is none. */
export function kindOf(name: string): ReductionKind | undefined {
  if (typeof name !== 'string') return undefined;
  return Object.hasOwn(KEOPS_SPELLINGS, name)
    ? KEOPS_SPELLINGS[name as keyof typeof KEOPS_SPELLINGS]
    : REDUCTION_KINDS.find((kind) => kind === name);
}
