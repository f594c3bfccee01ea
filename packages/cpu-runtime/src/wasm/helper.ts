/** What a helper is started with: the same module, the memory that it shares, and the end of its own stack there. */
export interface HelperStart {
  readonly module: object;
  readonly memory: object;
  readonly stack: number;
}

/** What the place where the module runs has of threads. */
export interface WasmHost {
  /** Threads that run side by side, the caller's among them. One needs no shared memory. */
  readonly cores: number;
  /** Whether the calling thread may sleep until memory changes, as that of a page may not. */
  readonly maySleep: boolean;
  /** Calls the function of this text in a thread that keeps no program alive. May throw where there are none. */
  startHelper(text: string, start: HelperStart): void;
}

/**
 * A function as a text, because bundlers do not find the file of a worker in a package. It runs chunks of work (`help` in
 * native/wasm/team.cc) until its thread is ended. The error of one is told to the launching thread, which throws its own.
 */
export const HELPER = `(({ module, memory, stack }) => {
  const none = () => 52;
  const refuse = () => { throw new Error('refused'); };
  const { exports } = new WebAssembly.Instance(module, {
    env: { memory },
    mercer: { fail: refuse, start_helper: refuse },
    wasi_snapshot_preview1: { fd_close: none, fd_seek: none, fd_write: none },
  });
  exports.__stack_pointer.value = stack;
  try {
    exports.help();
  } catch {
    exports.helper_failed();
  }
})`;
