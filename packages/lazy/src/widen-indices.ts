import { emitCopy, planCopy } from '@mercer/kernels';
import type { Device, LoadOptions, Stream } from '@mercer/tensor';
import { launchProgram, loadPlan } from '@mercer/tensor/operation';
import type { CallResults } from './results.js';

/** Enqueues what turns the row numbers that kernels wrote into those of the results, and returns the memory of the first. */
export type Widening = (results: CallResults, stream: Stream) => void;

/**
 * Loads the copy from int32 to int64, so that a prepared call can do it without waiting. Both sides are row-major.
 *
 * @throws the compiler's or the loader's error
 */
export async function loadWidening(
  device: Device,
  { debug, signal }: LoadOptions,
): Promise<Widening> {
  const { plan } = planCopy({
    from: 'int32',
    to: 'int64',
    shape: [1],
    srcStrides: [1],
    dstStrides: [1],
  });
  const loaded = await loadPlan(
    device,
    plan,
    (of) => ({ steps: [{ kernel: emitCopy(of, device.kind) }], workspaceBytes: () => 0 }),
    { debug, signal },
  );
  return ({ written, wanted }, stream) => {
    for (const [place, { index: to }] of wanted.entries()) {
      const from = written[place]?.index;
      if (from === undefined || to === undefined || from === to) continue;
      if (to.size > 0) launchProgram(loaded, stream, { src: from, dst: to }, { count: to.size });
      from.dispose();
    }
  };
}
