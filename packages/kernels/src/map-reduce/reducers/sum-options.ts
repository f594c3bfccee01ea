/** How sums are added up: of blocks, of terms one by one, or with what each addition lost. */
export type SumScheme = 'block' | 'direct' | 'kahan';

/** How a reducer adds up sums. */
export interface SumOptions {
  readonly scheme: SumScheme;
  /** Running sums of type `W`, float64, of values of type `V`, float32. */
  readonly inFloat64: boolean;
}

/** What reducers do where nothing is said. */
export const PLAIN_SUMS: SumOptions = { scheme: 'block', inFloat64: false };

/**
 * Kahan's addition (CACM 8, 1965): `low` is what `total` has too much. What is infinite or NaN loses nothing.
 */
export const compensatedText = (zero: string): string =>
  `INLINE void compensated(V& total, V& low, V f) {
  const V wanted = f - low, next = total + wanted, lost = (next - total) - wanted;
  low = lost - lost == ${zero} ? lost : ${zero};
  total = next;
}`;
