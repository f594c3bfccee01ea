import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { withTemporaryFolder } from '../files/with-temporary-folder.js';
import { packageRoot } from '../package-root.js';
import { CALL_NAMES, type CallName, type HostTimes } from './calls.js';

/** Host time of another library's call. */
export interface PeerCall extends HostTimes {
  readonly call: CallName;
  readonly peer: string;
}

/** What the peers' process said of calls. */
export interface PeerCalls {
  readonly versions: Readonly<Record<string, string>>;
  readonly calls: readonly PeerCall[];
  /** Why something is missing, where it is. */
  readonly missing: readonly string[];
}

const SCRIPT = fileURLToPath(new URL('peers/calls.py', packageRoot));
const LONGEST_MS = 300_000;

/** Times the peers' calls on the same problems and device in a process of their own. What fails is reported and never thrown. */
export async function measurePeerCalls(
  python: string,
  device: string,
  keopsPath: string | undefined,
): Promise<PeerCalls> {
  const setUp = JSON.stringify({ device, keopsPath: keopsPath ?? null });
  try {
    const { stdout } = await withTemporaryFolder('mercer-calls-', (folder) =>
      promisify(execFile)(python, [SCRIPT, setUp], {
        timeout: LONGEST_MS,
        // a peer's own cache of compiled kernels touches nobody's, unless one is named
        env: { KEOPS_CACHE_FOLDER: folder, ...process.env, PYKEOPS_VERBOSE: '0' },
      }),
    );
    return answerOf(stdout) ?? nothing(`${python} gave no answer`);
  } catch (error) {
    const { stdout = '' } = Object(error) as { readonly stdout?: string };
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    const fault = `${python}: ${reason}`;
    const answer = answerOf(stdout);
    return answer ? { ...answer, missing: [...answer.missing, fault] } : nothing(fault);
  }
}

const nothing = (why: string): PeerCalls => ({ versions: {}, calls: [], missing: [why] });

/** What the last line of its output says, also of a process that came to its end before it was done. */
function answerOf(stdout: string): PeerCalls | undefined {
  const line = stdout
    .trim()
    .split('\n')
    .findLast((one) => one.startsWith('{'));
  if (line === undefined) return undefined;
  const { versions, calls, missing } = JSON.parse(line) as PeerCalls;
  return { versions, calls: calls.filter(({ call }) => CALL_NAMES.includes(call)), missing };
}
