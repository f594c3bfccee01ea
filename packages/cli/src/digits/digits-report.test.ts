import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { plainDistances } from '../bench/plain-distance.js';
import { classify } from './classification.js';
import type { DemoResult } from './demo-result.js';
import { digitsReport } from './digits-report.js';
import { DIGIT_PIXELS, loadDigits, type DigitSet } from './load-digits.js';
import { splitDigits, type DigitSplit } from './split-digits.js';

/** A small real classification: 120 digits against 400, in plain arithmetic. */
function smallDemo(): { split: DigitSplit; result: DemoResult } {
  const whole = splitDigits(loadDigits());
  const split = { train: head(whole.train, 400), test: head(whole.test, 120) };
  const distances = Float32Array.from(
    plainDistances(split.test.pixels, split.train.pixels, DIGIT_PIXELS, 2),
  );
  const classification = classify(distances, split.train.labels, split.test.labels, 5);
  const run = { p: 2, classification, firstMs: 812, distanceMs: 96.5, voteMs: 31 };
  const result: DemoResult = {
    command: 'mercer demo digits --out "<script>alert(1)</script>"',
    trainCount: split.train.count,
    testCount: split.test.count,
    pixelCount: DIGIT_PIXELS,
    k: 5,
    machine: { cpu: 'A & B <CPU>', node: 'v20', platform: 'linux x64' },
    runs: [
      { ...run, device: 'cpu', deviceName: 'the "fast" <one>' },
      { ...run, device: 'cpu', deviceName: 'the "fast" <one>', p: 1.3 },
    ],
    startedAt: '2026-01-01',
  };
  return { split, result };
}

function head(set: DigitSet, count: number): DigitSet {
  return {
    pixels: set.pixels.subarray(0, count * DIGIT_PIXELS),
    labels: set.labels.subarray(0, count),
    count,
  };
}

describe('digitsReport', () => {
  const { split, result } = smallDemo();
  const page = digitsReport(result, split);
  if (process.env['MERCER_TEST_REPORT']) writeFileSync(process.env['MERCER_TEST_REPORT'], page);
  const { classification } = result.runs[0] ?? expect.fail('no run');

  it('classifies real digits far better than chance', () => {
    expect(classification.accuracy).toBeGreaterThan(0.8);
    expect(classification.accuracy).toBeLessThan(1);
  });

  it('shows every mistake as a picture beside its nearest known image', () => {
    const mistakes = split.test.count - classification.correct;
    expect(page.split('data:image/png;base64,').length - 1).toBe(mistakes * 2 * result.runs.length);
    expect(page.split('class="said"').length - 1).toBe(mistakes * result.runs.length);
  });

  it('holds the confusion matrix with the numbers of the classification', () => {
    const cells = [...page.matchAll(/<td class="(?:zero|hit\d+|miss\d+)">(\d+)<\/td>/g)].map((m) =>
      Number(m[1]),
    );
    expect(cells).toEqual([...classification.confusion.flat(), ...classification.confusion.flat()]);
  });

  it('needs nothing else: no script, no link, no address, and a policy that forbids them', () => {
    expect(page).not.toMatch(/<script|<link|<iframe|@import|url\(|javascript:| on\w+=/i);
    expect(page).not.toMatch(/https?:\/\//);
    expect(page).toMatch(
      /Content-Security-Policy" content="default-src &#39;none&#39;; img-src data:;/,
    );
    expect(page).not.toMatch(/ style=/);
  });

  it('escapes every text that comes from outside', () => {
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(page).toContain('A &amp; B &lt;CPU&gt;');
    expect(page).toContain('the &quot;fast&quot; &lt;one&gt;');
  });
});
