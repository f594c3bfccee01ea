import { describe, expect, it } from 'vitest';
import { chromeTrace } from './chrome-trace.js';
import { parseProfile, type KernelEvent } from './kernel-event.js';
import { summarise } from './summarise.js';

const event = (
  name: string,
  startMs: number,
  durationMs: number,
  more: Partial<KernelEvent> = {},
): KernelEvent => ({
  name,
  device: 'cuda:0',
  stream: 'stream 1',
  startMs,
  durationMs,
  ...more,
});
const cost = { bytes: 4e6, flops: 0, issueSlots: 2e9, specialOps: 1e8 };

describe('summarise', () => {
  it('adds up launches and puts them beside the limits', () => {
    const events = [
      event('small', 0, 1),
      event('large', 1, 2, { cost }),
      event('large', 3, 4, { cost }),
      event('large', 0, 5, { device: 'cpu' }),
    ];
    const rates = new Map([
      ['cuda:0', { bytesPerSecond: 4e9, issuePerSecond: 1e12, specialPerSecond: 1e11 }],
    ]);
    const [first, second, third] = summarise(events, rates);
    expect(first).toMatchObject({
      name: 'large',
      device: 'cuda:0',
      calls: 2,
      totalMs: 6,
      meanMs: 3,
      minMs: 2,
      maxMs: 4,
      bytes: 8e6,
    });
    expect(first?.shareOfTime).toBeCloseTo(6 / 7, 12);
    expect(first?.bytesPerSecond).toBeCloseTo(8e6 / 6e-3, 0);
    expect(first?.shareOfBandwidth).toBeCloseTo(8e6 / 6e-3 / 4e9, 9);
    expect(first?.shareOfIssue).toBeCloseTo(4e9 / 6e-3 / 1e12, 9);
    expect(second).toMatchObject({ device: 'cpu', shareOfTime: 1 });
    expect(third).not.toHaveProperty('bytes');
    expect(third).not.toHaveProperty('shareOfBandwidth');
  });

  it('has nothing to say about nothing', () => {
    expect(summarise([], new Map())).toEqual([]);
  });
});

describe('chromeTrace', () => {
  it('gives each device a process and each stream a thread, in microseconds', () => {
    const { traceEvents } = chromeTrace([
      event('k', 1, 2, { cost }),
      event('k', 3, 4, { stream: 'stream 2' }),
      event('k', 0, 1, { device: 'cpu' }),
    ]);
    const spans = (
      traceEvents as { ph: string; ts: number; dur: number; pid: number; tid: number }[]
    ).filter(({ ph }) => ph === 'X');
    expect(spans.map(({ ts, dur }) => [ts, dur])).toEqual([
      [1000, 2000],
      [3000, 4000],
      [0, 1000],
    ]);
    expect(new Set(spans.map(({ pid }) => pid)).size).toBe(2);
    expect(new Set(spans.map(({ tid }) => tid)).size).toBe(3);
    expect(JSON.parse(JSON.stringify(traceEvents))).toEqual(traceEvents);
  });
});

describe('parseProfile', () => {
  const line = JSON.stringify({ ...event('k', 1, 2, { cost }), scalars: { m: 1 } });

  it('reads records and forgives a last line that was cut off', () => {
    expect(parseProfile('')).toEqual([]);
    expect(parseProfile(`${line}\n${line}\n${line.slice(0, 20)}`)).toEqual([
      event('k', 1, 2, { cost }),
      event('k', 1, 2, { cost }),
    ]);
  });

  it.each(['{}', 'null', '[]', 'noise', '{"name":"k","device":1}'])('refuses %s', (text) => {
    expect(() => parseProfile(`${text}\n${line}\n`)).toThrow(/is no launch record/);
  });
});
