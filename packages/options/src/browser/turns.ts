const channel = new MessageChannel();
let waiting: (() => void)[] = [];

const target = channel.port1 as unknown as { onmessage: () => void };
target.onmessage = () => {
  const now = waiting;
  waiting = [];
  for (const one of now) one();
};

/** Of `node:timers`: calls it in the next turn. Timers of browsers wait four milliseconds, a message does not. */
export function setImmediate(callback: () => void): void {
  waiting.push(callback);
  if (waiting.length === 1) channel.port2.postMessage(undefined);
}
