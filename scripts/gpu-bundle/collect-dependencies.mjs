// Which installed third-party packages a set of packages needs at run time, and where each goes in a flat node_modules.
import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { readJson } from '../lib/workspace.mjs';

/** Packages that a dependency names but that nothing in the bundle loads. */
const UNUSED = new Set(['lightningcss', '@oxc-project/types']);

/**
 * Looks a package up the way Node does: node_modules of the folder and of every folder above.
 * @param {string} name @param {string} from
 */
function locate(name, from) {
  for (let folder = from; ; folder = path.dirname(folder)) {
    const candidate = path.join(folder, 'node_modules', name);
    if (existsSync(path.join(candidate, 'package.json'))) return realpathSync(candidate);
    if (folder === path.dirname(folder)) return undefined;
  }
}

/** @param {any} manifest @param {readonly string[]} cpuAndOs */
function fits(manifest, cpuAndOs) {
  const [os, cpu, libc] = cpuAndOs;
  const allows = (
    /** @type {string[] | undefined} */ list,
    /** @type {string | undefined} */ value,
  ) => !list || list.includes(String(value));
  return allows(manifest.os, os) && allows(manifest.cpu, cpu) && allows(manifest.libc, libc);
}

/**
 * @typedef {{ name: string, version: string, source: string, target: string }} Placement
 * @param {{ name: string, from: string }[]} wanted where to start: a package's name and the folder that asks for it
 * @returns {Placement[]} target is relative to the bundle's root
 */
export function collectDependencies(wanted) {
  /** @type {Map<string, Placement>} */
  const placed = new Map();
  const queue = wanted.map(({ name, from }) => ({ name, from, parent: '', optional: false }));
  for (let request = queue.shift(); request; request = queue.shift()) {
    const { name, from, parent, optional } = request;
    if (name.startsWith('@mercer/') || UNUSED.has(name)) continue;
    const source = locate(name, from);
    if (!source) {
      if (optional) continue;
      throw new Error(`${name}, needed by ${from}, is not installed. Run: pnpm install`);
    }
    const manifest = readJson(path.join(source, 'package.json'));
    if (!fits(manifest, ['linux', 'x64', 'glibc'])) continue;
    const flat = path.join('node_modules', name);
    const existing = placed.get(flat);
    const target = existing && existing.source !== source ? path.join(parent, flat) : flat;
    if (placed.get(target)?.source === source) continue;
    placed.set(target, { name, version: manifest.version, source, target });
    const optionalPeers = manifest.peerDependenciesMeta ?? {};
    for (const dependency of Object.keys(manifest.dependencies ?? {})) {
      queue.push({ name: dependency, from: source, parent: target, optional: false });
    }
    for (const dependency of Object.keys(manifest.optionalDependencies ?? {})) {
      queue.push({ name: dependency, from: source, parent: target, optional: true });
    }
    for (const peer of Object.keys(manifest.peerDependencies ?? {})) {
      if (optionalPeers[peer]?.optional) continue;
      queue.push({ name: peer, from: source, parent: target, optional: false });
    }
  }
  return [...placed.values()].sort((a, b) => a.target.localeCompare(b.target));
}
