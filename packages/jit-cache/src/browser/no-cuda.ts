/** In the place of toolchains/nvrtc.ts. */
export { noCuda as nvrtcToolchain } from '@mercer/options/browser';
