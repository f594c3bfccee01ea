export interface ScriptResult {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}
/** Runs a module text as its own process; `mercer` in it is the built package. */
export function runScript(
  body: string,
  env?: Record<string, string | undefined>,
  nodeOptions?: readonly string[],
): Promise<ScriptResult>;
