import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';

/* Arrays that are transferred, resized or collected while a tensor is made from them: in programs of their own, which a read of
   freed memory ends. */

/** The packages, as they are installed where vitest.shared.ts says so and else as they lie here. */
const PACKAGES = process.env['MERCER_TEST_INSTALLED'] ?? join(import.meta.dirname, '..', '..');
const fileOf = (name: string): string =>
  pathToFileURL(join(PACKAGES, name, 'dist', 'index.js')).href;
const [entry, formula] = [fileOf('tensor'), fileOf('formula')];

interface Outcome {
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `attack` runs while the stream is busy, and prints what came of it. */
function run(attack: string): Promise<Outcome> {
  const source = `
    import { tensor, device, map } from ${JSON.stringify(entry)};
    import { variable, exp, tanh } from ${JSON.stringify(formula)};
    let long = variable('x');
    for (let i = 0; i < 20; i++) long = tanh(exp(long));
    const cpu = device('cpu');
    const ones = await tensor(new Float32Array(1 << 20).fill(1), { device: cpu });
    const busy = async () => {
      for (let i = 0; i < 20; i++) void map(long, { x: ones }).catch(() => undefined);
      await new Promise((resolve) => setImmediate(resolve));
    };
    const collect = async () => {
      for (let i = 0; i < 5; i++) {
        globalThis.gc();
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const transfer = (array) => void structuredClone(array.buffer, { transfer: [array.buffer] });
    const report = (promise, wanted) => promise.then(
      async (t) => {
        const values = await t.toTypedArray();
        console.log(values.every((x) => x === wanted) ? 'right' : 'wrong');
      },
      (error) => console.log(error.code, error.message),
    );
    ${attack}`;
  const child = [...['--expose-gc', '--input-type=module', '-e'], source];
  return new Promise((resolve) => {
    const env = { ...process.env, MERCER_CPU: 'interpreted', MERCER_DEVICE: 'cpu' };
    execFile(process.execPath, child, { env, timeout: 55_000 }, (error, stdout, stderr) => {
      resolve({ signal: error?.signal ?? null, stdout, stderr });
    });
  });
}

const DETACHED = /^INVALID_ARGUMENT tensor: .*(detached|made shorter)/;

describe('an array', () => {
  it.each([
    ['transferred', '', 'transfer(big);'],
    ['posted', '', 'new MessageChannel().port1.postMessage(big, [big.buffer]);'],
    [
      'posted to a worker that ends',
      `const { Worker } = await import('node:worker_threads');
       const worker = new Worker('import { parentPort } from "node:worker_threads"; parentPort.once("message", () => process.exit());', { eval: true });
       await new Promise((resolve) => worker.once('online', resolve));`,
      `worker.postMessage(big, [big.buffer]);
       await new Promise((resolve) => worker.once('exit', resolve));`,
    ],
  ])('%s right after the call: the promise rejects', async (_, before, how) => {
    for (const bytes of [2 ** 24, 2 ** 26]) {
      const { signal, stdout, stderr } = await run(`
        ${before}
        await busy();
        let big = new Float32Array(${bytes / 4}).fill(3);
        const done = report(tensor(big, { device: cpu }), 3);
        ${how}
        big = undefined;
        await collect();
        await done;`);
      expect({ signal, stderr }).toEqual({ signal: null, stderr: '' });
      expect(stdout).toMatch(DETACHED);
    }
  });

  it('of up to 1 MiB is taken during the call', async () => {
    const { signal, stdout } = await run(`
      await busy();
      const small = new Float32Array(1 << 18).fill(3);
      const done = report(tensor(small, { device: cpu }), 3);
      transfer(small);
      await collect();
      await done;`);
    expect({ signal, stdout }).toEqual({ signal: null, stdout: 'right\n' });
  });

  it('made shorter: the promise rejects; as it was: the tensor is right', async () => {
    const { signal, stdout } = await run(`
      await busy();
      for (const length of [undefined, 1 << 22]) {
        const buffer = new ArrayBuffer(1 << 24, { maxByteLength: 1 << 25 });
        const big = new Float32Array(buffer, 0, length).fill(3);
        const done = report(tensor(big, { device: cpu }), 3);
        buffer.resize(8);
        await collect();
        await done;
        buffer.resize(1 << 24);
        big.fill(4);
        await report(tensor(big, { device: cpu }), 4);
      }`);
    expect(signal).toBe(null);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(4);
    expect([lines[0], lines[2]]).toEqual([
      expect.stringMatching(DETACHED),
      expect.stringMatching(DETACHED),
    ]);
    expect([lines[1], lines[3]]).toEqual(['right', 'right']);
  });

  it('of shared memory, growing or not, is read as it is', async () => {
    const { signal, stdout } = await run(`
      await busy();
      for (const options of [undefined, { maxByteLength: 1 << 25 }]) {
        let shared = new SharedArrayBuffer(1 << 24, options);
        let big = new Float32Array(shared, 0, 1 << 22).fill(3);
        const done = report(tensor(big, { device: cpu }), 3);
        new MessageChannel().port1.postMessage(shared);
        if (options !== undefined) shared.grow(1 << 25);
        shared = big = undefined;
        await collect();
        await done;
      }`);
    expect({ signal, stdout }).toEqual({ signal: null, stdout: 'right\nright\n' });
  });

  it('that is detached already is refused, not taken for an empty one', async () => {
    const { signal, stdout } = await run(`
      const gone = new Float32Array(8);
      transfer(gone);
      await report(tensor(gone), 0);
      await report(tensor({ data: gone, shape: [0] }), 0);
      const buffer = new ArrayBuffer(64, { maxByteLength: 64 });
      const behind = new Float32Array(buffer, 32, 4);
      buffer.resize(8);
      await report(tensor(behind), 0);
      await report(tensor(new Float32Array(0)), 0);`);
    expect(signal).toBe(null);
    const lines = stdout.trimEnd().split('\n');
    expect(lines[3]).toBe('right');
    for (const line of lines.slice(0, 3)) expect(line).toMatch(DETACHED);
  });

  it('that is the result cannot be reached before it is written', async () => {
    const { signal, stdout } = await run(`
      const t = await tensor(new Float32Array(1 << 22).fill(3), { device: cpu });
      await busy();
      const reading = t.toTypedArray();
      t.dispose();
      await collect();
      const values = await reading;
      console.log(values.length, values.every((x) => x === 3));`);
    expect({ signal, stdout }).toEqual({ signal: null, stdout: '4194304 true\n' });
  });
});
