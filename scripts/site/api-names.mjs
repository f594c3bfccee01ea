// A plugin of typedoc: writes what each package exports, with its kind, address and first sentence, to build/api-names.json. The site's
// search and its list of names are made of it.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { PageEvent, ReflectionKind, Renderer } from 'typedoc';
import { root } from '../lib/workspace.mjs';

const KINDS =
  ReflectionKind.Function |
  ReflectionKind.Class |
  ReflectionKind.Interface |
  ReflectionKind.TypeAlias |
  ReflectionKind.Variable;

/**
 * @param {import('typedoc').DeclarationReflection} reflection
 * @returns {string} the first sentence of its comment, as one line of Markdown
 */
function firstSentence(reflection) {
  const comment = reflection.comment ?? reflection.signatures?.[0]?.comment;
  const text = (comment?.summary ?? [])
    .map((part) => ('target' in part ? `\`${part.text}\`` : part.text))
    .join('')
    .split('\n\n')[0]
    ?.replaceAll(/\s+/g, ' ')
    .trim();
  const sentence = /^.*?\.(?= |$)/.exec(text ?? '')?.[0] ?? text ?? '';
  return sentence.replace(/:$/, '.');
}

/** @param {import('typedoc').Reflection | undefined} reflection @returns {string[]} names of the modules around it */
function modulesOf(reflection) {
  if (!reflection || reflection.isProject()) return [];
  return [...modulesOf(reflection.parent), reflection.name];
}

/** @param {import('typedoc').Application} app */
export function load(app) {
  /** @type {import('./reference.mjs').ApiName[]} */
  const names = [];
  app.renderer.on(PageEvent.END, (/** @type {PageEvent<any>} */ { model, url }) => {
    if (!model?.kindOf?.(KINDS)) return;
    const [pack = '', ...inside] = modulesOf(model.parent);
    const kind = ReflectionKind.singularString(model.kind);
    // A package with several entries has its main one as a module of the name index.
    const name = [...inside, model.name].join('.').replace(/^index\./, '');
    names.push({ pack, name, kind, url, sentence: firstSentence(model) });
  });
  app.renderer.on(Renderer.EVENT_END, () => {
    writeFileSync(path.join(root, 'build/api-names.json'), JSON.stringify(names));
  });
}
