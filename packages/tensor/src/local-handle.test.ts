import { MessageChannel } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { MercerError, tensor } from './index.js';

const code = (error: unknown): unknown => (error instanceof MercerError ? error.code : error);

describe('what belongs to one thread', () => {
  it('is not cloned without its data: the sender is told how to send it', async () => {
    const t = await tensor(new Float32Array(6), { shape: [2, 3], device: 'cpu' });
    const { port1 } = new MessageChannel();
    const handles = [
      t,
      { deep: [t] },
      Object.assign({}, t),
      t.slice(0),
      t.device,
      t.device.defaultStream,
    ];
    for (const handle of handles) {
      const post = (value: unknown): void => {
        port1.postMessage(value);
      };
      for (const send of [structuredClone, post]) {
        let thrown: unknown;
        try {
          send(handle);
        } catch (error) {
          thrown = error;
        }
        expect(code(thrown)).toBe('NOT_CLONEABLE');
      }
    }
    port1.close();
    expect(() => structuredClone(t)).toThrow(/toTypedArray\(\).*tensor\(data, \{ shape \}\)/);
    expect(await tensor(await t.toTypedArray(), { shape: t.shape, device: 'cpu' })).toBeDefined();
  });

  it('is printed, spread and written as JSON as before', async () => {
    const t = await tensor([1, 2], { device: 'cpu' });
    expect(JSON.parse(JSON.stringify({ t }))).toEqual({
      t: { dtype: 'float32', shape: [2], device: 'cpu' },
    });
    expect(Object.assign({}, t).shape).toEqual([2]);
  });

  it('is named where a copy without data arrives', async () => {
    const t = await tensor([1, 2], { device: 'cpu' });
    const dead = JSON.parse(JSON.stringify(t)) as never;
    await expect(tensor(dead, { device: 'cpu' })).rejects.toThrow(/no data.*toTypedArray/);
    await expect(t.copyFrom(dead)).rejects.toThrow(/no data.*toTypedArray/);
  });

  it('takes its shape by name: an array is no options object', async () => {
    await expect(tensor(new Float32Array(6), [2, 3] as never)).rejects.toThrow(
      /got an array of 2. Did you mean \{ shape: \[2, 3\] \}/,
    );
  });
});
