/**
 * A platform that addons are built for.
 * @typedef {object} Platform
 * @property {string} platform
 * @property {string} arch
 * @property {string | undefined} libc
 * @property {string} suffix the words as the loaders spell them
 * @property {string} build the folder of a package that holds its addon
 */

/** The platform that this runs on. @returns {Platform} */
export function currentPlatform() {
  const { platform, arch } = process;
  const build = 'build/Release';
  if (platform !== 'linux')
    return { platform, arch, libc: undefined, suffix: `${platform}-${arch}`, build };
  const header = /** @type {any} */ (process.report.getReport()).header;
  const libc = header.glibcVersionRuntime ? 'gnu' : 'musl';
  return { platform, arch, libc, suffix: `${platform}-${arch}-${libc}`, build };
}

/** What `build-native.mjs --for linux-arm64` builds for. @type {Platform} */
export const LINUX_ARM64 = {
  platform: 'linux',
  arch: 'arm64',
  libc: 'gnu',
  suffix: 'linux-arm64-gnu',
  build: 'build/linux-arm64/Release',
};
