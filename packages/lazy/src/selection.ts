import type { VectorExpr } from '@mercer/formula';
import {
  emitSelection,
  emitSelectionCounts,
  planSelection,
  type KernelProgram,
  type SelectionPlan,
} from '@mercer/kernels';
import type { Stream, Tensor } from '@mercer/tensor';
import { launchProgram, loadProblem, type LoadedProgram } from '@mercer/tensor/operation';
import { storageOf, type launchArguments } from './call.js';
import type { CallOptions, PlacedCall } from './execute.js';
import { translated } from './lazy-error.js';

/** The kernels of a selection on their device. */
export interface LoadedSelection {
  readonly counts: LoadedProgram<SelectionPlan>;
  readonly pairs: LoadedProgram<SelectionPlan>;
}

/**
 * Plans a selection of pairs for these sizes and loads its kernels. The first formula says which pairs, the second, if any,
 * what is written for them.
 *
 * @throws LazyError UNSUPPORTED where there is no kernel for it; the compiler's or the loader's error
 */
export async function loadSelection(
  what: string,
  formulas: readonly VectorExpr[],
  axis: 0 | 1,
  { shape, bound }: PlacedCall,
  { debug, signal, ranges }: CallOptions,
): Promise<LoadedSelection> {
  const { device, dtype, rowsI, rowsJ, batch } = shape;
  const [mask, values] = formulas;
  if (mask === undefined) throw new Error('a selection has a mask');
  const storage = storageOf(bound);
  const sizes = [rowsI, rowsJ, batch, axis, ranges !== undefined].join(' ');
  const ids = formulas.map(({ id }) => id).join(' ');
  const key = `${dtype} ${sizes} ${ids} ${JSON.stringify(storage)}`;
  const plan = (limits: Parameters<typeof planSelection>[1]): SelectionPlan =>
    translated(what, () =>
      planSelection(
        {
          mask,
          axis,
          dtype,
          storage,
          rowsI,
          rowsJ,
          batch,
          ranges: ranges !== undefined,
          ...(values !== undefined && { values }),
        },
        limits,
      ),
    );
  const loaded = await loadProblem(
    device,
    {
      // The formulas are held, so that their ids, which are in the key, are not given to others.
      key: `selection ${key}`,
      holds: formulas,
      plan,
      emit: emitBoth,
    },
    { debug, signal, values: rowsI * rowsJ * batch },
  );
  const { counts, pairs } = loaded.program as SelectionProgram;
  const at = counts.steps.length;
  return {
    counts: { ...loaded, program: counts, steps: loaded.steps.slice(0, at) },
    pairs: { ...loaded, program: pairs, steps: loaded.steps.slice(at) },
  };
}

/** What counts pairs and what writes them: loaded together, since only by one executor they find the same pairs. */
interface SelectionProgram extends KernelProgram {
  readonly counts: KernelProgram;
  readonly pairs: KernelProgram;
}

function emitBoth(plan: SelectionPlan): SelectionProgram {
  const [counts, pairs] = [emitSelectionCounts(plan), emitSelection(plan)];
  return { counts, pairs, steps: [...counts.steps, ...pairs.steps], workspaceBytes: () => 0 };
}

/** Enqueues a kernel of a selection, with what it reads and writes beside the inputs. */
export function launchSelection(
  loaded: LoadedProgram<unknown>,
  stream: Stream,
  { pointers, scalars }: ReturnType<typeof launchArguments>,
  others: Readonly<Record<string, Tensor | undefined>>,
): void {
  const given = Object.entries(others).flatMap(([name, one]) =>
    one ? [[name, one] as const] : [],
  );
  launchProgram(loaded, stream, { ...pointers, ...Object.fromEntries(given) }, scalars);
}
