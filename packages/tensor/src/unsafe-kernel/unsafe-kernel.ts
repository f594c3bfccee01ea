import type { OptionNames } from '@mercer/options';
import { LOAD_OPTIONS, type DeviceLike, type LoadOptions } from '../device.js';
import { only, Operation } from '../operation/operation.js';
import { pendingCall } from '../pending.js';
import { readOptions } from '../read-options.js';
import { OUT_OPTION, type Tensor } from '../tensor.js';
import { differentiable } from '../trace/differentiable.js';
import type { UnsafeKernel, UnsafeKernelDefinition, UnsafeParameters } from './definition.js';
import { keyOf, planCall, type UnsafeCallArguments } from './plan-call.js';
import { readDefinition, type ReadDefinition } from './read-definition.js';

type Given = Readonly<Record<string, unknown>>;

/** As callers give them, for one result or for several. */
interface Options extends LoadOptions {
  readonly out?: unknown;
  readonly device?: DeviceLike | undefined;
}

const OPTIONS: OptionNames<Options> = { ...OUT_OPTION, ...LOAD_OPTIONS, device: true };

/** Arguments in the order of the parameters. @throws MercerError INVALID_ARGUMENT for outputs that there are not */
function inOrder(
  { name, inputs, outputs, scalars }: ReadDefinition,
  given: Given,
  out: unknown,
): UnsafeCallArguments {
  const [first, ...others] = outputs.map((one) => one.name);
  const outs: Given =
    others.length === 0
      ? { [String(first)]: out }
      : (readOptions(`${name}: out`, out as object | undefined, namesOf(outputs)) as Given);
  return {
    inputs: inputs.map((one) => given[one.name] as Tensor),
    scalars: Object.fromEntries(scalars.map((one) => [one.name, given[one.name] as number])),
    outs: outputs.map((one) => outs[one.name] as Tensor | undefined),
  };
}

const namesOf = (named: readonly { readonly name: string }[]): Readonly<Record<string, true>> =>
  Object.fromEntries(named.map(({ name }) => [name, true as const]));

const operationOf = (definition: ReadDefinition) =>
  new Operation<readonly [UnsafeCallArguments], Options, undefined, readonly [Given]>({
    what: definition.name,
    options: OPTIONS,
    freeOptions: OUT_OPTION,
    snapshot: ([given], options) => [[inOrder(definition, given, options.out)], options],
    identify: ([call], { device }) => {
      const key = device === undefined ? keyOf(definition, call) : undefined;
      return key === undefined ? undefined : { key, tensors: call };
    },
    plan: ([call], { device }) => planCall(definition, call, device),
  });

/**
 * A function of a kernel that you write: CUDA C++, and host C++ for a CPU. You write the body; its signature follows from the parameters, in
 * their order: pointers to constant elements for inputs, pointers for outputs, numbers by value. The texts are compiled through the cache, once a
 * machine.
 *
 * Unsafe: a text may do anything. Nothing checks what it reads and writes, and one access out of bounds corrupts memory of the process or ends the
 * GPU's context. Never build a text of what strangers send.
 *
 * ```ts
 * import { tensor, unsafeKernel } from '@mercer/tensor';
 *
 * const axpy = unsafeKernel({
 *   name: 'axpy',
 *   parameters: {
 *     a: { scalar: 'float32' },
 *     x: { input: 'float32' },
 *     y: { input: 'float32' },
 *     z: { output: 'float32' },
 *     n: { size: 'int64' },
 *   },
 *   sizes: ({ x }) => ({ z: x.shape, n: x.size }),
 *   launch: ({ n }) => ({ grid: Math.ceil(n / 256), block: 256, tasks: n }),
 *   cuda: `
 *     const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
 *     if (i < n) z[i] = a * x[i] + y[i];`,
 *   cpu: 'for (i64 i = begin; i < end; ++i) z[i] = a * x[i] + y[i];',
 * });
 * const where = { device: 'cpu' } as const;
 * const [x, y] = [await tensor([1, 2, 3], where), await tensor([10, 20, 30], where)];
 * console.log(await axpy({ a: 2, x, y }).toNested()); // [ 12, 24, 36 ]
 * ```
 *
 * In both texts `u8`, `u16`, `i32`, `u32`, `i64` and `u64` are integers. bool and uint8 are `u8`, int32 is `i32`, int64 is `i64`. float16 and bfloat16 are
 * `u16`, which `from_float16`, `to_float16`, `from_bfloat16` and `to_bfloat16` turn into `float` and back. CUDA texts include no header; host texts
 * may, in their `helpers`.
 *
 * On a CPU the pool's threads call the body for ranges of the tasks that `launch` counts, at the same time and in any order: it computes the
 * tasks from `begin` to `end`, without `end`. Two tasks must not write the same element.
 *
 * Inputs and outputs are row-major and never overlap, so pointers are `__restrict__`. Inputs that lie otherwise are copied first. Outputs that a call
 * makes hold anything before the kernel writes them; one that is given as `out` holds what it held.
 *
 * It has no derivative: wrap it in `customVjp` or `customJvp` of autodiff.
 *
 * @param definition `sizes` and `launch` are called where shapes or layouts differ from those of calls before, and in each call that has scalars
 * @returns a function of the inputs and scalars by name, with `prepare`. It gives its output, which can be used before it is awaited, or its outputs by name
 * @throws MercerError INVALID_ARGUMENT. The function throws MercerError DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED on a
 *   CPU without a text for it or without a compiler; with `out` also SHAPE_MISMATCH, OVERLAP, NOT_CONTIGUOUS; where a text does not compile NvrtcError on a
 *   GPU, CompileError COMPILE_FAILED on a CPU, whose `log` counts lines in the text
 */
export function unsafeKernel<P extends UnsafeParameters>(
  definition: UnsafeKernelDefinition<P>,
): UnsafeKernel<P> {
  const read = readDefinition(definition as unknown as UnsafeKernelDefinition);
  const { name, outputs } = read;
  const operation = operationOf(read);
  const isOne = outputs.length === 1;
  const argumentNames = namesOf([...read.inputs, ...read.scalars]);
  const own = (args: Given): Given => readOptions(`${name}: arguments`, args, argumentNames);
  const told = (results: readonly Tensor[]): unknown =>
    isOne ? only(results) : Object.fromEntries(outputs.map((one, at) => [one.name, results[at]]));
  const call = async (args: Given, options?: Options): Promise<unknown> =>
    told(await operation.call([own(args)], options));
  const run = (args: Given, options?: Options): Promise<unknown> =>
    isOne ? pendingCall(() => operation.one([own(args)], options)) : call(args, options);
  const prepare = async (examples: Given, options?: Options): Promise<unknown> => {
    const prepared = await operation.prepare([own(examples)], options);
    return (args: Given, free?: object) => told(prepared([own(args)], free));
  };
  return differentiable(
    name,
    Object.assign(run, { prepare }),
    undefined,
    undefined,
    'one call',
  ) as never;
}
