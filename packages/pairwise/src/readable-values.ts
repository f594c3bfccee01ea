import type { Tensor, WorkOptions } from '@mercer/tensor';
import { readableParameter } from './kernel-parameter.js';
import type { NamedValue, PairwiseSpec } from './pairwise-spec.js';
import { readableScale, type ScaleHome } from './row-scale.js';
import type { ParameterValue } from './run-kernel-options.js';

/**
 * The same call with copies of those tensors that a kernel cannot read as they lie; they are pushed to `copies`.
 *
 * @throws MercerError as `bindParameter` does, before anything is copied for the tensor at fault
 */
export async function readableValues(
  spec: PairwiseSpec,
  home: ScaleHome,
  copies: Tensor[],
  options: WorkOptions,
): Promise<PairwiseSpec> {
  const read = (label: string, value: ParameterValue): Promise<ParameterValue> =>
    readableParameter(spec.what, label, value, home, copies, options);
  const { diagonal, rows } = spec;
  const parameters: NamedValue[] = [];
  // One after the other: a failure finds every copy made so far in the list.
  for (const named of spec.parameters) {
    parameters.push({ ...named, value: await read(named.label, named.value) });
  }
  const regularization = diagonal && {
    ...diagonal,
    value: await read('regularization', diagonal.value),
  };
  const scale = rows?.scale;
  const readable = scale && (await readableScale(spec.what, scale, home, copies, options));
  return {
    ...spec,
    parameters,
    diagonal: regularization,
    rows: rows && { ...rows, scale: readable },
  };
}
