// Runs programs of the page in a worker of their own, so that the page does not stand still: see scripts/site/runner/worker.mjs.
import { onBeforeUnmount, ref, shallowRef } from 'vue';

/** @typedef {{ level: 'log' | 'warn' | 'error', text: string }} Line */
/** @typedef {{ name: string, address: string }} Picture */

const ADDRESS = '/run/worker.js';

/** One program at a time, with what it printed and drew. */
export function useProgram() {
  const state = ref(/** @type {'idle' | 'running' | 'done' | 'failed' | 'stopped'} */ ('idle'));
  const lines = shallowRef(/** @type {readonly Line[]} */ ([]));
  const pictures = shallowRef(/** @type {readonly Picture[]} */ ([]));
  const ms = ref(0);
  /** @type {Worker | undefined} */
  let worker;

  /** @param {typeof state.value} how */
  const end = (how) => {
    worker?.terminate();
    worker = undefined;
    state.value = how;
  };
  /** @param {string} text */
  const fail = (text) => {
    lines.value = [...lines.value, { level: 'error', text }];
    end('failed');
  };
  const clear = () => {
    for (const { address } of pictures.value) URL.revokeObjectURL(address);
    lines.value = [];
    pictures.value = [];
  };

  /** @param {string} program */
  const run = (program) => {
    end('idle');
    clear();
    state.value = 'running';
    worker = new Worker(ADDRESS, { type: 'module' });
    worker.addEventListener('error', () => {
      fail('The page could not load what runs programs. Is the network there?');
    });
    worker.addEventListener('message', ({ data }) => {
      if (data.kind === 'line') lines.value = [...lines.value, data];
      else if (data.kind === 'failed') fail(data.text);
      else if (data.kind === 'picture') {
        const address = URL.createObjectURL(new Blob([data.svg], { type: 'image/svg+xml' }));
        pictures.value = [...pictures.value, { name: data.name, address }];
      } else {
        ms.value = data.ms;
        end('done');
      }
    });
    worker.postMessage(program);
  };
  const stop = () => end('stopped');
  onBeforeUnmount(() => {
    stop();
    clear();
  });
  return { state, lines, pictures, ms, run, stop };
}
