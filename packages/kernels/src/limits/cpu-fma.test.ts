import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { CpuLimits } from '../device-limits.js';
import { lanesOf, type CpuLevel } from '../emit/cpu-vector.js';
import { compilers, compilerVerdict } from '../testing/cpu-harness.test-support.js';
import { cpuFmaKernel, cpuLimitKernels } from './cpu-limit-kernels.js';

const limitsOf = (level: CpuLevel): CpuLimits => ({
  kind: 'cpu',
  level,
  cores: 2,
  l1Bytes: 32 << 10,
  l2Bytes: 1 << 20,
});

const levels: readonly CpuLevel[] =
  process.arch === 'arm64' ? ['arm64'] : ['x86-64-v2', 'x86-64-v3', 'x86-64-v4'];
const dtypes = ['float32', 'float64'] as const;
const cases = levels.flatMap((level) => dtypes.map((dtype) => [level, dtype] as const));

/** The innermost loop that has most of the multiply-adds, as assembler lines. */
function hottestLoop(assembler: string, operation: RegExp): string[] {
  const lines = assembler.split('\n').map((line) => line.replace(/(#|\/\/).*/, '').trim());
  let best: string[] = [];
  lines.forEach((line, at) => {
    const target = /^(?:j\w+|b\.\w+|cbn?z\s+\w+,)\s+(\.L\w+)$/.exec(line)?.[1];
    const start = target === undefined ? -1 : lines.lastIndexOf(`${target}:`, at);
    if (start < 0) return;
    const loop = lines.slice(start + 1, at);
    const count = (list: string[]): number => list.filter((one) => operation.test(one)).length;
    const inner = !loop.some((one) => /^\.L\w+:$/.test(one));
    if (inner && count(loop) > count(best)) best = loop;
  });
  return best;
}

describe.each(compilers())('the multiply-add loop through %s', (compiler) => {
  it.each(cases)('is nothing but multiply-adds in registers: %s %s', (level, dtype) => {
    const { source } = cpuFmaKernel(limitsOf(level), dtype);
    const march = level === 'arm64' ? 'armv8-a' : level;
    const flags = ['-O3', '-fno-math-errno', '-fno-trapping-math', '-ffp-contract=fast', '-fPIC'];
    const width = level === 'x86-64-v4' ? ['-mprefer-vector-width=512'] : [];
    const assembler = execFileSync(
      compiler,
      [...flags, `-march=${march}`, ...width, '-x', 'c++', '-S', '-o', '-', '-'],
      { input: source, encoding: 'utf8' },
    );
    const fused = level !== 'x86-64-v2';
    const multiply = fused ? /^(v?fn?madd|fmla)/ : /^mulp[sd]/;
    const loop = hottestLoop(assembler, multiply);
    const sums = level === 'x86-64-v4' || level === 'arm64' ? 24 : 12;
    const found = loop.filter((line) => multiply.test(line)).length;
    expect(found % sums).toBe(0); // a compiler may unroll the loop
    expect(found).toBeGreaterThan(0);
    if (!fused) expect(loop.filter((line) => /^addp[sd]/.test(line)).length).toBe(found);
    if (level === 'x86-64-v4') expect(loop.join('\n')).toContain('%zmm');
    if (level === 'x86-64-v3') expect(loop.join('\n')).toContain('%ymm');
    // No spills: nothing in the loop touches the stack.
    expect(loop.filter((line) => /\((%rsp|%rbp)|\[sp/.test(line))).toEqual([]);
  });

  it.each(cases)('compiles without a warning: %s %s', (level, dtype) => {
    const { source } = cpuFmaKernel(limitsOf(level), dtype);
    expect(compilerVerdict(compiler, source, level)).toEqual({ status: 0, log: '' });
  });
});

describe('the limit kernels of a CPU', () => {
  it('count two operations per lane, sum and round', () => {
    for (const [level, dtype] of cases) {
      const { cost, geometry } = cpuFmaKernel(limitsOf(level), dtype);
      const sums = level === 'x86-64-v4' || level === 'arm64' ? 24 : 12;
      expect(cost?.({ tasks: 3, iterations: 1000 }).flops).toBe(
        2 * 3 * 1000 * sums * lanesOf(level, dtype),
      );
      expect(geometry({ tasks: 3 })).toEqual({ tasks: 3, chunk: 1, scratchBytes: 0 });
    }
  });

  it('have distinct keys and entries', () => {
    const kernels = cpuLimitKernels(limitsOf('x86-64-v3'));
    expect(kernels.map(({ limit }) => limit)).toEqual(['cpu-fp32-fma', 'cpu-fp64-fma']);
    expect(new Set(kernels.map(({ kernel }) => kernel.entry)).size).toBe(2);
  });
});
