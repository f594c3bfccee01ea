import { runPeerScript, type PeerAnswer } from '../peer-script.js';
import { SIZES, type AutodiffName, type AutodiffRow } from './autodiff-row.js';

/** What the peers' process said of derivatives. */
export interface AutodiffPeers extends PeerAnswer {
  readonly rows: readonly AutodiffRow[];
}

/** Times torch and JAX on the same problems and device in a process of their own. What fails is reported and never thrown. */
export async function measureAutodiffPeers(
  python: string,
  device: { readonly id: string; readonly kind: 'cpu' | 'cuda' },
  names: readonly AutodiffName[],
): Promise<AutodiffPeers> {
  const { versions, missing, rows } = await runPeerScript<'rows', AutodiffRow>(python, {
    script: 'autodiff.py',
    setUp: { device: device.id, names, sizes: SIZES[device.kind] },
    rows: 'rows',
  });
  return { versions, rows: rows.filter(({ operation }) => names.includes(operation)), missing };
}
