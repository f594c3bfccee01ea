import type { VectorExpr } from '@mercer/formula';
import {
  emitSelection,
  emitSelectionCounts,
  planSelection,
  type KernelProgram,
  type SelectionPlan,
} from '@mercer/kernels';
import {
  halfStorage,
  loadProblem,
  type CallLoadOptions,
  type LoadedProgram,
  type PairInput,
} from '@mercer/tensor/operation';
import { translated } from './lazy-error.js';
import type { PairCall } from './pair-call.js';

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
  { sizes, device }: PairCall,
  inputs: readonly (PairInput | undefined)[],
  ranges: boolean,
  options: CallLoadOptions,
): Promise<LoadedSelection> {
  const [mask, values] = formulas;
  if (mask === undefined) throw new Error('a selection has a mask');
  const { dtype, rowsI, rowsJ, batch } = sizes;
  const problem = { axis, dtype, storage: halfStorage(inputs), rowsI, rowsJ, batch, ranges };
  const loaded = await loadProblem(
    device,
    {
      // The formulas are held, so that their ids, which are in the key, are not given to others.
      key: `selection ${formulas.map(({ id }) => id).join(' ')} ${JSON.stringify(problem)}`,
      holds: formulas,
      plan: (limits): SelectionPlan =>
        translated(what, () =>
          planSelection({ ...problem, mask, ...(values !== undefined && { values }) }, limits),
        ),
      emit: emitBoth,
    },
    options,
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
