import { add, exp, mul, tanh, variable } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import type { CpuLimits } from '../device-limits.js';
import type { CpuKernel } from '../emitted-kernel.js';
import { emitPairwise } from './emit.js';
import { normExpressions } from './norm-expressions.js';
import { planPairwise } from './plan.js';
import { countOps, type CpuPairwisePlan } from './cpu/plan.js';
import type { PairwiseProblem } from './problem.js';
import { plainCopy } from '../testing/plain-copy.test-support.js';

const LEVELS: readonly CpuLimits['level'][] = ['x86-64-v2', 'x86-64-v3', 'x86-64-v4', 'arm64'];
const limits = (cores: number, level: CpuLimits['level'] = 'x86-64-v4'): CpuLimits => ({
  kind: 'cpu',
  level,
  cores,
  l1Bytes: 32768,
  l2Bytes: 1 << 20,
});

function problem(change: Partial<PairwiseProblem> = {}): PairwiseProblem {
  return {
    ...normExpressions(2),
    dtype: 'float32',
    m: 4000,
    n: 4000,
    k: 1024,
    batch: 1,
    layoutA: 'row',
    layoutB: 'row',
    layoutOut: 'row',
    alignedA: true,
    alignedB: true,
    alignedOut: true,
    ...change,
  };
}

const plan = (change?: Partial<PairwiseProblem>, cores = 2, level?: CpuLimits['level']) =>
  planPairwise(problem(change), limits(cores, level)) as CpuPairwisePlan;
const kernelOf = (p: CpuPairwisePlan): CpuKernel => emitPairwise(p).steps[0]?.kernel as CpuKernel;
const section = (source: string, from: string, to: string): string =>
  source.slice(source.indexOf(from), source.indexOf(to, source.indexOf(from)) + to.length);

describe('CPU pairwise plans', () => {
  it('are plain frozen data that survives JSON', () => {
    for (const level of LEVELS) {
      const chosen = plan({ ...normExpressions('runtime'), p: 1.3 }, 4, level);
      expect(Object.isFrozen(chosen)).toBe(true);
      const back = plainCopy(chosen);
      expect(back).toEqual(chosen);
      expect(kernelOf(back).source).toBe(kernelOf(chosen).source);
    }
  });

  it('weigh transcendental operations by what they cost, and shared ones once', () => {
    const x = variable('x');
    expect(countOps(x)).toBe(0);
    expect(countOps(tanh(mul(x, 2)))).toBe(21);
    expect(countOps(add(exp(x), mul(exp(x), exp(x))))).toBe(17);
  });

  it('use the registers of the level', () => {
    expect(plan().summary).toMatchInlineSnapshot(`"cpu x86-64-v4 tile 6x64 block 192x512x256"`);
    expect(plan({}, 2, 'x86-64-v3').summary).toMatchInlineSnapshot(
      `"cpu x86-64-v3 tile 6x16 block 192x512x256"`,
    );
    expect(plan(normExpressions('runtime')).summary).toMatchInlineSnapshot(
      `"cpu x86-64-v4 tile 4x32 block 128x512x256"`,
    );
    expect(plan({ dtype: 'float64' }).summary).toMatchInlineSnapshot(
      `"cpu x86-64-v4 tile 6x32 block 192x512x128"`,
    );
  });

  it('have tasks for every core, and no tile larger than the problem', () => {
    for (const cores of [1, 2, 16, 96]) {
      for (const m of [1, 32, 1000, 30000]) {
        for (const n of [1, 32, 1000, 30000]) {
          const chosen = plan({ m, n }, cores);
          const { tasks, chunk } = kernelOf(chosen).geometry({ m, n, k: 64, batch: 1 });
          const [rows, columns] = chosen.swapped ? [n, m] : [m, n];
          expect(chosen.tileRows).toBeLessThanOrEqual(rows);
          if (m * n >= 1e6) expect(tasks).toBeGreaterThanOrEqual(2 * cores);
          expect(chosen.blockRows % chosen.tileRows).toBe(0);
          expect(chosen.blockColumns % (chosen.tileVectors * 16)).toBe(0);
          expect(chosen.blockColumns).toBeLessThan(columns + chosen.tileVectors * 16);
          expect(chunk).toBeGreaterThanOrEqual(1);
          expect(Math.ceil(tasks / chunk)).toBeGreaterThanOrEqual(Math.min(tasks, 4 * cores));
        }
      }
    }
  });

  it('are few, however many sizes there are', () => {
    const texts = new Set<string>();
    for (let size = 0; size < 4000; size++) {
      const [m, n] = [1 + ((size * 7919) % 30000), 1 + ((size * 104729) % 30000)];
      texts.add(JSON.stringify(plan({ m, n, k: 1 + size })));
    }
    expect(texts.size).toBeLessThanOrEqual(24);
  });

  it('give many small batches to a worker at a time', () => {
    const sizes = { m: 32, n: 32, k: 16, batch: 10_000 };
    const { tasks, chunk } = kernelOf(plan(sizes)).geometry(sizes);
    expect(tasks).toBe(10_000);
    expect(chunk).toBeGreaterThan(10);
  });

  it('need no task for an empty output and one for an empty sum', () => {
    const { geometry } = kernelOf(plan());
    for (const empty of [{ m: 0 }, { n: 0 }, { batch: 0 }]) {
      expect(geometry({ m: 5, n: 5, k: 5, batch: 1, ...empty }).tasks).toBe(0);
    }
    expect(geometry({ m: 5, n: 5, k: 0, batch: 1 })).toMatchObject({ tasks: 1, chunk: 1 });
  });

  it('count tasks beyond 2^31 elements exactly', () => {
    const { geometry, cost } = kernelOf(plan());
    const sizes = { m: 3_000_000, n: 3_000_000, k: 2, batch: 1 };
    expect(geometry(sizes).tasks).toBe(
      Math.ceil(3e6 / plan().blockRows) * Math.ceil(3e6 / plan().blockColumns),
    );
    expect(cost?.(sizes)).toMatchObject({ flops: 9e12 * 2 * 3, issueSlots: 9e12 * 2 * 2 });
  });

  it('charge shared operands once', () => {
    const cost = kernelOf(plan()).cost;
    const sizes = { m: 10, n: 20, k: 30, batch: 4 };
    const own = cost?.({ ...sizes, batchStrideA: 300, batchStrideB: 600 });
    const shared = cost?.({ ...sizes, batchStrideA: 0, batchStrideB: 600 });
    expect(own?.bytes).toBe(4 * 4 * (300 + 600 + 200));
    expect((own?.bytes ?? 0) - (shared?.bytes ?? 0)).toBe(4 * 3 * 300);
  });
});

