import { describe, expect, it } from 'vitest';
import { add, constant, internedCount, mul, variable, type Expr } from './plan.js';

/** Collects what nobody holds; finalisers run as later tasks. */
async function collect(): Promise<void> {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('run this test in a process with --expose-gc');
  for (let turn = 0; turn < 4; turn++) {
    await gc({ execution: 'async' });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('intern table', () => {
  it('forgets the nodes that nobody holds, as others are made', async () => {
    const start = internedCount();
    const kept = variable('kept');
    let largest = 0;
    for (let wave = 0; wave < 8; wave++) {
      for (let i = 0; i < 20_000; i++) {
        const leaf = constant(wave * 20_000 + i);
        add(kept, mul(leaf, leaf));
      }
      largest = Math.max(largest, internedCount());
      await collect();
    }
    // 480,000 nodes were made; without sweeping the table would hold them all, with it a wave and what a collection left over.
    expect(largest).toBeLessThan(start + 150_000);
    expect(variable('kept')).toBe(kept);
  }, 60_000);

  it('gives the same nodes again when there are many more', () => {
    const made = (): Expr[] =>
      Array.from({ length: 40_000 }, (_, i) => mul(constant(2e6 + i), variable('of_many')));
    const before = made();
    const start = internedCount();
    const again = made();
    expect(again.filter((node, i) => node !== before[i])).toHaveLength(0);
    expect(new Set(before).size).toBe(40_000);
    // Nothing is entered twice.
    expect(internedCount()).toBeLessThanOrEqual(start);
  });

  it('keeps a node that replaced a dead one of the same content', async () => {
    const made = (i: number): unknown => mul(constant(1e6 + i), variable('made_again'));
    for (let i = 0; i < 100; i++) made(i);
    await collect();
    const again = Array.from({ length: 100 }, (_, i) => made(i));
    await collect();
    expect(Array.from({ length: 100 }, (_, i) => made(i))).toEqual(again);
    again.forEach((node, i) => {
      expect(made(i)).toBe(node);
    });
  });
});
