/** The platform's three words as the loaders spell them: linux, x64, gnu. */
export function currentPlatform() {
  const { platform, arch } = process;
  if (platform !== 'linux')
    return { platform, arch, libc: undefined, suffix: `${platform}-${arch}` };
  const header = /** @type {any} */ (process.report.getReport()).header;
  const libc = header.glibcVersionRuntime ? 'gnu' : 'musl';
  return { platform, arch, libc, suffix: `${platform}-${arch}-${libc}` };
}
