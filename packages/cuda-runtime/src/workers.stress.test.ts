import { describe, expect, test } from 'vitest';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  buildFakeCublas,
  buildFakeCublasLt,
  buildFakeCusolver,
  buildFakeDriver,
  buildFakeNvrtc,
} from '../test/fake-driver/build.mjs';
import { runScript } from '../test/run-script.mjs';

/** A worker that is nearly always inside the call that makes an object. */
const makingWorker = `
  const { parentPort, workerData } = await import('node:worker_threads');
  const { cuda } = await import(workerData.entry);
  const device = cuda.device(0);
  parentPort.postMessage('busy');
  for (;;) device.allocate(1 << 16, device.defaultStream).free();`;

/** A worker that keeps every kind of work going until it is ended. */
const busyWorker = `
  const { parentPort, workerData } = await import('node:worker_threads');
  const { cuda, nvrtc } = await import(workerData.entry);
  const device = cuda.device(0);
  const stream = device.defaultStream;
  const image = new TextEncoder().encode('FAKE k()');
  const kernel = device.loadModule(image).function('k');
  const big = new Uint8Array(9 << 20);
  const buffer = device.allocate(big.length, stream);
  const pinned = device.allocatePinned(1 << 20);
  stream.beginCapture();
  stream.memset(buffer, 0, 1, 100);
  const graph = stream.endCapture().instantiate();
  const swallow = (promise) => promise.catch(() => undefined);
  for (let round = 0; ; round++) {
    for (let i = 0; i < 20; i++) {
      kernel.launch({ grid: [1, 1, 1], block: [1, 1, 1], sharedMemBytes: 0 }, stream, new Uint8Array(0), new Uint32Array(0));
    }
    graph.launch(stream);
    void swallow(stream.copyToDevice(buffer, 0, big));
    void swallow(stream.copyToHost(big, buffer));
    void swallow(stream.copyToHost(pinned, buffer, 0, 1 << 20));
    void swallow(nvrtc.compile({ source: 'kernel ' + round }));
    device.allocate(1 << 16, stream).free();
    const event = device.createEvent();
    stream.record(event);
    void swallow(event.synchronize());
    if (round === 1) parentPort.postMessage('busy');
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (round % 4 === 3) await swallow(stream.whenDone());
  }`;

/** A worker that factors, multiplies and decomposes on streams of its own until it is ended. */
const solvingWorker = `
  const { parentPort, workerData } = await import('node:worker_threads');
  const { cuda, cusolver, cublas, cublasLt } = await import(workerData.entry);
  const device = cuda.device(0);
  const swallow = (promise) => promise.catch(() => undefined);
  for (let round = 0; ; round++) {
    const stream = device.createStream();
    const [a, values, workspace, info] = [32, 16, 64, 4].map((bytes) => ({ buffer: device.allocate(bytes, stream) }));
    const shape = { dtype: 'float64', uplo: 'lower', n: 2, a: { ...a, leadingDimension: 2 } };
    if (round % 2) void swallow(cusolver.prepare(stream));
    cusolver.potrf(stream, { ...shape, workspace, info });
    for (let i = 0; i < 3; i++) void swallow(cusolver.syevd(stream, { ...shape, values, vectors: true, workspace, info }));
    const d = { buffer: device.allocate(32, stream), leadingDimension: 2 };
    cublasLt.matmul(stream, { dtype: 'float64', m: 2, n: 1, k: 1 + (round % 2), a: { ...a, leadingDimension: 2 }, b: { buffer: a.buffer, leadingDimension: 3 }, d });
    // Now and then: each handle has 32 MiB until the janitor has freed it.
    if (round % 3 === 0) {
      if (round % 2) void swallow(cublas.prepare(stream));
      else cublas.trsm(stream, { dtype: 'float64', side: 'left', uplo: 'lower', rows: 2, columns: 1, a: { ...a, leadingDimension: 2 }, b: d });
    }
    for (const { buffer } of [a, values, workspace, info, d]) buffer.dispose();
    stream.dispose();
    if (round === 2) parentPort.postMessage('busy');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }`;

