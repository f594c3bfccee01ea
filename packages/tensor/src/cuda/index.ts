export {
  enqueueNative,
  hostRegionOf,
  nativeStream,
  regionOf,
  runNative,
  type HostRegion,
  type NativeStreams,
  type NativeWork,
} from './native-work.js';
