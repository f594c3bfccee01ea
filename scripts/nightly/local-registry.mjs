// A registry of packages on this machine, for installs without a network: it answers what package managers ask when they install.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { run } from '../lib/shell.mjs';

/**
 * Serves tarballs, each under the name and version that it says.
 * @param {readonly string[]} tarballs
 * @returns {Promise<{ url: string, missing: Set<string>, close: () => void }>} `missing`: what was asked for and is not there
 */
export async function serveRegistry(tarballs) {
  const packages = new Map();
  for (const file of tarballs) {
    const bytes = readFileSync(file);
    const [folder = 'package'] = run('tar', ['-tzf', file]).split('/');
    const manifest = JSON.parse(run('tar', ['-xzOf', file, `${folder}/package.json`]));
    const versions = packages.get(manifest.name) ?? new Map();
    packages.set(manifest.name, versions.set(manifest.version, { manifest, bytes }));
  }
  const missing = new Set();
  let url = '';
  const tarballUrl = (/** @type {string} */ name, /** @type {string} */ version) =>
    `${url}/${name}/-/${path.basename(name)}-${version}.tgz`;
  const hash = (/** @type {string} */ algorithm, /** @type {Buffer} */ bytes) =>
    createHash(algorithm).update(bytes);
  const server = createServer((request, response) => {
    const asked = decodeURIComponent(
      new URL(request.url ?? '', 'http://localhost').pathname.slice(1),
    );
    const [name = '', file] = asked.split('/-/');
    const versions = packages.get(name);
    const version = file?.slice(path.basename(name).length + 1, -'.tgz'.length);
    if (!versions || (version && !versions.has(version))) {
      missing.add(asked);
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not found"}');
      return;
    }
    if (version) {
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      response.end(versions.get(version).bytes);
      return;
    }
    const described = [...versions].map(([number, { manifest, bytes }]) => {
      const dist = {
        tarball: tarballUrl(name, number),
        integrity: `sha512-${hash('sha512', bytes).digest('base64')}`,
        shasum: hash('sha1', bytes).digest('hex'),
      };
      return [number, { ...manifest, dist }];
    });
    const tags = { latest: described.at(-1)?.[0] };
    const answer = { name, 'dist-tags': tags, versions: Object.fromEntries(described) };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  url = `http://127.0.0.1:${address.port}`;
  return { url, missing, close: () => server.close() };
}
