#!/usr/bin/env node
// The command's entry. It is committed so that package managers can link it before the first build.
import { existsSync } from 'node:fs';

const main = new URL('../dist/main.js', import.meta.url);
if (existsSync(main)) {
  await import(main.href);
} else {
  process.stderr.write(
    'error: mercer is not built yet. Run `npm run build` in the root of the checkout, then try again.\n',
  );
  process.exitCode = 1;
}
