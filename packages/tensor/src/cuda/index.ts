export {
  enqueueNative,
  hostRegionOf,
  nativeStream,
  NativeTurn,
  regionOf,
  runNative,
  type HostRegion,
  type NativeStreams,
  type NativeWork,
} from './native-work.js';
export { productWorkspace } from './product-workspace.js';
