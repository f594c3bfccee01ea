import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { sweep } from './backstop.js';
import { collectGarbage } from './collect-garbage.js';
import { empty, full } from './index.js';
import { device } from './devices.js';
import { memory } from './memory.js';
import type { Tensor } from './tensor.js';

const where = { device: 'cpu' } as const;
const cpu = device('cpu');

function forget(count: number): void {
  for (let i = 0; i < count; i++) empty([100], where);
}

describe('the backstop', () => {
  it('frees what was forgotten in the same synchronous task, and nothing else', () => {
    sweep();
    const kept: Tensor[] = [];
    const before = {
      live: cpu.memory().liveStorages,
      leaks: memory().leaks,
      leakedBytes: memory().leakedBytes,
      tensors: memory().tensors,
    };
    for (let i = 0; i < 200; i++) {
      forget(5);
      kept.push(empty([3], where));
    }
    const freed = sweep();
    // The last ones may still be in a register of this frame.
    expect(freed).toBeGreaterThan(990);
    expect(memory().leaks - before.leaks).toBe(freed);
    expect(memory().leakedBytes - before.leakedBytes).toBe(400 * freed);
    expect(kept.some((t) => t.disposed)).toBe(false);
    expect(cpu.memory().liveStorages - before.live).toBe(1200 - freed);
    for (const t of kept) t.dispose();
    expect(memory().tensors - before.tensors).toBe(1000 - freed);
  });

  it('does not count what was disposed', () => {
    sweep();
    const { leaks } = memory();
    for (let i = 0; i < 100; i++) empty([10], where).dispose();
    sweep();
    expect(memory().leaks).toBe(leaks);
  });

  it('counts bytes where the last that reached them was forgotten', () => {
    sweep();
    const { leaks, leakedBytes } = memory();
    const base = empty([100], where);
    (() => base.slice([10, 20]))();
    sweep();
    expect(memory()).toMatchObject({ leaks: leaks + 1, leakedBytes });
    base.dispose();
    expect(memory()).toMatchObject({ leaks: leaks + 1, leakedBytes });
  });

  it('counts bytes that a forgotten result would have read', async () => {
    const read = await full([100], 1, where);
    sweep();
    const { liveBytes, leakedBytes } = memory();
    (() => void read.mul(2))();
    read.dispose();
    expect(memory().liveBytes).toBe(liveBytes);
    for (let i = 0; i < 50 && memory().liveBytes === liveBytes; i++) {
      collectGarbage();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(memory()).toMatchObject({
      liveBytes: liveBytes - 400,
      leakedBytes: leakedBytes + 400,
    });
  });

  it('keeps a storage that only a view reaches', () => {
    const view = (() => empty([100], where).slice([10, 20]))();
    sweep();
    expect(view.disposed).toBe(false);
    expect(view.storage.disposed).toBe(false);
    view.dispose();
  });

  it('also works through finalisers, between tasks', async () => {
    sweep();
    const { leaks } = memory();
    forget(50);
    for (let i = 0; i < 50 && memory().leaks === leaks; i++) {
      (globalThis as { gc?: () => void }).gc?.();
      Array.from({ length: 1e5 }, () => ({}));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    sweep();
    expect(memory().leaks - leaks).toBeGreaterThanOrEqual(49);
  });

  it('leaves inspection as it was', () => {
    const t = empty([2], where);
    sweep();
    expect(inspect(t)).toMatch(/^Tensor\(float32 \[2\] on cpu\) /);
    expect(inspect([t])).toMatch(/^\[ Tensor\(float32 \[2\] on cpu\) .*\]$/);
    t.dispose();
  });

  it('holds views bounded that are never disposed', () => {
    const base = empty([10], where);
    const before = memory().tensors;
    let most = 0;
    for (let i = 0; i < 30_000; i++) {
      base.slice([i % 10]);
      if (i % 100 === 0) most = Math.max(most, memory().tensors - before);
    }
    expect(most).toBeLessThan(2 * 4096 + 2 * before);
    expect(base.disposed).toBe(false);
    base.dispose();
  });
});
