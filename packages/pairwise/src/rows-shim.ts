import type { DeviceLimits, Layout, PairwiseDType, PairwiseProgram } from '@mercer/kernels';
export interface RowsProblem {
  dtype: PairwiseDType;
  m: number;
  k: number;
  batch: number;
  layout: Layout;
  scale: boolean;
  normalise: boolean;
}
export interface RowsPlan {
  kind: string;
}
export function planRows(_p: RowsProblem, _l: DeviceLimits): RowsPlan {
  throw new Error('rows');
}
export function emitRows(_p: RowsPlan): PairwiseProgram {
  throw new Error('rows');
}
