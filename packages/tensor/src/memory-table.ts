import type { Device, Storage } from './device.js';
import { MercerError } from './mercer-error.js';

const ROWS = 10;

/** `1.5 GiB`; exact below 1 KiB. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? String(value) : value.toFixed(1)} ${units[unit] ?? ''}`;
}

/** What holds the device's memory, largest first, equal purposes together. */
export function liveTable(storages: Iterable<Storage>): string {
  const groups = new Map<string, { count: number; bytes: number }>();
  for (const { purpose, bytes } of storages) {
    const group = groups.get(purpose) ?? { count: 0, bytes: 0 };
    groups.set(purpose, { count: group.count + 1, bytes: group.bytes + bytes });
  }
  const rows = [...groups].sort(([, a], [, b]) => b.bytes - a.bytes);
  const lines = rows
    .slice(0, ROWS)
    .map(
      ([purpose, { count, bytes }]) =>
        `  ${formatBytes(bytes).padStart(10)}  ${String(count).padStart(6)} x  ${purpose}`,
    );
  if (rows.length > ROWS) lines.push(`  and ${rows.length - ROWS} more kinds`);
  return lines.length === 0 ? '  nothing' : lines.join('\n');
}

/** The error of an allocation that failed also after unreachable memory was freed. */
export function outOfMemory(
  device: Device,
  storages: Iterable<Storage>,
  bytes: number,
  purpose: string,
  cause: Error,
): MercerError {
  const { liveBytes, freeBytes, totalBytes } = device.memory();
  return new MercerError(
    'OUT_OF_MEMORY',
    `allocating ${bytes} bytes (${formatBytes(bytes)}) for ${purpose} on ${device.id}: ${cause.message}. ` +
      `The device has ${formatBytes(freeBytes)} free of ${formatBytes(totalBytes)}; this program holds ${formatBytes(liveBytes)}:\n` +
      `${liveTable(storages)}\n` +
      'Unreachable tensors were freed already. Dispose tensors that you still hold (using, dispose(), scope()), reuse outputs with `out`, or work in smaller pieces.',
    { cause },
  );
}
