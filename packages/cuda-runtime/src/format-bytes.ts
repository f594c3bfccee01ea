const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A count of bytes for people: `1.5 GiB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? String(value) : value.toFixed(value < 10 ? 2 : 1)} ${units[unit] ?? ''}`;
}
