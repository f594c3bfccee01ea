/** In the place of bundle/kernel-bundles.ts and its neighbours: bundles of kernels are files. */
export class KernelBundles {
  folders = (): readonly string[] => [];
  hasTarget = (): boolean => false;
  has = (): Promise<boolean> => Promise.resolve(false);
  read = (): Promise<undefined> => Promise.resolve(undefined);
}

export const bundleFolders = (): readonly string[] => [];
export const bundlePackages = bundleFolders;
export const exportBundles = (): Promise<readonly never[]> => Promise.resolve([]);
