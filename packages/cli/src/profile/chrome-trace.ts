import type { KernelEvent } from './kernel-event.js';

/** A trace in the format of chrome://tracing and Perfetto: a process for each device, a thread for each stream. */
export function chromeTrace(events: readonly KernelEvent[]): { readonly traceEvents: unknown[] } {
  const devices = indexOf(events.map((event) => event.device));
  const streams = indexOf(events.map((event) => `${event.device}\n${event.stream}`));
  const traceEvents: unknown[] = [];
  for (const [device, pid] of devices) {
    traceEvents.push({ ph: 'M', name: 'process_name', pid, tid: 0, args: { name: device } });
  }
  for (const [key, tid] of streams) {
    const [device = '', stream = ''] = key.split('\n');
    const pid = devices.get(device) ?? 0;
    traceEvents.push({ ph: 'M', name: 'thread_name', pid, tid, args: { name: stream } });
  }
  for (const { name, device, stream, startMs, durationMs, cost } of events) {
    traceEvents.push({
      ph: 'X',
      name,
      cat: 'kernel',
      pid: devices.get(device) ?? 0,
      tid: streams.get(`${device}\n${stream}`) ?? 0,
      ts: startMs * 1e3, // the format counts microseconds
      dur: durationMs * 1e3,
      args: cost ?? {},
    });
  }
  return { traceEvents };
}

function indexOf(names: readonly string[]): Map<string, number> {
  return new Map([...new Set(names)].map((name, i) => [name, i + 1]));
}
