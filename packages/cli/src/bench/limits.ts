import type { Spread } from './statistics.js';

/** One measured limit of a device. Rates are those of the tenth percentile of the times: what it can do undisturbed. */
export interface MeasuredLimit {
  /** Key, such as `fp32-add-fma`. */
  readonly limit: string;
  readonly title: string;
  readonly ms: Spread;
  readonly bytesPerSecond?: number;
  /** Element pairs a second of a register-only loop. */
  readonly pairsPerSecond?: number;
  readonly issuePerSecond?: number;
  readonly specialPerSecond?: number;
}

/** All limits of one device, measured in one run. */
export interface DeviceLimitsReport {
  readonly device: string;
  readonly deviceName: string;
  /** Bytes that the last cache keeps from one call to the next. */
  readonly cacheBytes: number;
  readonly limits: readonly MeasuredLimit[];
  /** What could not be measured, and why. */
  readonly leftOut?: string;
}

/** The fastest of several measured values, if any was measured. */
export function best(
  report: DeviceLimitsReport,
  names: readonly string[],
  field: 'bytesPerSecond' | 'pairsPerSecond' | 'issuePerSecond' | 'specialPerSecond',
): number | undefined {
  const values = report.limits
    .filter((entry) => names.length === 0 || names.includes(entry.limit))
    .map((entry) => entry[field])
    .filter((value) => value !== undefined);
  return values.length === 0 ? undefined : Math.max(...values);
}
