import type { BuiltinKernel, CpuGeometry, KernelParam, Scalars } from '@mercer/kernels';
import type { Tensor } from '@mercer/tensor';
import type { CallView, RoutineCall } from '@mercer/tensor/operation';
import { MOST_BATCH_AXES, type LinalgDType } from './checks.js';
import type { MatrixLayout, MatrixOperand, PlannedMatrix } from './operand.js';

/**
 * A field of a routine's arguments: a matrix by how it is accessed, `optional` for one that is written where it is wanted, memory with one element for each batch entry (`ints`
 * are int32, `reals` of the matrices' dtype), an integer or a number.
 */
export type Field =
  'read' | 'write' | 'readwrite' | 'optional' | 'ints' | 'reals' | 'integer' | 'number';

export type Fields = Readonly<Record<string, Field>>;

type ArgumentOf<F extends Field, Matrix, Ints, Reals> = F extends 'read' | 'write' | 'readwrite'
  ? Matrix
  : F extends 'optional'
    ? Matrix | undefined
    : F extends 'ints'
      ? Ints
      : F extends 'reals'
        ? Reals
        : number;

/** The arguments of a routine by name. */
export type Arguments<F extends Fields = Fields> = {
  readonly [K in keyof F]: ArgumentOf<F[K], MatrixOperand, Tensor<'int32'>, Tensor>;
};

/** The same of a call that is planned. */
export type PlannedArguments<F extends Fields = Fields> = {
  readonly [K in keyof F]: ArgumentOf<F[K], PlannedMatrix, CallView, CallView>;
};

/** A routine of the CPU's runtime: its name and its fields in the order of the native struct (native/linalg). */
export interface Routine<F extends Fields = Fields, L extends boolean = boolean> {
  readonly name: string;
  readonly fields: F;
  readonly kernels: { readonly [D in LinalgDType]: BuiltinKernel };
  /** Is it one of LAPACK's? The others are the runtime's own. */
  readonly needsLapack: L;
}

/** Elements of about this much arithmetic are claimed one at a time. */
const WORK_OF_A_TASK = 2 ** 15;

/** @param needsLapack default false */
export function defineRoutine<F extends Fields, L extends boolean = false>(
  name: string,
  fields: F,
  needsLapack: L = false as L,
): Routine<F, L> {
  const kernelFor = (dtype: LinalgDType): BuiltinKernel => ({
    dialect: 'builtin',
    name: `${name} ${dtype}`,
    entry: `${name}_${dtype}`,
    params: [
      ...batchNames.map((axis) => int64(axis)),
      ...Object.entries(fields).flatMap(([field, kind]) => paramsOf(field, kind, dtype)),
    ],
    geometry,
  });
  const kernels = { float32: kernelFor('float32'), float64: kernelFor('float64') };
  return { name, fields, kernels, needsLapack };
}

const axes = Array.from({ length: MOST_BATCH_AXES }, (_, axis) => axis);
const batchNames = axes.map((axis) => `batch${axis}`);

const int64 = (name: string): KernelParam => ({ name, kind: 'scalar', type: 'int64' });

function paramsOf(name: string, kind: Field, dtype: LinalgDType): KernelParam[] {
  switch (kind) {
    case 'integer':
      return [int64(name)];
    case 'number':
      return [{ name, kind: 'scalar', type: 'float64' }];
    case 'ints':
      return [{ name, kind: 'pointer', dtype: 'int32', access: 'write' }];
    case 'reals':
      return [{ name, kind: 'pointer', dtype, access: 'write' }];
    case 'read':
    case 'write':
    case 'readwrite':
    case 'optional':
      return [
        { name, kind: 'pointer', dtype, access: kind === 'optional' ? 'write' : kind },
        ...matrixParams(namesOf(name)).map(int64),
      ];
  }
}

/** In the order of the native struct. */
function matrixParams(names: MatrixNames): readonly string[] {
  return [names.rows, names.columns, names.rowStride, names.columnStride, ...names.strides];
}