const start = `
  const { Worker } = await import('node:worker_threads');
  const entry = import.meta.resolve ? ENTRY : '';
  const busyCode = ${JSON.stringify(busyWorker)};
  const makingCode = ${JSON.stringify(makingWorker)};
  const solvingCode = ${JSON.stringify(solvingWorker)};
  function begin(code) {
    const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(code)), { workerData: { entry } });
    const busy = new Promise((resolve, reject) => { worker.once('message', resolve); worker.once('error', reject); });
    return { worker, busy };
  }
  const count = (index) => addon.deviceAttribute(0, 10000 + index);
  const live = () => ({ streams: count(0), buffers: count(2), modules: count(4), graphs: count(5), execs: count(6) });
  const settle = async () => {
    for (let i = 0; i < 200; i++) {
      const now = live();
      if (Object.values(now).every((n) => n === 0) && count(3) <= 8) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return live();
  };`;

async function environment(): Promise<Record<string, string>> {
  return {
    MERCER_CUDA_DRIVER_PATH: await buildFakeDriver(),
    MERCER_CUDA_NVRTC_PATH: await buildFakeNvrtc(13),
    MERCER_CUDA_CUSOLVER_PATH: await buildFakeCusolver(),
    MERCER_CUDA_CUBLASLT_PATH: await buildFakeCublasLt(),
    MERCER_CUDA_CUBLAS_PATH: await buildFakeCublas(),
    MERCER_FAKE_SOLVER_US: '2000',
    MERCER_FAKE_HOST_BYTES: '100',
    MERCER_FAKE_KERNEL_US: '300',
    MERCER_FAKE_COMPILE_MS: '20',
    MERCER_FAKE_TOTAL_BYTES: String(2 ** 34),
  };
}

const entry = JSON.stringify(new URL('../dist/index.js', import.meta.url).href);
const addonModule = JSON.stringify(new URL('../dist/native/load-addon.js', import.meta.url).href);
const script = (body: string): string =>
  `const { addon } = (await import(${addonModule})).loadAddon();\n${start.replace('ENTRY', entry)}\n${body}`;

describe('eight workers', () => {
  test('ended in the middle of their work leave no live object, three times over, and exit code 0', async () => {
    const { code, signal, stdout, stderr } = await runScript(
      script(`
        mercer.cuda.isAvailable();
        const rounds = [];
        for (let round = 0; round < 3; round++) {
          const workers = Array.from({ length: 8 }, () => begin(busyCode));
          await Promise.all(workers.map(({ busy }) => busy));
          await Promise.all(workers.map(({ worker }) => worker.terminate()));
          rounds.push({ ...(await settle()), pinned: count(3), events: count(1) });
        }
        console.log(JSON.stringify(rounds));`),
      await environment(),
    );
    expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' });
    const rounds = JSON.parse(stdout) as Record<string, number>[];
    for (const { streams, buffers, modules, graphs, execs, pinned, events } of rounds) {
      expect({ streams, buffers, modules, graphs, execs }).toEqual({
        streams: 0,
        buffers: 0,
        modules: 0,
        graphs: 0,
        execs: 0,
      });
      // What stays belongs to the process: spare events and staging slots, both bounded.
      expect(pinned).toBeLessThanOrEqual(8);
      expect(events).toBeLessThanOrEqual(256);
    }
  }, 120_000);

  test('ended inside the call that makes an object leave none without an owner', async () => {
    const { code, signal, stdout, stderr } = await runScript(
      script(`
        mercer.cuda.isAvailable();
        for (let round = 0; round < 15; round++) {
          const workers = Array.from({ length: 4 }, () => begin(makingCode));
          await Promise.all(workers.map(({ busy }) => busy));
          await Promise.all(workers.map(({ worker }) => worker.terminate()));
        }
        console.log(JSON.stringify(await settle()));`),
      await environment(),
    );
    expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({ streams: 0, buffers: 0, modules: 0, graphs: 0, execs: 0 });
  }, 120_000);

  test('ended inside cuSOLVER and cuBLAS leave no handle, no stream and no memory', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mercer-calls-'));
    try {
      const { code, signal, stdout, stderr } = await runScript(
        script(`
          mercer.cuda.isAvailable();
          mercer.cusolver.isAvailable();
          mercer.cublas.isAvailable();
          for (let round = 0; round < 3; round++) {
            const workers = Array.from({ length: 6 }, () => begin(solvingCode));
            await Promise.all(workers.map(({ busy }) => busy));
            await Promise.all(workers.map(({ worker }) => worker.terminate()));
          }
          console.log(JSON.stringify(await settle()));`),
        { ...(await environment()), MERCER_FAKE_CALLS: join(folder, 'calls') },
      );
      expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' });
      expect(JSON.parse(stdout)).toEqual({
        streams: 0,
        buffers: 0,
        modules: 0,
        graphs: 0,
        execs: 0,
      });
      const lines = readFileSync(join(folder, 'calls'), 'utf8').split('\n');
      const count = (name: string): number => lines.filter((line) => line === name).length;
      expect(count('create')).toBeGreaterThan(50);
      expect(count('destroy')).toBe(count('create'));
      expect(count('destroyParams')).toBe(count('createParams'));
      expect(count('blasCreate')).toBeGreaterThan(17);
      expect(count('blasDestroy')).toBe(count('blasCreate'));
    } finally {
      rmSync(folder, { recursive: true });
    }
  }, 120_000);

  test('still busy when the process exits do not disturb its exit code', async () => {
    for (const ending of ['process.exit(0)', 'process.exitCode = 0; process.exit()']) {
      const { code, signal, stderr } = await runScript(
        script(`
          const workers = Array.from({ length: 8 }, () => begin(busyCode));
          await Promise.all(workers.map(({ busy }) => busy));
          ${ending};`),
        await environment(),
      );
      expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' });
    }
  }, 120_000);
});

