const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A byte count for people: `1536` is `1.5 KiB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? String(value) : significant(value)} ${UNITS[unit] ?? ''}`;
}

/** A time given in milliseconds, in the unit that suits it. */
export function formatMs(ms: number): string {
  if (!Number.isFinite(ms)) return '-';
  if (Math.abs(ms) >= 1000) return `${significant(ms / 1000)} s`;
  if (Math.abs(ms) >= 1) return `${significant(ms)} ms`;
  return `${significant(ms * 1000)} us`;
}

/** A share given as a fraction of 1. */
export function formatShare(share: number | undefined): string {
  if (share === undefined || !Number.isFinite(share)) return '-';
  return `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)}%`;
}

/** A share with two decimals, such as `94.06%`. */
export function formatPercent(share: number): string {
  return `${(share * 100).toFixed(2)}%`;
}

/** A rate with a metric prefix, such as `1.28 T`. */
export function formatRate(perSecond: number, unit: string): string {
  if (!Number.isFinite(perSecond)) return '-';
  const prefixes = ['', 'k', 'M', 'G', 'T', 'P'];
  let value = perSecond;
  let step = 0;
  while (Math.abs(value) >= 1000 && step < prefixes.length - 1) {
    value /= 1000;
    step++;
  }
  return `${significant(value)} ${prefixes[step] ?? ''}${unit}`;
}

/** Three significant digits without an exponent for everyday sizes. */
export function significant(value: number): string {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 100 && size < 1e6) return value.toFixed(0);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2);
  return value.toPrecision(3);
}

/** The exponent p of a norm as it is typed: `inf` for infinity. */
export function formatP(p: number): string {
  return p === Infinity ? 'inf' : String(p);
}
