/** Where the module of WebAssembly lies: beside this file in a checkout. What is published asks the package @mercer/cpu-runtime-wasm. */
export const builtFile = new URL('../../build/wasm/mercer_cpu.wasm', import.meta.url);
