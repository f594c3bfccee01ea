import { spawnSync } from 'node:child_process';
import { beforeAll, describe, expect, test } from 'vitest';
import { useNvrtc } from '../test/find-nvrtc.mjs';
import { NvrtcError } from './errors.js';
import { nvrtc } from './nvrtc.js';

useNvrtc();
const available = nvrtc.isAvailable();

const saxpy = `extern "C" __global__ void saxpy(float a, const float* x, float* y, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}`;

async function failureOf(promise: Promise<unknown>): Promise<NvrtcError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof NvrtcError) return error;
    throw error;
  }
  throw new Error('it compiled');
}

/** Runs statements in a process of their own, which is killed after half a minute. */
function runScript(statements: string): {
  status: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
} {
  const script = `
    const { nvrtc } = await import(${JSON.stringify(new URL('../dist/index.js', import.meta.url).href)});
    ${statements}`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 30_000,
    killSignal: 'SIGKILL',
  });
}

describe.skipIf(!available)(
  'NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    let major = 0;
    beforeAll(() => {
      [major] = nvrtc.version();
    });

    test('tells its version, its identity and the architectures it knows', () => {
      expect([12, 13]).toContain(major);
      expect(nvrtc.identity()).toMatch(/^nvrtc-1[23]\.\d+-\S+-\S+$/);
      expect(nvrtc.identity()).not.toContain('/');
      const archs = nvrtc.supportedArchs();
      for (const arch of [80, 90]) expect(archs).toContain(arch);
      expect(archs).toEqual([...archs].sort((a, b) => a - b));
    });

    test.each(['sm_80', 'sm_90a', 'sm_120'])('makes a cubin for %s', async (arch) => {
      const { binary, log, loweredNames } = await nvrtc.compile({
        source: saxpy,
        fileName: 'saxpy.cu',
        options: [`--gpu-architecture=${arch}`],
        nameExpressions: [],
        output: 'cubin',
      });
      expect([...binary.subarray(0, 4)]).toEqual([0x7f, 0x45, 0x4c, 0x46]);
      expect(Buffer.from(binary).includes('saxpy')).toBe(true);
      expect(log).toBe('');
      expect(loweredNames).toEqual({});
    });

    test('makes PTX for a virtual architecture, ending in a zero byte', async () => {
      const { binary } = await nvrtc.compile({
        source: saxpy,
        options: ['--gpu-architecture=compute_80'],
        output: 'ptx',
      });
      const text = new TextDecoder().decode(binary);
      expect(text).toContain('.visible .entry saxpy(');
      expect(text).toContain('.target sm_80');
      expect(binary.at(-1)).toBe(0);
    });

    test('the same program gives the same bytes', async () => {
      const request = { source: saxpy, options: ['--gpu-architecture=sm_90a'] };
      const [a, b] = await Promise.all([nvrtc.compile(request), nvrtc.compile(request)]);
      expect(Buffer.compare(a.binary, b.binary)).toBe(0);
    });

    test('lowers name expressions', async () => {
      const { binary, loweredNames } = await nvrtc.compile({
        source: `namespace deep { template <typename T, int N> __global__ void scale(T* x) { x[threadIdx.x] *= N; } }`,
        options: ['--gpu-architecture=sm_90a'],
        nameExpressions: ['deep::scale<float, 3>', 'deep::scale<double,4>'],
      });
      expect(loweredNames).toEqual({
        'deep::scale<float, 3>': '_ZN4deep5scaleIfLi3EEEvPT_',
        'deep::scale<double,4>': '_ZN4deep5scaleIdLi4EEEvPT_',
      });
      expect(Buffer.from(binary).includes('_ZN4deep5scaleIdLi4EEEvPT_')).toBe(true);
    });

    test('a failing program rejects with the log, the source and the first error in the message', async () => {
      const source = '__global__ void k() { undefined_name(); }';
      const error = await failureOf(
        nvrtc.compile({ source, fileName: 'broken.cu', options: ['--gpu-architecture=sm_90a'] }),
      );
      expect(error).toMatchObject({
        name: 'NVRTC_ERROR_COMPILATION',
        code: 'NVRTC_ERROR_COMPILATION',
        status: 6,
        source,
        call: 'nvrtcCompileProgram',
      });
      expect(error.log).toContain('broken.cu(1): error');
      expect(error.message).toContain('identifier "undefined_name" is undefined');
    });

    test('warnings come with the result', async () => {
      const { log } = await nvrtc.compile({
        source: 'extern "C" __global__ void k() { int unused = 3; }',
        options: ['--gpu-architecture=sm_90a'],
      });
      expect(log).toContain('warning');
    });

    test('an unknown option, an unknown name and a cubin without architecture are errors', async () => {
      const option = await failureOf(
        nvrtc.compile({ source: saxpy, options: ['--no-such-option'] }),
      );
      expect(option.name).toBe('NVRTC_ERROR_INVALID_OPTION');
      const missing = await failureOf(
        nvrtc.compile({
          source: saxpy,
          options: ['--gpu-architecture=sm_90a'],
          nameExpressions: ['nothing<int>'],
        }),
      );
      expect(missing.log).toContain('nothing');
      await expect(
        nvrtc.compile({ source: saxpy, options: ['--gpu-architecture=compute_90'] }),
      ).rejects.toThrow('real architecture');
    });

    test('texts with zero characters are refused, not cut off', async () => {
      await expect(nvrtc.compile({ source: 'a\0b' })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
      await expect(nvrtc.compile({ source: 'a', options: ['-x\0'] })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
      await expect(nvrtc.compile({ source: 5 as unknown as string })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    });

    test('no header of the machine is found', async () => {
      const error = await failureOf(
        nvrtc.compile({ source: '#include <stdio.h>\n', options: ['--gpu-architecture=sm_90a'] }),
      );
      expect(error.log).toMatch(/could not open|cannot open/);
    });

    test('eight compiles at once, good and bad mixed, each get their own result, and the loop turns meanwhile', async () => {
      let turns = 0;
      const timer = setInterval(() => turns++, 5);
      const results = await Promise.allSettled(
        Array.from({ length: 32 }, (_, i) =>
          nvrtc.compile({
            source:
              i % 4 === 3
                ? `error_${i};`
                : `extern "C" __global__ void k${i}(float* x) { x[${i}] = ${i}; }`,
            options: [`--gpu-architecture=sm_${i % 2 === 0 ? '80' : '90a'}`],
          }),
        ),
      );
      clearInterval(timer);
      results.forEach((result, i) => {
        if (i % 4 === 3) {
          expect(result).toMatchObject({ status: 'rejected' });
          expect((result as PromiseRejectedResult).reason).toMatchObject({
            log: expect.stringContaining(`error_${i}`) as string,
          });
        } else {
          expect(result.status).toBe('fulfilled');
          const { binary } = (result as PromiseFulfilledResult<{ binary: Uint8Array }>).value;
          expect(Buffer.from(binary).includes(`k${i}\0`)).toBe(true);
        }
      });
      expect(turns).toBeGreaterThan(5);
    });

    test('a process that has compiled is ended by SIGTERM and SIGINT as before', () => {
      for (const signal of ['SIGTERM', 'SIGINT']) {
        const ended = runScript(`
          await nvrtc.compile({ source: ${JSON.stringify(saxpy)}, options: ['--gpu-architecture=sm_90a'] });
          process.kill(process.pid, '${signal}');
          setTimeout(() => {}, 60_000);`);
        expect(ended, ended.stderr).toMatchObject({ status: null, signal, stderr: '' });
      }
    });

    test('while it compiles, a process keeps its own handlers of signals', () => {
      const ended = runScript(`
        const functions = Array.from({ length: 3000 }, (_, n) => '__device__ float f' + n + '(float x) { return x + ' + n + '.0f; }');
        const compiling = nvrtc.compile({ source: functions.join(' '), options: ['--gpu-architecture=sm_90a'] });
        let heard = 0;
        process.on('SIGINT', () => (heard += 1)).on('SIGTERM', () => (heard += 1));
        const sending = setInterval(() => process.kill(process.pid, heard % 2 ? 'SIGINT' : 'SIGTERM'), 1);
        await compiling;
        clearInterval(sending);
        console.log(heard > 3);
        process.exit(7);`);
      expect(ended, ended.stderr).toMatchObject({ status: 7, stdout: 'true\n', stderr: '' });
    });
  },
);
