import { CompileError, cpu } from '@mercer/cpu-runtime';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { device, empty, planOf, tensor, unsafeKernel } from '../index.js';
import { said } from '../testing/what-happens.test-support.js';
import {
  axpy,
  elementwise,
  rowSums,
  unsafeKernelSuite,
} from './unsafe-kernel-suite.test-support.js';

const where = { device: 'cpu' } as const;

const hasCompiler = await cpu.findCompiler().then(
  () => true,
  () => false,
);

afterEach(() => {
  vi.unstubAllEnvs();
});

describe.skipIf(!hasCompiler)(
  'kernels of users on the CPU (skipped only where no C++ compiler is found)',
  () => {
    unsafeKernelSuite(() => device('cpu'));

    it("give the compiler's message with lines of their own text", async () => {
      const broken = unsafeKernel({
        name: 'broken',
        parameters: { y: { output: 'float32' } },
        sizes: () => ({ y: [1] }),
        launch: () => ({ grid: 1, block: 1, tasks: 1 }),
        cuda: 'y[0] = 1;',
        cpu: {
          helpers: 'static float one() {\n  return nothing;\n}',
          body: '\n\ny[0] = one() + some;',
        },
      });
      for (const call of [() => broken({}, where), () => broken.prepare({}, where)]) {
        const error: unknown = await call().then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        expect(error).toBeInstanceOf(CompileError);
        const { code, message, log } = error as CompileError;
        expect(code).toBe('COMPILE_FAILED');
        expect(message).toMatch(/helpers of broken\.cpu:2:\d+: error: .*nothing/);
        expect(log).toMatch(/broken\.cpu:3:\d+: error: .*some/);
      }
    });

    it('split their tasks into ranges for every core', async () => {
      const ranges = unsafeKernel({
        name: 'ranges',
        parameters: { first: { output: 'int64' }, n: { scalar: 'int64' } },
        sizes: ({ n }) => ({ first: [n] }),
        launch: ({ n }) => ({ grid: 1, block: 1, tasks: n }),
        cuda: 'first[0] = 0;',
        cpu: 'for (i64 i = begin; i < end; ++i) first[i] = begin;',
      });
      using first = await ranges({ n: 1000 }, where);
      const begins = await first.toTypedArray();
      const { cores } = device('cpu').limits as { readonly cores: number };
      const chunk = Math.ceil(1000 / (8 * cores));
      expect(Array.from(begins, Number)).toEqual(Array.from(begins, (_, i) => i - (i % chunk)));
    });

    it('are compiled once for the same text', async () => {
      const lines: string[] = [];
      const debug = (line: string): void => {
        lines.push(line);
      };
      const make = () =>
        unsafeKernel({
          name: 'once',
          parameters: { y: { output: 'float32' }, n: { size: 'int32' } },
          sizes: () => ({ y: [3], n: 3 }),
          ...elementwise(`y[i] = ${process.pid}.0f;`),
        });
      for (const one of [make(), make()]) {
        using y = await one({}, { ...where, debug });
        expect(await y.toNested()).toEqual([process.pid, process.pid, process.pid]);
        expect(planOf(y)).toMatchObject({ kind: 'cpu', summary: 'once', executor: 'compiled' });
      }
      const compiled = lines.filter((line) => line.startsWith('compiled '));
      expect(compiled, lines.join('\n')).toHaveLength(1);
    });
  },
);

