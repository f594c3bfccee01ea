import type { WasmHost } from '../wasm/helper.js';

/** The part of a browser's globals that is used. */
declare const globalThis: {
  readonly crossOriginIsolated?: boolean;
  readonly document?: object;
  readonly navigator?: { readonly hardwareConcurrency?: number };
  readonly Worker?: new (
    address: string,
    options: object,
  ) => { postMessage(message: object): void };
  readonly Blob: new (parts: readonly string[], options: object) => object;
  readonly URL: { createObjectURL(blob: object): string };
};

/** A page or one of its workers: memory is shared with workers where the page is cross-origin isolated. */
export const pageHost: WasmHost = {
  cores:
    globalThis.crossOriginIsolated === true && globalThis.Worker !== undefined
      ? (globalThis.navigator?.hardwareConcurrency ?? 1)
      : 1,
  maySleep: globalThis.document === undefined,
  startHelper: (text, start) => {
    if (globalThis.Worker === undefined) return;
    const program = `onmessage = ({ data }) => ${text}(data)`;
    const blob = new globalThis.Blob([program], { type: 'text/javascript' });
    new globalThis.Worker(globalThis.URL.createObjectURL(blob), { name: 'mercer-cpu' }).postMessage(
      start,
    );
  },
};