describe('the main thread', () => {
  test('exits with code 0 inside cuSOLVER, once that call has ended', async () => {
    const { code, signal, stdout, stderr } = await runScript(
      `const stream = mercer.cuda.device(0).defaultStream;
       const [a, values, workspace, info] = [32, 16, 64, 4].map((bytes) => ({ buffer: stream.device.allocate(bytes, stream) }));
       const shape = { dtype: 'float64', uplo: 'lower', n: 2, vectors: true, a: { ...a, leadingDimension: 2 } };
       for (let i = 0; i < 3; i++) void mercer.cusolver.syevd(stream, { ...shape, values, workspace, info });
       process.on('exit', () => console.log('exit'));
       setTimeout(() => process.exit(0), 50);`,
      { ...(await environment()), MERCER_FAKE_SOLVER_US: '300000', MERCER_FAKE_KERNEL_US: '0' },
    );
    expect({ code, signal, stdout, stderr }).toEqual({
      code: 0,
      signal: null,
      stdout: 'exit\n',
      stderr: '',
    });
  });

  test('exits with code 0 in the middle of a kernel, copies and compiles', async () => {
    const { code, signal, stderr } = await runScript(
      `const device = mercer.cuda.device(0);
       const stream = device.defaultStream;
       const kernel = device.loadModule(new TextEncoder().encode('FAKE k()')).function('k');
       kernel.launch({ grid: [1, 1, 1], block: [1, 1, 1], sharedMemBytes: 0 }, stream, new Uint8Array(0), new Uint32Array(0));
       const buffer = device.allocate(9 << 20, stream);
       void stream.copyToHost(new Uint8Array(9 << 20), buffer);
       void mercer.nvrtc.compile({ source: 'x' });
       device.allocatePinned(100).dispose();
       setTimeout(() => process.exit(0), 30);`,
      { ...(await environment()), MERCER_FAKE_KERNEL_US: '1000000', MERCER_FAKE_COMPILE_MS: '200' },
    );
    expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' });
  });

  test('stays alive while a promise is pending, and ends when none is', async () => {
    const { code, stdout } = await runScript(
      `const device = mercer.cuda.device(0);
       const kernel = device.loadModule(new TextEncoder().encode('FAKE k()')).function('k');
       kernel.launch({ grid: [1, 1, 1], block: [1, 1, 1], sharedMemBytes: 0 }, device.defaultStream, new Uint8Array(0), new Uint32Array(0));
       device.synchronize().then(() => console.log('done'));`,
      { ...(await environment()), MERCER_FAKE_KERNEL_US: '300000' },
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'done\n' });
  });
});