it('is refused where the CPU has no text or no compiler', async () => {
  using x = await tensor([1, 2, 3], where);
  const gpuOnly = unsafeKernel({
    name: 'gpu_only',
    parameters: { x: { input: 'float32' }, y: { output: 'float32' } },
    sizes: ({ x }) => ({ y: x.shape }),
    launch: () => ({ grid: 1, block: 1 }),
    cuda: 'y[threadIdx.x] = x[threadIdx.x];',
  });
  expect(await said(() => gpuOnly({ x }))).toMatchInlineSnapshot(
    `"UNSUPPORTED gpu_only: it has no text for the CPU, where this call would run. Give unsafeKernel a cpu text beside the cuda text, or move the tensors to a GPU."`,
  );
  expect(await said(() => gpuOnly.prepare({ x }))).toBe(await said(() => gpuOnly({ x })));
  vi.stubEnv('MERCER_CPU', 'interpreted');
  const fresh = unsafeKernel({
    name: 'fresh',
    parameters: { y: { output: 'float32' } },
    sizes: () => ({ y: [1] }),
    launch: () => ({ grid: 1, block: 1, tasks: 1 }),
    cuda: 'y[0] = 1;',
    cpu: 'y[0] = 1;',
  });
  expect(await said(() => fresh({}, where))).toMatch(
    /^UNSUPPORTED loading fresh: .* MERCER_CPU is interpreted\. Unset MERCER_CPU/,
  );
});