function geometry(scalars: Scalars): CpuGeometry {
  const tasks = scalars['tasks'] ?? 0;
  const chunk = Math.max(1, Math.floor(WORK_OF_A_TASK / Math.max(1, scalars['work'] ?? 1)));
  return { tasks, chunk, scratchBytes: 0 };
}

/** The scalar parameters of a call. */
export function scalarsOf(
  { fields }: Routine,
  args: PlannedArguments,
  batchShape: readonly number[],
): Scalars {
  const scalars: Record<string, number> = {
    tasks: batchShape.reduce((product, extent) => product * extent, 1),
  };
  const first = MOST_BATCH_AXES - batchShape.length;
  batchNames.forEach((name, axis) => {
    scalars[name] = axis < first ? 1 : (batchShape[axis - first] ?? 1);
  });
  let extent = 0;
  for (const [name, kind] of Object.entries(fields)) {
    const value: PlannedArguments[string] = args[name];
    if (kind === 'integer' || kind === 'number') {
      scalars[name] = Number(value);
    } else if (kind !== 'ints' && kind !== 'reals') {
      const operand = value as MatrixLayout | undefined;
      extent = Math.max(extent, operand?.rows ?? 0, operand?.columns ?? 0);
      addMatrix(scalars, name, operand, first);
    }
  }
  scalars['work'] = extent ** 3;
  return scalars;
}

/** The memory of a planned call's arguments, by field. */
export function viewsOf(
  { fields }: Routine,
  args: PlannedArguments,
): Record<string, CallView | undefined> {
  const views: Record<string, CallView | undefined> = {};
  for (const [name, kind] of Object.entries(fields)) {
    const value: PlannedArguments[string] = args[name];
    if (kind === 'integer' || kind === 'number') continue;
    if (kind === 'ints' || kind === 'reals') views[name] = value as CallView;
    else views[name] = (value as PlannedMatrix | undefined)?.memory;
  }
  return views;
}

/** The arguments of a planned call with the tensors and the numbers of one that is enqueued. */
export function argumentsOf(
  { fields }: Routine,
  args: PlannedArguments,
  { memory, scalars }: RoutineCall,
): Arguments {
  const given: Record<string, Arguments[string]> = {};
  for (const [name, kind] of Object.entries(fields)) {
    const tensor = memory[name];
    if (kind === 'integer' || kind === 'number') given[name] = scalars[name] ?? 0;
    else if (kind === 'ints' || kind === 'reals') given[name] = tensor;
    else given[name] = tensor && { ...(args[name] as PlannedMatrix), memory: tensor };
  }
  return given;
}

function addMatrix(
  scalars: Record<string, number>,
  name: string,
  operand: MatrixLayout | undefined,
  first: number,
): void {
  const names = namesOf(name);
  scalars[names.rows] = operand?.rows ?? 0;
  scalars[names.columns] = operand?.columns ?? 0;
  scalars[names.rowStride] = operand?.rowStride ?? 0;
  scalars[names.columnStride] = operand?.columnStride ?? 0;
  names.strides.forEach((stride, axis) => {
    scalars[stride] = axis < first ? 0 : (operand?.batchStrides[axis - first] ?? 0);
  });
}

/** What the parameters of a matrix are called. */
interface MatrixNames {
  readonly rows: string;
  readonly columns: string;
  readonly rowStride: string;
  readonly columnStride: string;
  readonly strides: readonly string[];
}

/** Made once for each field: a call would spend most of its time on them. */
const matrixNames = new Map<string, MatrixNames>();

function namesOf(field: string): MatrixNames {
  let names = matrixNames.get(field);
  if (names === undefined) {
    names = {
      rows: `${field}.rows`,
      columns: `${field}.columns`,
      rowStride: `${field}.rowStride`,
      columnStride: `${field}.columnStride`,
      strides: axes.map((axis) => `${field}.stride${axis}`),
    };
    matrixNames.set(field, names);
  }
  return names;
}
