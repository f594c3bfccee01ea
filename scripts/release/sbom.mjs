// The components of a release, as CycloneDX: every package with the hash of its tarball, what it depends on, and what it carries of other
// projects. Same tarballs, same bytes: no time and no random number is in it.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { Enums, Models, Serialize, Spec } from '@cyclonedx/cyclonedx-library';
import { run } from '../lib/shell.mjs';
import { aboutPart, partsOf } from './third-party.mjs';

const purlOf = (/** @type {string} */ name, /** @type {string} */ version) =>
  `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** @returns {Models.Component} */
function component(
  /** @type {string} */ name,
  /** @type {string | undefined} */ version,
  /** @type {string} */ license,
  /** @type {string | undefined} */ purl,
) {
  const [, group, inner = name] = /^(@[^/]+)\/(.*)$/.exec(name) ?? [];
  return new Models.Component(Enums.ComponentType.Library, inner, {
    ...(group && { group }),
    ...(version && { version }),
    ...(purl && { purl }),
    bomRef: purl ?? `${name}${version ? `@${version}` : ''}`,
    licenses: new Models.LicenseRepository(
      license.startsWith('LicenseRef-')
        ? [new Models.NamedLicense(license.slice('LicenseRef-'.length))]
        : [new Models.LicenseExpression(license)],
    ),
  });
}

/**
 * @param {readonly { name: string, tarball: string }[]} packed
 * @param {string} file to be written
 */
export function writeSbom(packed, file) {
  const bom = new Models.Bom();
  const made = packed.map(({ tarball }) => {
    const manifest = JSON.parse(run('tar', ['-xzOf', tarball, 'package/package.json']));
    const { name, version, license } = manifest;
    const one = component(name, version, license, purlOf(name, version));
    const sum = createHash('sha512').update(readFileSync(tarball)).digest('hex');
    one.hashes.set(Enums.HashAlgorithm['SHA-512'], sum);
    for (const part of partsOf(name)) {
      const purl = part.npm && part.version ? purlOf(part.name, part.version) : undefined;
      const inner = component(part.name, part.version, part.license, purl);
      inner.bomRef.value = `${one.bomRef.value}#${inner.bomRef.value}`;
      inner.description = aboutPart(part);
      one.components.add(inner);
    }
    bom.components.add(one);
    return { one, manifest };
  });
  const byName = new Map(made.map(({ one, manifest }) => [manifest.name, one]));
  for (const { one, manifest } of made) {
    const { dependencies, peerDependencies, optionalDependencies } = manifest;
    const all = { ...dependencies, ...peerDependencies, ...optionalDependencies };
    for (const [name, range] of Object.entries(all)) {
      let other = byName.get(name);
      // Of another project, of which users install what the range admits.
      if (!other && dependencies?.[name]) {
        other = new Models.Component(Enums.ComponentType.Library, name, {
          version: String(range),
          bomRef: purlOf(name, String(range)),
          purl: purlOf(name, String(range)),
        });
        byName.set(name, other);
        bom.components.add(other);
      }
      if (other) one.dependencies.add(other.bomRef);
    }
  }
  const serializer = new Serialize.JsonSerializer(
    new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6),
  );
  writeFileSync(file, `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`);
}
