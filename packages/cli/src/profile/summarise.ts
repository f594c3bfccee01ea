import type { KernelEvent } from './kernel-event.js';

/** What a device can do at most, measured or given. */
export interface DeviceRates {
  readonly bytesPerSecond?: number;
  /** Instructions of the main arithmetic pipe a second, all lanes. */
  readonly issuePerSecond?: number;
  /** Instructions of the special-function unit a second, all lanes. */
  readonly specialPerSecond?: number;
}

/** All launches of one kernel on one device together. */
export interface KernelSummary {
  readonly name: string;
  readonly device: string;
  readonly calls: number;
  readonly totalMs: number;
  readonly meanMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  /** Part of the time that all kernels of the device took. */
  readonly shareOfTime: number;
  readonly bytes?: number;
  readonly bytesPerSecond?: number;
  readonly shareOfBandwidth?: number;
  /** Share of the arithmetic pipe's or the special-function unit's rate, whichever is closer to its limit. */
  readonly shareOfIssue?: number;
}

/** Adds up launches by device and kernel, the longest first. */
export function summarise(
  events: readonly KernelEvent[],
  rates: ReadonlyMap<string, DeviceRates>,
): KernelSummary[] {
  const groups = new Map<string, KernelEvent[]>();
  const deviceMs = new Map<string, number>();
  for (const event of events) {
    const key = `${event.device}\n${event.name}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [event]);
    else group.push(event);
    deviceMs.set(event.device, (deviceMs.get(event.device) ?? 0) + event.durationMs);
  }
  return [...groups.values()]
    .map((group) => summariseGroup(group, deviceMs, rates))
    .sort((a, b) => b.totalMs - a.totalMs);
}

function summariseGroup(
  group: readonly KernelEvent[],
  deviceMs: ReadonlyMap<string, number>,
  rates: ReadonlyMap<string, DeviceRates>,
): KernelSummary {
  const [first] = group;
  const { name, device } = first ?? { name: '', device: '' };
  const limits = rates.get(device) ?? {};
  const totalMs = total(group, (event) => event.durationMs) ?? 0;
  const bytes = total(group, (event) => event.cost?.bytes);
  const rate = (amount: number | undefined): number | undefined =>
    amount === undefined || totalMs === 0 ? undefined : (amount / totalMs) * 1e3;
  const bytesPerSecond = rate(bytes);
  const bandwidth = ratio(bytesPerSecond, limits.bytesPerSecond);
  const issue = [
    ratio(rate(total(group, (event) => event.cost?.issueSlots)), limits.issuePerSecond),
    ratio(rate(total(group, (event) => event.cost?.specialOps)), limits.specialPerSecond),
  ].filter((share) => share !== undefined);
  return {
    name,
    device,
    calls: group.length,
    totalMs,
    meanMs: totalMs / group.length,
    minMs: group.reduce((least, event) => Math.min(least, event.durationMs), Infinity),
    maxMs: group.reduce((most, event) => Math.max(most, event.durationMs), 0),
    shareOfTime: ratio(totalMs, deviceMs.get(device)) ?? 1,
    ...(bytes === undefined ? {} : { bytes }),
    ...(bytesPerSecond === undefined ? {} : { bytesPerSecond }),
    ...(bandwidth === undefined ? {} : { shareOfBandwidth: bandwidth }),
    ...(issue.length === 0 ? {} : { shareOfIssue: Math.max(...issue) }),
  };
}

/** The sum over all launches, or undefined when one of them does not know its part. */
function total(
  group: readonly KernelEvent[],
  part: (event: KernelEvent) => number | undefined,
): number | undefined {
  let amount = 0;
  for (const event of group) {
    const value = part(event);
    if (value === undefined) return undefined;
    amount += value;
  }
  return amount;
}

function ratio(amount: number | undefined, limit: number | undefined): number | undefined {
  return amount === undefined || limit === undefined || limit === 0 ? undefined : amount / limit;
}
