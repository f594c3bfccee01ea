import { describe, expect, test } from 'vitest';
import { buildFakeDriver } from '../test/fake-driver/build.mjs';
import { runScript } from '../test/run-script.mjs';

describe('10,000 rounds', () => {
  test('of allocation, copies, launch, events, waits and dispose do not grow host or device memory', async () => {
    const entry = new URL('../dist/native/load-addon.js', import.meta.url).href;
    const { code, stdout, stderr } = await runScript(
      `const { addon } = (await import(${JSON.stringify(entry)})).loadAddon();
       const device = mercer.cuda.device(0);
       const stream = device.defaultStream;
       const kernel = device.loadModule(new TextEncoder().encode('FAKE k(8)')).function('k');
       const geometry = { grid: [1, 1, 1], block: [1, 1, 1], sharedMemBytes: 0 };
       const offsets = Uint32Array.of(0);
       const params = new Uint8Array(8);
       const host = new Uint8Array(100_000);
       const back = new Uint8Array(1000);
       async function round(i) {
         const buffer = device.allocate(host.length, stream);
         void stream.copyToDevice(buffer, 0, host);
         for (let k = 0; k < 3; k++) kernel.launch(geometry, stream, params, offsets);
         const event = device.createEvent();
         stream.record(event);
         const copied = stream.copyToHost(back, buffer, 0, 1000);
         buffer.free();
         if (i % 10 === 0) await event.synchronize();
         if (i % 3 === 0) await copied;
         event.dispose();
       }
       const live = () => Array.from({ length: 7 }, (_, i) => addon.deviceAttribute(0, 10000 + i));
       const rss = () => { gc(); gc(); return process.memoryUsage().rss; };
       for (let i = 0; i < 2000; i++) await round(i);
       await device.synchronize();
       const before = { rss: rss(), live: live(), free: device.memoryInfo().freeBytes };
       for (let i = 0; i < 10_000; i++) await round(i);
       await device.synchronize();
       const after = { rss: rss(), live: live(), free: device.memoryInfo().freeBytes };
       console.log(JSON.stringify({ before, after, pending: addon.pendingCount(), bytes: device.liveBytes }));`,
      { MERCER_CUDA_DRIVER_PATH: await buildFakeDriver() },
      ['--expose-gc'],
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    interface State {
      rss: number;
      live: number[];
      free: number;
    }
    const { before, after, pending, bytes } = JSON.parse(stdout) as {
      before: State;
      after: State;
      pending: number;
      bytes: number;
    };
    expect(pending).toBe(0);
    expect(bytes).toBe(0);
    const [streams, events, buffers, pinned, modules] = after.live;
    expect([streams, buffers, modules]).toEqual([before.live[0], before.live[2], before.live[4]]);
    expect(pinned).toBeLessThanOrEqual(8);
    expect(events).toBeLessThanOrEqual(300);
    expect(after.rss - before.rss).toBeLessThan(24 << 20);
  }, 120_000);

  test('of failing calls do not grow either', async () => {
    const { code, stdout, stderr } = await runScript(
      `const device = mercer.cuda.device(0);
       const stream = device.defaultStream;
       const buffer = device.allocate(8, stream);
       async function round() {
         let failed = 0;
         try { device.allocate(2 ** 40, stream) } catch { failed++ }
         try { stream.memset(buffer, 0, 0, 9) } catch { failed++ }
         try { device.loadModule(new Uint8Array(10)) } catch { failed++ }
         await stream.copyToHost(new Uint8Array(1), buffer, 9, 1).catch(() => failed++);
         if (failed !== 4) throw new Error(failed + ' of 4 calls failed');
       }
       const rss = () => { gc(); gc(); return process.memoryUsage().rss; };
       for (let i = 0; i < 2000; i++) await round();
       const before = rss();
       for (let i = 0; i < 10_000; i++) await round();
       console.log(rss() - before);`,
      { MERCER_CUDA_DRIVER_PATH: await buildFakeDriver() },
      ['--expose-gc'],
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(Number(stdout)).toBeLessThan(24 << 20);
  }, 120_000);
});
