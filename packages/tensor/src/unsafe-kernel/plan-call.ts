import type { DType, Scalars } from '@mercer/kernels';
import { describeValue } from '@mercer/options';
import { checkShape, sizeOfShape } from '../checked-size.js';
import type { DeviceLike } from '../device.js';
import type { DeviceCore } from '../device-core.js';
import { deviceCore } from '../devices.js';
import { MercerError } from '../mercer-error.js';
import { CallSteps, pointerAt, type CallView } from '../operation/call-steps.js';
import type { CallPlan } from '../operation/operation.js';
import { coreOf } from '../operations.js';
import { assertNoOverlap } from '../overlap.js';
import { readOptions } from '../read-options.js';
import { assertTensor, isTensor, type Tensor } from '../tensor.js';
import { checkOut, commonDevice } from '../tensor-checks.js';
import { geometryScalars } from './call-geometry.js';
import type { UnsafeExtents } from './definition.js';
import type { ReadDefinition } from './read-definition.js';

/** What a call is given, in the order of the parameters. */
export interface UnsafeCallArguments {
  readonly inputs: readonly Tensor[];
  readonly scalars: Scalars;
  readonly outs: readonly (Tensor | undefined)[];
}

/** What is to be done for a call: copies of inputs that are not row-major, and the kernel. @throws MercerError */
export function planCall(
  definition: ReadDefinition,
  call: UnsafeCallArguments,
  where: DeviceLike | undefined,
): CallPlan {
  const { name, inputs, outputs } = definition;
  checkGiven(definition, call);
  const device = deviceOf(name, call, where);
  const kernel = definition.kernels[device.kind];
  if (kernel === undefined) {
    throw new MercerError(
      'UNSUPPORTED',
      `${name}: it has no text for the CPU, where this call would run. Give unsafeKernel a cpu text beside the cuda text, or move the tensors to a GPU.`,
    );
  }
  const tensors = { inputs: call.inputs, outs: call.outs };
  const { extents } = sizesOf(definition, call);
  const steps = new CallSteps(device, tensors);
  const read = inputs.map(({ name }, at): readonly [string, CallView] => [
    name,
    call.inputs[at]?.isContiguous === true ? steps.input(at) : steps.rowMajorCopy(at),
  ]);
  const written = outputs.map(({ name, dtype }, at): readonly [string, CallView] => {
    const { shape } = extents[name] as UnsafeExtents;
    checkOutput(definition, call, at, { shape, dtype, device });
    return [name, steps.result({ shape, dtype })];
  });
  steps.addKernel(name, kernel, {
    values: Math.max(1, ...Object.values(extents).map(({ size }) => size)),
    pointers: Object.fromEntries(
      [...read, ...written].map(([name, view]) => [name, pointerAt(view)]),
    ),
    scalars: numbersOf(definition, call, device),
  });
  if (definition.scalars.length === 0) return { tensors, steps };
  const scalars = (_: unknown, [again]: readonly [UnsafeCallArguments]): Scalars =>
    numbersOf(definition, again, device);
  return { tensors, steps, scalars };
}

/** All numbers of a call: its scalars, what follows from them, and its geometry. @throws MercerError */
function numbersOf(
  definition: ReadDefinition,
  call: UnsafeCallArguments,
  { limits }: DeviceCore,
): Scalars {
  const { extents, sizes } = sizesOf(definition, call);
  const numbers = { ...call.scalars, ...sizes };
  const launch = definition.launchOf({ ...extents, ...numbers });
  return { ...numbers, ...geometryScalars(definition.name, launch, limits) };
}

/** What tells a call from others whose tensors lie alike: shapes that may depend on scalars. Undefined for a call that the checks refuse. */
export function keyOf(definition: ReadDefinition, call: UnsafeCallArguments): string | undefined {
  const { inputs, scalars, outs } = call;
  const isRefused =
    ![...inputs, ...outs.filter((out) => out !== undefined)].every(isTensor) ||
    !Object.values<unknown>(scalars).every((one) => typeof one === 'number');
  if (isRefused) return undefined;
  if (definition.scalars.length === 0 || definition.sizesOf === undefined) return '';
  const { extents } = sizesOf(definition, call);
  return definition.outputs.map(({ name }) => extents[name]?.shape.join()).join(';');
}

const made = new WeakMap<UnsafeCallArguments, ReturnType<typeof derivedOf>>();

