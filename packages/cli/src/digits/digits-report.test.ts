import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { plainDistances } from '../bench/plain-distance.js';
import { classify } from './classification.js';
import type { DemoResult, RidgeRun } from './demo-result.js';
import { digitsReport } from './digits-report.js';
import { DIGIT_PIXELS, loadDigits, type DigitSet } from './load-digits.js';
import { scoreAnswers } from './score.js';
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
  const ridge: Omit<RidgeRun, 'device' | 'deviceName'> = {
    kernel: 'laplace',
    sampleCount: 77,
    medianDistance: 128,
    bandwidth: 64,
    ridge: 0.3,
    solvedOn: 'cpu',
    solver: 'Some<BLAS>',
    score: scoreAnswers(classification.predicted, split.test.labels),
    firstMs: 900,
    kernelMs: 111,
    solveMs: 2222,
    predictMs: 33,
    path: {
      trainCount: 250,
      validationCount: 150,
      points: [
        { ridge: 0.1, accuracy: 0.75 },
        { ridge: 0.3, accuracy: 0.875 },
        { ridge: 1, accuracy: 0.5 },
      ],
      chosen: 0.3,
      heldOut: scoreAnswers(new Uint8Array(120), split.test.labels),
      eighMs: 44,
      ridgesMs: 5,
    },
  };
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
    ridge: [
      { ...ridge, device: 'cuda:0', deviceName: 'a GPU' },
      { ...ridge, device: 'cpu', deviceName: 'the "fast" <one>' },
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
    // that of the regression, then one for each norm
    const { confusion } = classification;
    expect(cells).toEqual([confusion, confusion, confusion].flat(2));
  });

  it('puts the regressions beside the neighbours and says where they were solved', () => {
    const lines = [...page.matchAll(/<tr class="(?:best|other)">(.*?)<\/tr>/gs)].map((line) =>
      [...(line[1] ?? '').matchAll(/<td[^>]*>([^<]*)<\/td>/g)].map((cell) => cell[1]),
    );
    expect(lines.map(([method, device]) => [method, device])).toEqual([
      ['5 nearest, p = 2', 'cpu'],
      ['5 nearest, p = 1.3', 'cpu'],
      ['ridge, laplace', 'cuda:0'],
      ['ridge, laplace', 'cpu'],
    ]);
    expect(lines[2]?.slice(4)).toEqual(['111 ms', '2.22 s', '33.0 ms', '900 ms']);
    expect(page).toMatch(/of cuda:0 were computed there and copied to the CPU/);
    expect(page).toContain('Some&lt;BLAS&gt;');
  });

  it('draws the regularisation path with the chosen ridge marked', () => {
    const marked = [...page.matchAll(/class="(marked|dot)"\s+cx="([\d.]+)"\s+cy="([\d.]+)"/g)];
    expect(marked.map((dot) => dot[1])).toEqual(['dot', 'marked', 'dot']);
    const [low, best, worst] = marked.map((dot) => Number(dot[3]));
    expect(best).toBeLessThan(low ?? NaN); // higher up in the picture
    expect(low).toBeLessThan(worst ?? NaN);
    const right = result.ridge[0]?.path.heldOut.accuracy ?? NaN;
    expect(page.replace(/\s+/g, ' ')).toContain(
      `250 digits alone name ${(right * 100).toFixed(2)}%`,
    );
  });

  it('says why there is no regression', () => {
    const none = digitsReport({ ...result, ridge: [], ridgeLeftOut: 'no <LAPACK>' }, split);
    expect(none).toContain('<p>no &lt;LAPACK&gt;</p>');
    expect(none).not.toContain('laplace');
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

  it('names the column in every cell of the runs, which narrow screens show one below the other', () => {
    const rows = [...page.matchAll(/<tr class="(?:best|other)">(.*?)<\/tr>/gs)];
    const heads = [...page.matchAll(/<th(?: class="n")?>([a-z ]+)<\/th>/g)].map(([, head]) => head);
    expect(heads.slice(0, 2)).toEqual(['method', 'device']);
    expect(rows.length).toBeGreaterThan(1);
    for (const [, row = ''] of rows) {
      expect([...row.matchAll(/<td[^>]* data-head="([^"]*)"/g)].map(([, head]) => head)).toEqual(
        heads,
      );
    }
  });

  const browser = ['chromium', 'chromium-browser', 'google-chrome'].find(
    (name) => spawnSync(name, ['--version']).status === 0,
  );
  it.skipIf(browser === undefined)(
    'fits screens of 400 and 1280 pixels (skipped where no Chromium is on the path)',
    () => {
      const folder = mkdtempSync(path.join(tmpdir(), 'mercer-report-'));
      onTestFinished(() => {
        rmSync(folder, { recursive: true, force: true });
      });
      writeFileSync(path.join(folder, 'report.html'), page);
      for (const width of [400, 1280]) {
        // A frame, as a headless window is never narrower than 500.
        writeFileSync(
          path.join(folder, 'frame.html'),
          `<body><iframe id="f" src="report.html" width="${width}" height="900" frameborder="0"></iframe><script>
          onload = () => { const page = f.contentDocument.documentElement; document.title = page.scrollWidth + ' of ' + page.clientWidth; };
          </script></body>`,
        );
        const { stdout } = spawnSync(
          browser ?? '',
          [
            ...['--headless', '--no-sandbox', '--disable-gpu', '--allow-file-access-from-files'],
            ...['--hide-scrollbars', '--virtual-time-budget=5000', '--dump-dom'],
            pathToFileURL(path.join(folder, 'frame.html')).href,
          ],
          { encoding: 'utf8' },
        );
        expect(/<title>(.*?)<\/title>/.exec(stdout)?.[1]).toBe(`${width} of ${width}`);
      }
    },
    60_000,
  );
});
