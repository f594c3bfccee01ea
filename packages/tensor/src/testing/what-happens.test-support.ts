import { MercerError, startProfile } from '../index.js';

/** How many kernels `work` launches. */
export async function launches(work: () => Promise<unknown>): Promise<number> {
  const profile = startProfile();
  await work();
  return (await profile.stop()).length;
}

/** What `work` says is wrong. */
export async function said(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof MercerError)) throw error;
    return `${error.code} ${error.message.replaceAll(/#\d+/g, '#n')}`;
  }
  return 'nothing';
}
