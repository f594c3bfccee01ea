import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/* Programs of their own: what happens once per process, at its end, in worker threads, and with a broken cache. */

/** The packages, as they are installed where vitest.shared.ts says so and else as they lie here. */
const PACKAGES = process.env['MERCER_TEST_INSTALLED'] ?? join(import.meta.dirname, '..', '..');
const fileOf = (name: string): string =>
  pathToFileURL(join(PACKAGES, name, 'dist', 'index.js')).href;
const entry = fileOf('tensor');
let folder: string;
let programs = 0;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mercer-tensor-'));
});
afterAll(() => {
  chmodSync(folder, 0o700);
  rmSync(folder, { recursive: true, force: true });
});

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(body: string, env: Record<string, string> = {}): Promise<Outcome> {
  const source = `import * as mercer from ${JSON.stringify(entry)};\nconst { tensor, zeros, full, empty, device, memory } = mercer;\n${body}`;
  const file = join(folder, `program-${++programs}.mjs`);
  writeFileSync(file, source);
  const nothing = { MERCER_CUDA_DRIVER_PATH: join(folder, 'no-libcuda.so.1') };
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [file],
      { env: { ...process.env, ...nothing, ...env }, timeout: 50_000 },
      (_, stdout, stderr) => {
        resolve({ code: child.exitCode, stdout, stderr });
      },
    );
  });
}

/** A kernel with a formula: x + x of [1.5, 2.5]. */
const DOUBLED = `
  const { add, variable } = await import(${JSON.stringify(fileOf('formula'))});
  const x = await tensor([1.5, 2.5], { device: 'cpu' });
  const doubled = () => mercer.map(add(variable('x'), variable('x')), { x });
  console.log(await doubled().toNested().then((d) => d.join(), (e) => e.code + ' ' + e.message));`;

const CAST = `const t = await tensor([1.5, 2.5], { device: 'cpu' });\nconsole.log((await (await t.cast('int32')).toNested()).join());`;

const WASM = join(import.meta.dirname, '../../cpu-runtime/build/wasm/mercer_cpu.wasm');

