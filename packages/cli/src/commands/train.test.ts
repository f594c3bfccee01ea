import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSafetensors } from '@mercer/core/safetensors';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { BIN, mercer, mercerOneByOne } from '../testing/run-bin.test-support.js';

let folder = '';
const at = (name: string): string => join(folder, name);
// What is computed is small, and kernels have tests of their own: compiling them would take most of the time.
beforeAll(() => vi.stubEnv('MERCER_CPU', 'interpreted'));
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-train-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

type Line = Readonly<Record<string, unknown>> & { readonly event: string };
const linesOf = (text: string): Line[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

async function train(...args: readonly string[]): Promise<Line[]> {
  const run = await mercer(['train', 'digits', ...args]);
  if (run.status !== 0) throw new Error(run.stderr);
  return linesOf(run.stdout);
}

/** All tensors of a checkpoint, as bytes. */
async function bytesOf(path: string): Promise<Record<string, string>> {
  const { arrays } = await readSafetensors(path);
  return Object.fromEntries(
    [...arrays].map(([name, { data }]) => [
      name,
      Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64'),
    ]),
  );
}

const SMALL = ['--batch', '32', '--seed', '3'];

describe('mercer train digits', () => {
  it('tells of its steps line by line, and draws the losses', async () => {
    const report = at('report.html');
    const names = ['adam', 'kfac', 'lbfgs', 'naturalGradient'];
    const lines = await train(
      ...['--optimizer', names.join(','), '--steps', '15', '--report', report],
      ...SMALL,
    );
    for (const optimizer of names) {
      const own = lines.filter((line) => line['optimizer'] === optimizer);
      expect(own.map(({ event }) => event)).toEqual([
        'start',
        ...Array.from({ length: 15 }, () => 'progress'),
        'end',
      ]);
      expect(own[0]).toMatchObject({ model: 'perceptron', batch: 32, seed: 3, device: 'cpu' });
      expect(own.slice(1, -1).map(({ step }) => step)).toEqual(
        Array.from({ length: 15 }, (_, k) => k + 1),
      );
      const seconds = own.slice(1, -1).map((line) => Number(line['seconds']));
      expect(seconds).toEqual(seconds.toSorted((a, b) => a - b));
      const [first, last] = [own[1]?.['loss'], own.at(-1)?.['loss']].map(Number);
      expect(first).toBeCloseTo(Math.log(10), 0); // it knows nothing
      expect(last).toBeLessThan((first ?? 0) - 0.5);
      expect(own.at(-1)).toMatchObject({ ended: 'finished', step: 15 });
      expect(Number(own.at(-1)?.['testAccuracy'])).toBeGreaterThan(0.5);
    }
    // the same weights and the same batch at first
    const firsts = lines.filter(({ step, event }) => step === 1 && event === 'progress');
    expect(new Set(firsts.map(({ loss }) => loss)).size).toBe(1);
    expect(lines.at(-1)).toEqual({ event: 'report', path: report });
    const page = await readFile(report, 'utf8');
    expect(page).toContain('Loss against steps');
    expect(page).toContain('Loss against seconds');
    expect(page.match(/<polyline/g)?.length).toBe(2 * names.length);
    for (const name of names) expect(page).toContain(`>${name}</li>`);
    expect(page).not.toMatch(/NaN|undefined|<script|https?:/);
  }, 300_000);

  it.each([
    // its roots are computed every tenth step
    ['perceptron', 'shampoo', 13, 6],
    ['convolutional', 'muon', 5, 2],
    ['transformer', 'adamW', 5, 2],
  ])(
    'goes on bit for bit: %s, %s',
    async (model, optimizer, steps, first) => {
      const [whole, half, rest] = ['whole', 'half', 'rest'].map((name) => at(`${name}-${model}`));
      const given = ['--model', model, '--optimizer', optimizer, ...SMALL];
      const once = await train(...given, '--steps', `${steps}`, '--checkpoint', whole ?? '');
      await train(...given, '--steps', `${first}`, '--checkpoint', half ?? '');
      const resumed = await train(
        ...['--resume', half ?? '', '--steps', `${steps}`, '--checkpoint', rest ?? ''],
      );
      const losses = (lines: Line[]): unknown[] =>
        lines.flatMap(({ event, step, loss }) => (event === 'progress' ? [[step, loss]] : []));
      expect(resumed[0]).toMatchObject({ model, optimizer, batch: 32, seed: 3, step: first });
      expect(losses(resumed)).toEqual(losses(once).slice(first));
      const [expected, found] = [await bytesOf(whole ?? ''), await bytesOf(rest ?? '')];
      expect(Object.keys(expected).length).toBeGreaterThan(8);
      expect(found).toEqual(expected);
      expect(await bytesOf(half ?? '')).not.toEqual(expected);
    },
    300_000,
  );

  it('begins anew in each epoch, in another order', async () => {
    const lines = await train('--epochs', '2', '--batch', '2600', '--optimizer', 'sgd');
    expect(lines.filter(({ event }) => event === 'progress').length).toBe(6);
  }, 120_000);

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    'saves a checkpoint at %s and says where',
    async (signal, status) => {
      const child = spawn(
        process.execPath,
        [BIN, 'train', 'digits', '--device', 'cpu', '--steps', '100000', '--optimizer', 'sgd'],
        { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] },
      );
      let [stdout, stderr] = ['', ''];
      child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
      const end = new Promise((resolve) => child.on('close', resolve));
      // with 100,000 steps a line stands for 500 of them: the first is of the start
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        if (stdout === '') setTimeout(() => child.kill(signal), 500);
        stdout += text;
      });
      expect(await end, stderr).toBe(status);
      const lines = linesOf(stdout);
      const saved = lines.find(({ event }) => event === 'checkpoint');
      const path = String(saved?.['path']);
      expect(path).toBe(`mercer-train-sgd-step-${String(saved?.['step'])}.safetensors`);
      expect(stderr).toContain(`saved ${path}`);
      expect(lines.at(-1)).toMatchObject({ event: 'end', ended: 'interrupted' });
      const step = Number(saved?.['step']);
      const more = await train('--resume', at(path), '--steps', String(step + 1));
      expect(more[0]).toMatchObject({ event: 'start', step });
      expect(more.at(-1)).toMatchObject({ ended: 'finished', step: step + 1 });
    },
    120_000,
  );

  it('tells of a loss that is not finite', async () => {
    const run = await mercer([
      'train',
      'digits',
      '--optimizer',
      'sgd',
      '--learning-rate',
      '1e30',
      '--steps',
      '20',
      ...SMALL,
    ]);
    expect(run.status).toBe(1);
    expect(run.stderr).toMatch(/sgd: the loss is not finite after step \d+\. Pass a smaller/);
    expect(linesOf(run.stdout).at(-1)).toMatchObject({ event: 'end', ended: 'diverged' });
  }, 120_000);

  it('refuses what makes no sense, with what to do', async () => {
    const saved = at('of-three-steps.safetensors');
    await train('--steps', '3', '--checkpoint', saved, ...SMALL);
    const short = at('short.safetensors');
    const bytes = await readFile(saved);
    await writeFile(short, bytes.subarray(0, bytes.length - 100));
    const page = at('page.html');
    const cases: readonly (readonly [string, RegExp, number?])[] = [
      ['--optimizer newton', /'newton' is none of sgd, adam/],
      ['--optimizer adam,', /has an empty entry/],
      ['--model resnet', /'resnet' is none of perceptron/],
      ['--learning-rate -1', /a number of at least 0 is needed and it is '-1'/],
      ['--learning-rate nan', /a number of at least 0/],
      ['--steps 0', /a whole number of at least 1/],
      ['--seed 1.5', /a whole number of at least 0 is needed/],
      ['--steps 3 --epochs 1', /both say when to end/],
      ['--batch 9000', /--batch is 9000, and there are \d+ digits/],
      ['--optimizer all --learning-rate 1', /--learning-rate is of one optimizer/],
      ['--optimizer sgd,adam --checkpoint x', /--checkpoint is of one optimizer/],
      [`--report ${at('none')}/r.html`, /no file can be made/, 1],
      [`--resume ${at('none.safetensors')}`, /none\.safetensors/, 1],
      [`--resume ${short}`, /truncat|cannot be read/, 1],
      [`--resume ${saved} --model transformer`, /--model is transformer, and the checkpoint/],
      [`--resume ${saved} --optimizer sgd`, /--optimizer is sgd, and .* with adam/],
      [`--resume ${saved} --seed 4`, /--seed is 4, and .* with 3/],
    ];
    const runs = await mercerOneByOne(
      cases.map(([args]) => ['train', 'digits', '--report', page, ...args.split(' ')]),
    );
    for (const [k, run] of runs.entries()) {
      const [args, message, status = 2] = cases[k] ?? ['', /never/];
      expect(run.stderr, args).toMatch(message);
      expect(run.status, args).toBe(status);
      expect(run.stdout, args).toBe('');
    }
    await expect(readFile(page)).rejects.toThrow(/ENOENT/);
  }, 120_000);
});
