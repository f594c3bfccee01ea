const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
export type StopSignal = (typeof SIGNALS)[number];

/** What a process that ended by a signal has as its exit status. */
export const STATUS_OF: Readonly<Record<StopSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

/** Whether the program was asked to end. */
export interface StopRequest {
  readonly signal: StopSignal | undefined;
}

/**
 * Runs work that looks now and then whether it is to stop: at the first Ctrl-C (or SIGTERM), which `onSignal` hears of. The second ends the process as if nobody had listened.
 */
export async function untilSignal<T>(
  onSignal: () => void,
  work: (request: StopRequest) => Promise<T>,
): Promise<T> {
  const request: { signal: StopSignal | undefined } = { signal: undefined };
  const hear = (signal: StopSignal): void => {
    if (request.signal === undefined) {
      request.signal = signal;
      onSignal();
      return;
    }
    listen('off');
    process.kill(process.pid, signal);
  };
  const listen = (how: 'on' | 'off'): void => {
    for (const signal of SIGNALS) process[how](signal, hear);
  };
  listen('on');
  try {
    return await work(request);
  } finally {
    listen('off');
  }
}
