import { runPeerScript, type PeerAnswer } from '../peer-script.js';
import {
  CONDITION,
  HISTORY,
  MOMENTUM,
  OPTIM_SIZES,
  RATE,
  type OptimName,
  type OptimRow,
} from './optim-row.js';

/** What torch's process said of optimisers. */
export interface OptimPeers extends PeerAnswer {
  readonly rows: readonly OptimRow[];
}

/** Times torch.optim on the same problems and device, in a process of its own. What fails is reported and never thrown. */
export async function measureOptimPeers(
  python: string,
  device: { readonly id: string; readonly kind: 'cpu' | 'cuda' },
  names: readonly OptimName[],
): Promise<OptimPeers> {
  const { versions, missing, rows } = await runPeerScript<'rows', OptimRow>(python, {
    script: 'optim.py',
    setUp: {
      device: device.id,
      names,
      sizes: OPTIM_SIZES[device.kind],
      rate: RATE,
      momentum: MOMENTUM,
      history: HISTORY,
      condition: CONDITION,
    },
    rows: 'rows',
  });
  return { versions, missing, rows: rows.filter(({ operation }) => names.includes(operation)) };
}