describe('CPU pairwise text', () => {
  it('includes no header but the two for integers', () => {
    const { source } = kernelOf(plan());
    expect(source.match(/#include.*/g)).toEqual(['#include <stdint.h>', '#include <stddef.h>']);
  });

  it('keeps one register tile in named accumulators', () => {
    const small = { ...plan(), tileRows: 2, tileVectors: 2 };
    const { source } = kernelOf(small);
    expect(section(source, 'INLINE V inner', '}')).toMatchInlineSnapshot(`
      "INLINE V inner(V a, V b) {
        const V t0 = a - b;
        const V t1 = t0 * t0;
        return t1;
      }"
    `);
    expect(section(source, '// one register tile', '\n}')).toMatchInlineSnapshot(`
      "// one register tile; the first block of k stores its partial results, the others add theirs
      static void micro_kernel(const T* rows, const T* columns, T* tile, int64_t depth, int first, const Uniforms& u) {
        (void)u;
        V s0_0 = splat(0), s0_1 = splat(0), s1_0 = splat(0), s1_1 = splat(0);
        for (int64_t k = 0; k < depth; k++, columns += TILE_COLUMNS) {
          const V y0 = *(const V*)(columns + 0 * LANES), y1 = *(const V*)(columns + 1 * LANES);
          V x;
          x = splat(rows[0 * ROW_STRIDE + k]);
          s0_0 = s0_0 + inner(x, y0);
          s0_1 = s0_1 + inner(x, y1);
          x = splat(rows[1 * ROW_STRIDE + k]);
          s1_0 = s1_0 + inner(x, y0);
          s1_1 = s1_1 + inner(x, y1);
        }
        if (!first) {
          s0_0 = *(V*)(tile + 0 * BLOCK_COLUMNS + 0 * LANES) + s0_0;
          s0_1 = *(V*)(tile + 0 * BLOCK_COLUMNS + 1 * LANES) + s0_1;
          s1_0 = *(V*)(tile + 1 * BLOCK_COLUMNS + 0 * LANES) + s1_0;
          s1_1 = *(V*)(tile + 1 * BLOCK_COLUMNS + 1 * LANES) + s1_1;
        }
        *(V*)(tile + 0 * BLOCK_COLUMNS + 0 * LANES) = s0_0;
        *(V*)(tile + 0 * BLOCK_COLUMNS + 1 * LANES) = s0_1;
        *(V*)(tile + 1 * BLOCK_COLUMNS + 0 * LANES) = s1_0;
        *(V*)(tile + 1 * BLOCK_COLUMNS + 1 * LANES) = s1_1;
      }"
    `);
  });

  it('compares maxima of absolute values by their bits', () => {
    const { source } = kernelOf({
      ...plan(normExpressions(Infinity)),
      tileRows: 1,
      tileVectors: 1,
    });
    expect(section(source, '    x = splat', '\n  }')).toMatchInlineSnapshot(`
      "    x = splat(rows[0 * ROW_STRIDE + k]);
          s0_0 = max_bits(s0_0, inner(x, y0));
        }"
    `);
  });
});
