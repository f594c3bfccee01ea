import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { withTemporaryFolder } from '../files/with-temporary-folder.js';
import { packageRoot } from '../package-root.js';

/** What every script of peers says in the last line of its output. */
export interface PeerAnswer {
  readonly versions: Readonly<Record<string, string>>;
  /** Why something is missing, where it is. */
  readonly missing: readonly string[];
}

const LONGEST_MS = 300_000;

/**
 * Runs a script of peers in a process of its own and gives its answer, of which `rows` names the list. What fails is reported and
 * never thrown; what was answered before the process failed stays.
 */
export async function runPeerScript<N extends string, Row>(
  python: string,
  { script, setUp, rows }: { script: string; setUp: unknown; rows: N },
): Promise<PeerAnswer & Record<N, readonly Row[]>> {
  type Answer = PeerAnswer & Record<N, readonly Row[]>;
  const answerOf = (stdout: string) => lastObject(stdout) as Answer | undefined;
  const nothing = (why: string): Answer =>
    ({ versions: {}, [rows]: [], missing: [why] }) as unknown as Answer;
  const path = fileURLToPath(new URL(`peers/${script}`, packageRoot));
  try {
    const { stdout } = await withTemporaryFolder('mercer-peers-', (folder) =>
      promisify(execFile)(python, [path, JSON.stringify(setUp)], {
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

/** What the last line of its output says, also of a process that came to its end before it was done. */
function lastObject(stdout: string): unknown {
  const line = stdout
    .trim()
    .split('\n')
    .findLast((one) => one.startsWith('{'));
  return line === undefined ? undefined : JSON.parse(line);
}
