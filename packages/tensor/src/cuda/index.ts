export {
  enqueueNative,
  nativeStream,
  regionOf,
  runNative,
  type NativeStreams,
  type NativeWork,
} from './native-work.js';
