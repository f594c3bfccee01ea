// Chromium without a window. The Debian package chromium is found by itself; MERCER_CHROMIUM names another.
import { spawnSync } from 'node:child_process';
import { chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** @returns {string | undefined} where Chromium is, if it is there */
export function chromiumPath() {
  const names = process.env.MERCER_CHROMIUM ? [process.env.MERCER_CHROMIUM] : NAMES;
  return names.find((name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0);
}

/** @param {string} executable @returns {Promise<import('playwright-core').Browser>} */
export async function launch(executable) {
  const path = spawnSync('which', [executable], { encoding: 'utf8' }).stdout.trim();
  return await chromium.launch({ executablePath: path || executable, args: ['--no-sandbox'] });
}