describe('bad input is refused with values and a remedy', () => {
  const refusals = async (cases: Readonly<Record<string, () => unknown>>) => {
    const messages: Record<string, string> = {};
    for (const [name, work] of Object.entries(cases)) messages[name] = await said(work);
    return messages;
  };
  const good = {
    parameters: { y: { output: 'float32' } },
    sizes: () => ({ y: [1] }),
    launch: () => ({ grid: 1, block: 1, tasks: 1 }),
    cuda: 'y[0] = 1;',
    cpu: 'y[0] = 1;',
  } as const;
  const define = (changed: object) => () => unsafeKernel({ ...good, ...changed });
  const parameters = (given: object) => define({ parameters: { ...good.parameters, ...given } });

  it('in definitions', async () => {
    expect(
      await refusals({
        'an unknown option': define({ Cuda: '' }),
        'a name with a space': define({ name: 'my kernel' }),
        'no parameters': define({ parameters: undefined }),
        'no output': define({ parameters: { x: { input: 'float32' } } }),
        'a parameter called begin': parameters({ begin: { scalar: 'int32' } }),
        'a parameter of the compiler': parameters({ __x: { input: 'float32' } }),
        'a parameter that is nothing': parameters({ x: {} }),
        'a parameter that is a text': parameters({ x: 'float32' }),
        'a parameter that is two things': parameters({ x: { input: 'int32', scalar: 'int32' } }),
        'a dtype that is none': parameters({ x: { input: 'float' } }),
        'a scalar of 16 bits': parameters({ x: { scalar: 'float16' } }),
        'a size that is no whole number': parameters({ x: { size: 'float32' } }),
        'sizes without a rule': define({
          sizes: undefined,
          parameters: { ...good.parameters, n: { size: 'int32' } },
        }),
        'no launch': define({ launch: undefined }),
        'a rule that is a number': define({ sizes: 3 }),
        'no text': define({ cuda: undefined }),
        'an empty text': define({ cpu: ' \n' }),
        'a text with NUL': define({ cuda: { helpers: '\0', body: 'y[0] = 1;' } }),
        'a text in another form': define({ cuda: { text: 'y[0] = 1;' } }),
      }),
    ).toMatchInlineSnapshot(`
      {
        "a dtype that is none": "INVALID_ARGUMENT unsafeKernel kernel: parameter 'x': "float" is not a dtype. Use float64, float32, float16, bfloat16, int64, int32, uint8 or bool.",
        "a name with a space": "INVALID_ARGUMENT unsafeKernel: the name is "my kernel". Use an identifier of C without leading __.",
        "a parameter called begin": "INVALID_ARGUMENT unsafeKernel kernel: parameter 'begin': it cannot have this name. Use an identifier of C without leading __, other than begin and end.",
        "a parameter of the compiler": "INVALID_ARGUMENT unsafeKernel kernel: parameter '__x': it cannot have this name. Use an identifier of C without leading __, other than begin and end.",
        "a parameter that is a text": "INVALID_ARGUMENT unsafeKernel kernel: parameter 'x': expected an object of options, got "float32". The options are input, output, scalar, size.",
        "a parameter that is nothing": "INVALID_ARGUMENT unsafeKernel kernel: parameter 'x': it is nothing. Give one of input, output, scalar and size.",
        "a parameter that is two things": "INVALID_ARGUMENT unsafeKernel kernel: parameter 'x': it is input and scalar. Give one of input, output, scalar and size.",
        "a rule that is a number": "INVALID_ARGUMENT unsafeKernel kernel: sizes is 3. Pass a function.",
        "a scalar of 16 bits": "INVALID_ARGUMENT unsafeKernel kernel: parameter 'x': "float16" is no type of a scalar. Use int32, int64, float32, float64.",
        "a size that is no whole number": "INVALID_ARGUMENT unsafeKernel kernel: parameter 'x': "float32" is no type of a size. Use int32, int64.",
        "a text in another form": "INVALID_ARGUMENT unsafeKernel kernel: cuda: there is no option 'text'. The options are helpers, body.",
        "a text with NUL": "INVALID_ARGUMENT unsafeKernel kernel: cuda: the helpers is "\\u0000". Pass the text of a kernel's body, or { helpers, body }.",
        "an empty text": "INVALID_ARGUMENT unsafeKernel kernel: cpu: the body is " \\n". Pass the text of a kernel's body, or { helpers, body }.",
        "an unknown option": "INVALID_ARGUMENT unsafeKernel: there is no option 'Cuda'. Did you mean 'cuda'? The options are name, parameters, cuda, cpu, sizes, launch.",
        "no launch": "INVALID_ARGUMENT unsafeKernel kernel: launch is undefined. Pass a function.",
        "no output": "INVALID_ARGUMENT unsafeKernel kernel: it has no output. Give a parameter such as y: { output: 'float32' }.",
        "no parameters": "INVALID_ARGUMENT unsafeKernel kernel: the parameters are undefined. Pass an object such as { x: { input: 'float32' }, y: { output: 'float32' } }.",
        "no text": "INVALID_ARGUMENT unsafeKernel kernel: cuda: the body is undefined. Pass the text of a kernel's body, or { helpers, body }.",
        "sizes without a rule": "INVALID_ARGUMENT unsafeKernel kernel: it has parameters that are sizes. Give sizes, which computes them.",
      }
    `);
  });

  it('in calls', async () => {
    using x = await tensor([1, 2, 3], where);
    using wide = await tensor([1, 2, 3], { dtype: 'float64', ...where });
    using matrix = await tensor(
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      where,
    );
    const lacksSize = unsafeKernel({ ...good, name: 'lacks', sizes: () => ({}) });
    const odd = (rules: object) => unsafeKernel({ ...good, name: 'odd', ...rules });
    expect(
      await refusals({
        'no arguments': () => axpy(undefined as never),
        'a list': () => axpy([x] as never),
        'an unknown argument': () => axpy({ a: 1, x, y: x, w: x } as never),
        'a missing tensor': () => axpy({ a: 1, x } as never),
        'a missing scalar': () => axpy({ x, y: x } as never),
        'a scalar that is a text': () => axpy({ a: '1', x, y: x } as never),
        'another dtype': () => axpy({ a: 1, x, y: wide } as never),
        'an array of the host': () => axpy({ a: 1, x, y: [1, 2, 3] } as never),
        'an unknown option': () => axpy({ a: 1, x, y: x }, { Out: x } as never),
        'an out of another shape': () => axpy({ a: 1, x, y: x }, { out: matrix }),
        'an out that is read': () => axpy({ a: 1, x, y: x }, { out: x }),
        'an out with strides': () =>
          axpy({ a: 1, x: matrix, y: matrix }, { out: empty([3, 2], where).transpose() }),
        'one out for two results': () => rowSums({ x: matrix }, { out: { sums: x } as never }),
        'an out that there is not': () => rowSums({ x: matrix }, { out: { total: x } as never }),
        'another device': () => axpy({ a: 1, x, y: x }, { device: 'gpu' as never }),
        'a shape that is not known': () => lacksSize({}, where),
        'a shape that is none': () => odd({ sizes: () => ({ y: [1.5] }) })({}, where),
        'a size that there is not': () => odd({ sizes: () => ({ n: 1 }) })({}, where),
        'no sizes': () => odd({ sizes: () => 3 })({}, where),
        'no tasks': () => odd({ launch: () => ({ grid: 1, block: 1 }) })({}, where),
        'a launch of nothing': () => odd({ launch: () => undefined })({}, where),
        'a scalar that does not fit': () =>
          unsafeKernel({
            ...good,
            name: 'whole',
            parameters: { ...good.parameters, n: { scalar: 'int32' } },
          })({ n: 2 ** 31 }, where),
      }),
    ).toMatchInlineSnapshot(`
      {
        "a launch of nothing": "INVALID_ARGUMENT odd: launch gave undefined as tasks. Give how many there are on a CPU, from 0.",
        "a list": "INVALID_ARGUMENT axpy: arguments: expected an object of options, got an array of 1. The options are x, y, a.",
        "a missing scalar": "INVALID_ARGUMENT axpy: a is undefined. Pass a number.",
        "a missing tensor": "INVALID_ARGUMENT axpy: y: expected a tensor, got undefined. Make one with tensor(data).",
        "a scalar that does not fit": "INVALID_ARGUMENT launch of whole: scalar 'n' is 2147483648, which is no int32. Pass a number of that type.",
        "a scalar that is a text": "INVALID_ARGUMENT axpy: a is "1". Pass a number.",
        "a shape that is none": "INVALID_ARGUMENT odd: y: extent 1.5 in shape [1.5] is not a count. Use integers from 0 to 2^53 - 1.",
        "a shape that is not known": "INVALID_ARGUMENT lacks: the shape of y is not known. Give it in sizes, or pass an out.",
        "a size that there is not": "INVALID_ARGUMENT odd: sizes: there is no option 'n'. The options are y.",
        "an array of the host": "INVALID_ARGUMENT axpy: y: expected a tensor, got an array of 3. Make one with tensor(data).",
        "an out of another shape": "SHAPE_MISMATCH axpy: z: out is float32 [2, 3] tensor #n on cpu and the result has shape [3]. Allocate it with that shape.",
        "an out that is read": "OVERLAP axpy: z: the output float32 [3] tensor #n on cpu shares memory with the input float32 [3] tensor #n on cpu. Pass an output of its own, or clone the input.",
        "an out that there is not": "INVALID_ARGUMENT row_sums: out: there is no option 'total'. The options are sums, largest.",
        "an out with strides": "NOT_CONTIGUOUS axpy: z: out is float32 [2, 3] tensor #n on cpu with strides [1, 2], and kernels of users write row-major memory. Pass a row-major tensor and copy it with copyFrom.",
        "an unknown argument": "INVALID_ARGUMENT axpy: arguments: there is no option 'w'. The options are x, y, a.",
        "an unknown option": "INVALID_ARGUMENT axpy: there is no option 'Out'. Did you mean 'out'? The options are stream, out, signal, debug, device.",
        "another device": "INVALID_ARGUMENT device: "gpu" is not a device. Use 'cpu', 'cuda', 'cuda:0' or what device() returned.",
        "another dtype": "DTYPE_MISMATCH axpy: y is float64 [3] tensor #n on cpu and the kernel reads float32. Call cast('float32') first.",
        "no arguments": "INVALID_ARGUMENT axpy: x: expected a tensor, got undefined. Make one with tensor(data).",
        "no sizes": "INVALID_ARGUMENT odd: sizes gave 3. Give an object with y.",
        "no tasks": "INVALID_ARGUMENT odd: launch gave undefined as tasks. Give how many there are on a CPU, from 0.",
        "one out for two results": "DTYPE_MISMATCH row_sums: sums: out is float32 [3] tensor #n on cpu and the result is float64. Allocate it with dtype 'float64'.",
      }
    `);
  });
});
