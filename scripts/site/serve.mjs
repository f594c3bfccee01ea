// A server of the built site for the check, on a port of this machine that is free.
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
};

/**
 * @param {string} folder
 * @param {Readonly<Record<string, string>>} [headers] of every answer
 * @returns {Promise<{ origin: string, close: () => void }>}
 */
export async function serve(folder, headers = {}) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(String(request.url), 'http://localhost');
    const named = path.join(folder, path.posix.normalize(decodeURIComponent(pathname)));
    const file = pathname.endsWith('/') ? path.join(named, 'index.html') : named;
    if (!existsSync(file) || !statSync(file).isFile()) {
      response.writeHead(404).end();
      return;
    }
    const type = TYPES[/** @type {keyof typeof TYPES} */ (path.extname(file))];
    response.writeHead(200, { 'content-type': type ?? 'application/octet-stream', ...headers });
    createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(undefined));
  });
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    origin: `http://127.0.0.1:${address.port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
