import { describe, expect, it } from 'vitest';
import { trainReport, type TrainReport } from './train-report.js';
import type { TrainResult } from './training.js';

const result = (optimizer: TrainResult['optimizer'], losses: readonly number[]): TrainResult => ({
  model: 'perceptron',
  optimizer,
  learningRate: 0.01,
  batch: 128,
  seed: 4,
  steps: losses.length,
  device: 'cpu',
  parameters: 118_282,
  step: losses.length,
  seconds: losses.length / 10,
  ended: losses.every(Number.isFinite) ? 'finished' : 'diverged',
  curve: losses.map((loss, k) => ({ step: k + 1, seconds: (k + 1) / 10, loss })),
  testLoss: losses.at(-1) ?? NaN,
  testAccuracy: 0.5,
});

const page = (...results: readonly TrainResult[]): string =>
  trainReport({
    command: 'mercer train digits --optimizer <x>',
    startedAt: '2026-01-02',
    machine: { cpu: 'a & b', platform: 'linux x64', node: '20.19.0' },
    deviceName: 'a & b',
    trainCount: 7996,
    testCount: 2004,
    results,
  } satisfies TrainReport);

describe('the report of mercer train digits', () => {
  it('draws each loss against steps and against seconds, with one colour for each optimiser', () => {
    const text = page(result('adam', [2, 1, 0.5]), result('kfac', [2, 0.4, 0.2]));
    const lines = [...text.matchAll(/class="curve (line\d)"\s+points="([^"]*)"/g)];
    expect(lines.map(([, name]) => name)).toEqual(['line0', 'line1', 'line0', 'line1']);
    for (const [, , points = ''] of lines) expect(points.split(' ').length).toBe(3);
    expect(text.match(/<li class="line1">kfac<\/li>/g)?.length).toBe(2);
    expect(text).toMatch(/\.line1 \{ --own: #/);
    expect(text).toContain('mercer train digits --optimizer &lt;x&gt;');
    expect(text).toContain('a &amp; b');
  });

  it('leaves out losses that are not finite and says so', () => {
    const text = page(result('sgd', [2, NaN]), result('adam', [2, 1]));
    expect(text).toContain('sgd (diverged)');
    expect(text).not.toMatch(/NaN|Infinity/);
    expect(page(result('sgd', [NaN]))).toContain('No step was taken');
  });
});
