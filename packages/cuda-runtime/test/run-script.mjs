// Runs an ES module as its own process, for tests about loading, ending and leaking.
import { spawn } from 'node:child_process';

const entry = new URL('../dist/index.js', import.meta.url).href;

/**
 * @param {string} body module text; `mercer` is the built package
 * @param {Record<string, string | undefined>} [env] added to a clean environment
 * @param {readonly string[]} [nodeOptions]
 */
export function runScript(body, env = {}, nodeOptions = []) {
  const text = `const mercer = await import(${JSON.stringify(entry)});\n${body}`;
  const args = [...nodeOptions, '--input-type=module', '-e', text];
  const clean = { PATH: process.env.PATH, HOME: '/nonexistent', ...env };
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { env: clean });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (data) => (stdout += data));
    child.stderr.on('data', (data) => (stderr += data));
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}
