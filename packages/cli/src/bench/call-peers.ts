import { CALL_NAMES, type CallName, type HostTimes } from './calls.js';
import { runPeerScript, type PeerAnswer } from './peer-script.js';

/** Host time of another library's call. */
export interface PeerCall extends HostTimes {
  readonly call: CallName;
  readonly peer: string;
}

/** What the peers' process said of calls. */
export interface PeerCalls extends PeerAnswer {
  readonly calls: readonly PeerCall[];
}

/** Times the peers' calls on the same problems and device in a process of their own. What fails is reported and never thrown. */
export async function measurePeerCalls(
  python: string,
  device: string,
  keopsPath: string | undefined,
): Promise<PeerCalls> {
  const { versions, missing, calls } = await runPeerScript<'calls', PeerCall>(python, {
    script: 'calls.py',
    setUp: { device, keopsPath: keopsPath ?? null },
    rows: 'calls',
  });
  return { versions, calls: calls.filter(({ call }) => CALL_NAMES.includes(call)), missing };
}