/** Extents of all tensors, and the parameters that are sizes: the rule is called once for a call. */
function sizesOf(
  definition: ReadDefinition,
  call: UnsafeCallArguments,
): ReturnType<typeof derivedOf> {
  const found = made.get(call) ?? derivedOf(definition, call);
  made.set(call, found);
  return found;
}

function checkGiven({ name, inputs, outputs }: ReadDefinition, call: UnsafeCallArguments): void {
  for (const [at, { name: input, dtype }] of inputs.entries()) {
    const one = call.inputs[at];
    assertTensor(one, `${name}: ${input}`);
    if (one.dtype === dtype) continue;
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${name}: ${input} is ${one.label} and the kernel reads ${dtype}. Call cast('${dtype}') first.`,
    );
  }
  for (const [scalar, value] of Object.entries<unknown>(call.scalars)) {
    if (typeof value === 'number') continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${name}: ${scalar} is ${describeValue(value)}. Pass a number.`,
    );
  }
  for (const [at, out] of call.outs.entries()) {
    if (out !== undefined) assertTensor(out, `${name}: out for ${outputs[at]?.name}`);
  }
}

function deviceOf(
  name: string,
  { inputs, outs }: UnsafeCallArguments,
  where: DeviceLike | undefined,
): DeviceCore {
  const all = [...inputs, ...outs.flatMap((out) => out ?? [])];
  if (all.length === 0) return deviceCore(where);
  const device = commonDevice(all, name);
  if (where !== undefined && deviceCore(where) !== device) {
    throw new MercerError(
      'DEVICE_MISMATCH',
      `${name}: ${all[0]?.label} and the option device is ${deviceCore(where).id}. Leave device out, or move the tensors there.`,
    );
  }
  return coreOf(device);
}

function derivedOf(
  { name, inputs, outputs, sizes, sizesOf }: ReadDefinition,
  call: UnsafeCallArguments,
): { readonly extents: Readonly<Record<string, UnsafeExtents>>; readonly sizes: Scalars } {
  const read = inputs.map(({ name }, at) => [name, extentsOf(call.inputs[at]?.shape ?? [])]);
  const given = Object.fromEntries(read) as Record<string, UnsafeExtents>;
  const known = [...outputs, ...sizes].map((one) => one.name);
  const names = Object.fromEntries(known.map((one) => [one, true as const]));
  const derived = sizesOf?.({ ...given, ...call.scalars });
  if (sizesOf !== undefined && typeof derived !== 'object') {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${name}: sizes gave ${describeValue(derived)}. Give an object with ${known.join(', ')}.`,
    );
  }
  const rules = readOptions<object>(`${name}: sizes`, derived, names) as Readonly<
    Record<string, unknown>
  >;
  const written = outputs.map(({ name: output }, at) => {
    const shape = rules[output] ?? call.outs[at]?.shape;
    if (shape !== undefined) {
      return [output, extentsOf(checkShape(shape as readonly number[], `${name}: ${output}`))];
    }
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${name}: the shape of ${output} is not known. Give it in sizes, or pass an out.`,
    );
  });
  return {
    extents: { ...given, ...(Object.fromEntries(written) as Record<string, UnsafeExtents>) },
    // numbers that do not fit their types are refused where they are packed
    sizes: Object.fromEntries(sizes.map((one) => [one.name, rules[one.name] as number])),
  };
}

const extentsOf = (shape: readonly number[]): UnsafeExtents =>
  Object.freeze({ shape: Object.freeze([...shape]), size: sizeOfShape(shape) });

function checkOutput(
  { name, outputs }: ReadDefinition,
  { inputs, outs }: UnsafeCallArguments,
  at: number,
  expected: Parameters<typeof checkOut>[1] & { readonly dtype: DType },
): void {
  const out = outs[at];
  if (out === undefined) return;
  const what = `${name}: ${outputs[at]?.name}`;
  checkOut(out, expected, inputs, what);
  assertNoOverlap(
    out,
    [],
    what,
    outs.slice(0, at).flatMap((one) => one ?? []),
  );
  if (out.isContiguous) return;
  throw new MercerError(
    'NOT_CONTIGUOUS',
    `${what}: out is ${out.label} with strides [${out.strides.join(', ')}], and kernels of users write row-major memory. Pass a row-major tensor and copy it with copyFrom.`,
  );
}