describe('a process of its own', () => {
  it.skipIf(!existsSync(WASM))(
    'runs in WebAssembly where no native binary loads, and says so in one line',
    async () => {
      const hidden = join(folder, 'hidden.cjs');
      const fails = `(_, file) => { throw new Error(file + ' does not fit'); }`;
      writeFileSync(hidden, `process.dlopen = ${fails};`);
      const env = { MERCER_DEVICE: 'cpu', MERCER_CPU: '', NODE_OPTIONS: `--require ${hidden}` };
      const { stdout, stderr } = await run(`${DOUBLED}\n  await doubled();`, env);
      expect(stdout).toBe('3,5\n');
      expect(stderr).toMatch(
        /^mercer: the CPU runs WebAssembly, because no native binary fits this machine; .+ Silent with MERCER_CPU=wasm\.\n$/,
      );
      const forced = await run(DOUBLED, { ...env, MERCER_CPU: 'wasm' });
      expect(forced).toMatchObject({ stdout: '3,5\n', stderr: '' });
      const compiled = await run(DOUBLED, { ...env, MERCER_CPU: 'compiled' });
      expect(compiled.stdout + compiled.stderr).toContain('does not fit');
    },
  );

  it('falls back to the CPU with one line', async () => {
    const { stdout, stderr, code } = await run(
      `for (let i = 0; i < 3; i++) console.log((await tensor([i])).device.id);`,
    );
    expect(stdout).toBe('cpu\ncpu\ncpu\n');
    expect(stderr).toBe(
      'mercer: computing on the CPU, because no CUDA driver was found. More: npx mercer doctor. Silent with MERCER_DEVICE=cpu.\n',
    );
    expect(code).toBe(0);
  });

  it('does as MERCER_DEVICE says, without a notice or with an error', async () => {
    const chosen = await run(`console.log((await tensor([1])).device.id);`, {
      MERCER_DEVICE: 'cpu',
    });
    expect(chosen).toEqual({ code: 0, stdout: 'cpu\n', stderr: '' });
    const missing = await run(`await tensor([1]).catch((e) => console.log(e.code, e.message));`, {
      MERCER_DEVICE: 'cuda:0',
    });
    expect(missing.stdout).toMatch(
      /^NO_BACKEND device cuda:0: the CUDA driver was not found.*mercer doctor/,
    );
  });

  it('ends by itself when nothing is left to do', async () => {
    const { code, stdout } = await run(
      `await (await full([1e6], 1, { device: 'cpu' })).cast('int64'); console.log('end');`,
    );
    expect([code, stdout]).toEqual([0, 'end\n']);
  });

  it('writes the profile that MERCER_PROFILE asks for', async () => {
    const file = join(folder, 'profile.jsonl');
    const { code } = await run(
      `const t = await full([3e6], 1, { device: 'cpu' }); for (let i = 0; i < 5; i++) await t.cast('float64');`,
      {
        MERCER_PROFILE: file,
      },
    );
    expect(code).toBe(0);
    const records = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { name: string; durationMs: number; cost: unknown });
    expect(records.map(({ name }) => name)).toEqual([
      'fill_b32_linear',
      ...new Array<string>(5).fill('cast_f32_f64_linear'),
    ]);
    expect(records.every(({ durationMs }) => durationMs > 0)).toBe(true);
    expect(records[1]?.cost).toEqual({ bytes: 3.6e7, flops: 0 });
  });

  it('prints compiles and launches for MERCER_DEBUG=jit', async () => {
    const { stderr } = await run(DOUBLED, { MERCER_DEBUG: 'jit', MERCER_CACHE: 'off' });
    expect(stderr).toMatch(/mercer jit: miss/);
    expect(stderr).toMatch(
      /mercer jit: launch map .* on cpu default stream, compiled: tasks 1, chunk 1/,
    );
  });

  it('says where a tensor was disposed for MERCER_DEBUG=tensor', async () => {
    const { stdout } = await run(
      `const t = empty([1], { device: 'cpu' });\nfunction culprit() { t.dispose(); }\nculprit();\ntry { t.slice(0); } catch (e) { console.log(e.cause.stack); }`,
      { MERCER_DEBUG: 'tensor' },
    );
    expect(stdout).toContain('culprit');
  });

  it('computes with a corrupt cache, a cache that cannot be written, and no home', async () => {
    const corrupt = join(folder, 'corrupt');
    mkdirSync(corrupt, { mode: 0o700 });
    writeFileSync(join(corrupt, 'kernels-v1.sqlite'), 'this is no database'.repeat(1000));
    const sealed = join(folder, 'sealed');
    mkdirSync(sealed, { mode: 0o500 });
    const cases: Record<string, string>[] = [
      { MERCER_CACHE_DIR: corrupt },
      { MERCER_CACHE_DIR: join(sealed, 'below') },
      { MERCER_CACHE_DIR: '/dev/null/below' },
      { MERCER_CACHE_DIR: '', XDG_CACHE_HOME: '', HOME: '/nonexistent' },
    ];
    for (const env of cases) {
      const { code, stdout } = await run(DOUBLED, env);
      expect({ env, code, stdout }).toEqual({ env, code: 0, stdout: '3,5\n' });
    }
  });

  it('prepares behind compiles that nobody waits for, beside another process that does', async () => {
    const body = `
      const { availableParallelism } = await import('node:os');
      const { add, variable } = await import(${JSON.stringify(fileOf('formula'))});
      const x = await tensor([1.5], { device: 'cpu' });
      const more = (n) => add(variable('x'), n);
      for (let n = 0; n < 2 * availableParallelism(); n++) await mercer.map(more(n), { x });
      const prepared = await mercer.map.prepare(more(0.25), { x });
      console.log(await prepared({ x }).item());`;
    const env = { MERCER_CPU: '', MERCER_CACHE_DIR: join(folder, 'shared') };
    const both = await Promise.all([run(body, env), run(body, env)]);
    const ended = { code: 0, stdout: '1.75\n', stderr: '' };
    expect(both).toEqual([ended, ended]);
  });

  const NO_COMPILER = { PATH: '/nonexistent', CXX: '/nonexistent/c++', MERCER_CACHE: 'off' };

  it('names the missing compiler where compiled kernels are asked for', async () => {
    const { stdout } = await run(DOUBLED, { ...NO_COMPILER, MERCER_CPU: 'compiled' });
    expect(stdout).toMatch(/^COMPILER_NOT_FOUND .*Install a C\+\+ compiler/s);
  });

  it('needs no compiler for what holds no formula, and says nothing', async () => {
    for (const MERCER_CPU of ['', 'compiled', 'interpreted']) {
      const outcome = await run(
        `${CAST}
        const cpu = { device: 'cpu' };
        const index = await tensor(Int32Array.of(2, 0, 2), cpu);
        const sums = await mercer.scatterAdd(await tensor([[1], [2], [4]], cpu), index, 3);
        console.log((await sums.toNested()).join(), (await mercer.countRows(index, 3).toNested()).join());
        console.log((await mercer.gatherRows(sums, index).toNested()).join(), (await sums.sumTo([1]).toNested()).join());
        console.log((await (await full([600, 600], 3, cpu)).transpose().contiguous().toTypedArray())[7]);`,
        { ...NO_COMPILER, MERCER_CPU },
      );
      expect({ MERCER_CPU, ...outcome }).toEqual({
        MERCER_CPU,
        code: 0,
        stdout: '1,2\n2,0,5 1,0,2\n5,2,5 7\n3\n',
        stderr: '',
      });
    }
  });

  it('computes without a compiler, on the interpreter, and says so once', async () => {
    const { code, stdout, stderr } = await run(
      `${DOUBLED}
      await mercer.map(add(variable('x'), 1), { x });
      const { executor, reason } = await mercer.cpuExecutor();
      console.log(executor, reason);`,
      { ...NO_COMPILER, MERCER_CPU: '' },
    );
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: '3,5\ninterpreted no C++ compiler was found\n',
    });
    expect(stderr).toMatch(/^mercer: CPU kernels are interpreted, .*MERCER_CPU=interpreted\.\n$/);
  });

  it('has one line for a machine without a GPU and a compiler, and none where Node is to be silent', async () => {
    const body = `${DOUBLED.replace(", { device: 'cpu' }", '')}\nconsole.log(x.device.id);`;
    const { code, stdout, stderr } = await run(body, { ...NO_COMPILER, MERCER_CPU: '' });
    expect({ code, stdout }).toEqual({ code: 0, stdout: '3,5\ncpu\n' });
    expect(stderr).toMatch(/^mercer: computing on the CPU, .*mercer doctor.*\n$/);
    expect(stderr.length).toBeLessThan(160);
    const silent = { ...NO_COMPILER, MERCER_CPU: '', NODE_NO_WARNINGS: '1' };
    expect((await run(body, silent)).stderr).toBe('');
  });

  it('interprets where MERCER_CPU says so, without a word', async () => {
    const { stdout, stderr } = await run(
      `${DOUBLED}\nconsole.log((await mercer.cpuExecutor()).reason);`,
      { MERCER_CPU: 'interpreted', MERCER_DEBUG: '' },
    );
    expect({ stdout, stderr }).toEqual({
      stdout: '3,5\nMERCER_CPU\n',
      stderr: '',
    });
  });

  it('refuses another value of MERCER_CPU', async () => {
    const { stdout } = await run(DOUBLED, { MERCER_CPU: 'fast' });
    expect(stdout).toMatch(
      /^INVALID_ARGUMENT .*MERCER_CPU is 'fast'\. Set it to compiled, interpreted or wasm/,
    );
  });

  it('names the operation that needs a compiler, and how to get one', async () => {
    const kernel = `{ dialect: 'cpu', name: 'my operation', entry: 'mine', source: '', params: [], options: [],
      geometry: () => ({ tasks: 1, chunk: 1, scratchBytes: 0 }) }`;
    const load = `console.log(await device('cpu').load(${kernel}).catch((e) => e.code + ' ' + e.message));`;
    const missing = await run(load, { ...NO_COMPILER, MERCER_CPU: '' });
    expect(missing.stdout).toMatch(
      /^UNSUPPORTED loading my operation: .*no C\+\+ compiler was found on this machine\. Install a C\+\+ compiler/,
    );
    const forced = await run(load, { MERCER_CPU: 'interpreted' });
    expect(forced.stdout).toMatch(/^UNSUPPORTED .*MERCER_CPU is interpreted\. Unset MERCER_CPU/);
  });

  it('works in eight workers at once, and survives their end in the middle of work', async () => {
    const body = `
      import { Worker, isMainThread, parentPort } from 'node:worker_threads';
      if (isMainThread) {
        const workers = Array.from({ length: 8 }, () => new Worker(new URL(import.meta.url)));
        const sums = await Promise.all(workers.map((w) => new Promise((ok, no) => { w.once('message', ok); w.once('error', no); })));
        await Promise.all(workers.map((w) => w.terminate()));
        const t = await full([1000], 2, { device: 'cpu' });
        console.log(sums.join(), (await (await t.cast('float64')).toTypedArray())[999]);
      } else {
        const t = await full([1e6], 1, { device: 'cpu' });
        const c = await t.cast('float64');
        parentPort.postMessage((await c.toTypedArray()).reduce((a, b) => a + b));
        for (;;) { await c.cast('float32', { out: t }); await t.cast('float64', { out: c }); }
      }`;
    const { code, stdout, stderr } = await run(body);
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: `${new Array(8).fill(1e6).join()} 2\n`,
      stderr: '',
    });
  });

  it('can be imported without touching anything', async () => {
    const { stdout, stderr } = await run(
      `console.log(Object.keys(mercer).length > 10, memory().devices.length);`,
    );
    expect([stdout, stderr]).toEqual(['true 0\n', '']);
  });

  it('does not grow in a long synchronous loop', async () => {
    const { stdout } = await run(`
      const { emitCopy, planCopy } = await import(${JSON.stringify(fileOf('kernels'))});
      const cpu = device('cpu');
      const { plan, scalars } = planCopy({ from: 'float32', to: 'float64', shape: [500], srcStrides: [1], dstStrides: [1] });
      const kernel = cpu.loadBuiltin(emitCopy(plan, 'cpu'));
      const source = await full([500], 1, { device: 'cpu' });
      const rounds = [];
      for (let round = 0; round < 6; round++) {
        for (let i = 0; i < 20000; i++) kernel.launch(cpu.defaultStream, { pointers: [source, empty([500], { dtype: 'float64', device: 'cpu' })], scalars });
        rounds.push(process.memoryUsage.rss());
      }
      console.log(rounds.join());`);
    const rounds = stdout.trim().split(',').map(Number);
    // 480 MB of results went through.
    expect((rounds[5] ?? Infinity) - (rounds[1] ?? 0)).toBeLessThan(50e6);
  });
});
