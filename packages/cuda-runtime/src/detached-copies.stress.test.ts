import { expect, test } from 'vitest';
import { buildFakeDriver } from '../test/fake-driver/build.mjs';
import { runScript } from '../test/run-script.mjs';

/* Arrays that are transferred and collected while copies of theirs wait: in programs of their own, which a read or a write of freed
   memory ends. */

const run = async (attack: string): ReturnType<typeof runScript> =>
  runScript(
    `const { setFlagsFromString } = await import('node:v8');
     setFlagsFromString('--expose-gc');
     const gc = (await import('node:vm')).runInNewContext('gc');
     const device = mercer.cuda.device(0);
     const stream = device.defaultStream;
     const bytes = 20 << 20;
     const buffer = device.allocate(bytes, stream);
     stream.memset(buffer, 0, 5, bytes);
     const kernel = device.loadModule(new TextEncoder().encode('FAKE k()')).function('k');
     const busy = () => kernel.launch({ grid: [1, 1, 1], block: [1, 1, 1], sharedMemBytes: 0 }, stream, new Uint8Array(0), new Uint32Array(0));
     const lose = async (array) => {
       structuredClone(array.buffer, { transfer: [array.buffer] });
       for (let i = 0; i < 5; i++) {
         gc();
         await new Promise((resolve) => setImmediate(resolve));
       }
     };
     const all = (array, wanted) => array.every((byte) => byte === wanted);
     ${attack}`,
    { MERCER_CUDA_DRIVER_PATH: await buildFakeDriver(), MERCER_FAKE_KERNEL_US: '300000' },
  );

test.each([1, 6, 20])('a source of %i MiB is taken during the call', async (size) => {
  const { code, stdout, stderr } = await run(`
    busy();
    const source = new Uint8Array(${size << 20}).fill(7);
    const done = stream.copyToDevice(buffer, 0, source);
    await lose(source);
    await done;
    const back = new Uint8Array(source.length + ${size << 20});
    await stream.copyToHost(back, buffer);
    console.log(all(back, 7), back.length);`);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toBe(`true ${size << 20}\n`);
});

test.each([1, 6, 20])('a destination of %i MiB that is lost: the promise rejects', async (size) => {
  const { code, stdout, stderr } = await run(`
    busy();
    const target = new Uint8Array(${size << 20});
    const done = stream.copyToHost(target, buffer).then(() => 'done', (error) => error.code);
    await lose(target);
    console.log(await done);`);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toBe('OUT_OF_RANGE\n');
});

test('a destination of shared memory that is forgotten is written', async () => {
  const { code, stdout, stderr } = await run(`
    busy();
    const shared = new SharedArrayBuffer(bytes);
    const done = stream.copyToHost(new Uint8Array(shared), buffer);
    for (let i = 0; i < 5; i++) gc();
    await done;
    console.log(all(new Uint8Array(shared), 5));`);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toBe('true\n');
});
