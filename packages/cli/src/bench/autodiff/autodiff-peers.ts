import { runPeerScript, type PeerAnswer } from '../peer-script.js';
import { SIZES, type AutodiffName, type AutodiffRow } from './autodiff-row.js';

/** What the peers' process said of derivatives. */
export interface AutodiffPeers extends PeerAnswer {
  readonly rows: readonly AutodiffRow[];
}

const LIBRARIES = ['torch', 'jax'] as const;

/**
 * Times torch and JAX on the same problems and device, each in a process of its own: what CUDA libraries they bring may differ. What
 * fails is reported and never thrown.
 */
export async function measureAutodiffPeers(
  python: string,
  device: { readonly id: string; readonly kind: 'cpu' | 'cuda' },
  names: readonly AutodiffName[],
): Promise<AutodiffPeers> {
  let all: AutodiffPeers = { versions: {}, rows: [], missing: [] };
  for (const library of LIBRARIES) {
    const { versions, missing, rows } = await runPeerScript<'rows', AutodiffRow>(python, {
      script: 'autodiff.py',
      setUp: { library, device: device.id, names, sizes: SIZES[device.kind] },
      rows: 'rows',
    });
    const named = rows.filter(({ operation }) => names.includes(operation));
    all = {
      versions: { ...all.versions, ...versions },
      rows: [...all.rows, ...named],
      missing: [...all.missing, ...missing],
    };
  }
  return all;
}
