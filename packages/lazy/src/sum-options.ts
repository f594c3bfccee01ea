import type { MapReduceProblem } from '@mercer/kernels';
import type { LazyDType } from './lazy-dtype.js';

/** How the terms of Sum, Mean, LogSumExp and SumSoftMaxWeight are added up. */
export interface SumOptions {
  /** What sums are held in: float64 for float32 data, or the data type, which is the default. */
  readonly accumulate?: LazyDType | undefined;
  /** 'block' (default): sums of short blocks; 'direct': term by term; 'kahan': term by term with what each addition lost. */
  readonly sumScheme?: MapReduceProblem['sumScheme'] | undefined;
}

/** The options as a problem takes them. */
export function problemSums({
  accumulate,
  sumScheme,
}: SumOptions): Pick<MapReduceProblem, 'accumulate' | 'sumScheme'> {
  return { accumulate, sumScheme };
}
