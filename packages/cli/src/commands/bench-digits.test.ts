import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ComparedRow } from '../bench/digits/compare-optimisers.js';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-bench-digits-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const SMALL = [
  ...['bench', 'digits', '--device', 'cpu', '--models', 'perceptron', '--batch', '64'],
  ...['--optimizers', 'adam,lbfgs', '--seeds', '2', '--tune-steps', '6'],
];

describe('mercer bench digits', () => {
  it('takes the rate with the least loss of the same tries, and counts to a loss', async () => {
    const out = join(folder, 'digits.json');
    const rates = ['--rates', '1e-9,0.01,1e30', '--steps', '60', '--target', '1.5'];
    const report = (await mercerJson([...SMALL, ...rates, '--out', out])) as {
      readonly rows: readonly ComparedRow[];
    };
    expect(JSON.parse(await readFile(out, 'utf8'))).toEqual(report);
    expect(report).toMatchObject({
      schema: 1,
      suite: 'digits',
      budget: { rates: [1e-9, 0.01, 1e30], tuneSteps: 6, seeds: 2, target: 1.5 },
    });
    const [adam, lbfgs] = report.rows as readonly [ComparedRow, ComparedRow];
    expect([adam.optimizer, lbfgs.optimizer, report.rows.length]).toEqual(['adam', 'lbfgs', 2]);
    // no step at all leaves what knows nothing, and one of 1e30 leaves nothing to read
    expect(adam.tries[0]?.loss).toBeCloseTo(Math.log(10), 0);
    expect(adam.tries[1]?.loss).toBeLessThan(1.5);
    expect(adam.tries[2]?.loss ?? Infinity).toBeGreaterThan(10);
    expect(adam.rate).toBe(0.01);
    for (const { runs, spread } of report.rows) {
      expect(runs.map(({ seed, reached }) => [seed, reached])).toEqual([
        [0, true],
        [1, true],
      ]);
      for (const { steps, seconds, cpuSeconds, loss } of runs) {
        expect(steps % 5).toBe(0); // where the held-out digits are looked at
        expect(steps).toBeLessThanOrEqual(60);
        expect(loss).toBeLessThanOrEqual(1.5);
        expect(Math.min(seconds, cpuSeconds)).toBeGreaterThan(0);
      }
      const steps = runs.map((one) => one.steps);
      expect(spread?.steps.median).toBe(((steps[0] ?? 0) + (steps[1] ?? 0)) / 2);
    }
    for (const { steps, gradients } of adam.runs) expect(gradients).toBe(steps);
    for (const { steps, gradients } of lbfgs.runs) expect(gradients).toBeGreaterThan(2 * steps);
  }, 120_000);

  it('says where a loss is not reached, and refuses what makes no sense', async () => {
    const text = await mercer([
      ...SMALL.slice(0, -4),
      ...['--seeds', '1', '--tune-steps', '1', '--rates', '1e-9', '--steps', '5'],
    ]);
    expect(text.stdout).toMatch(/perceptron, adam\s+1e-9\s+0 of 1\s+-\s+-\s+-\s+-/);
    const wrong = await mercer([...SMALL, '--rates', '0.1,0']);
    expect(wrong.status).toBe(2);
    expect(wrong.stderr).toMatch(/a number above 0 is needed and it is '0'/);
    const many = await mercer([...SMALL, '--batch', '9000']);
    expect(many.stderr).toMatch(/--batch is 9000, and there are \d+ digits/);
  }, 120_000);
});
