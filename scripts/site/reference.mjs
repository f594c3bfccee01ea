// Pages that list what each package exports. They link to typedoc's pages, and the site's search finds their headings.
import { workspacePackages } from '../lib/workspace.mjs';

/**
 * @typedef {object} ApiName
 * @property {string} pack   name of the package
 * @property {string} name   with the namespaces before it
 * @property {string} kind
 * @property {string} url    of its page, below /api/
 * @property {string} sentence  the first one of its comment, in Markdown
 */

const GROUPS = [
  // Operations are values with a call and a `prepare`, so both kinds are listed together.
  { title: 'Functions and values', kinds: ['Function', 'Variable'] },
  { title: 'Classes', kinds: ['Class'] },
  { title: 'Types', kinds: ['Interface', 'Type Alias'] },
];

/** @param {string} text that may hold signs of HTML and Vue outside code */
const plain = (text) =>
  text
    .split(/(`[^`]*`)/)
    .map((part) =>
      part.startsWith('`')
        ? part
        : part.replaceAll(/[<>{}]/g, (sign) => `&#${sign.charCodeAt(0)};`),
    )
    .join('');

/**
 * @param {readonly ApiName[]} names
 * @param {(file: string, text: string) => string} withLinks changes the links of a text that stands in a file
 * @returns {{ page: string, text: string }[]} a page for each package, and one that names them
 */
export function referencePages(names, withLinks) {
  const packages = workspacePackages().map(({ name, folder, manifest }) => ({
    name,
    folder,
    description: String(manifest.description),
    exports: names.filter(({ pack }) => pack === name || pack.startsWith(`${name}/`)),
  }));
  const listed = packages.filter((one) => one.exports.length > 0);
  const pages = listed.map(({ name, folder, description, exports }) => ({
    page: `reference/${folder}.md`,
    text: [
      '---\npageClass: names\n---',
      `# API of ${name}`,
      `${description}. [Its description](/packages/${folder}/) has examples.`,
      ...GROUPS.flatMap(({ title, kinds }) => {
        const own = exports
          .filter(({ kind }) => kinds.includes(kind))
          .sort((a, b) => a.name.localeCompare(b.name, 'en'));
        return own.length === 0
          ? []
          : [
              `## ${title}`,
              // vitepress' search takes a heading with a link for one without words
              ...own.map(
                (one) =>
                  `### ${one.name}\n\n${withLinks(`packages/${folder}/src/index.ts`, plain(one.sentence))} [Details](/api/${one.url})`,
              ),
            ];
      }),
    ].join('\n\n'),
  }));
  const index = {
    page: 'reference/index.md',
    text: [
      '# API',
      'Import from `@mercer/core`: it exports what users need of all packages. The packages tell where a name is described.',
      '| package | names | about |\n| --- | --- | --- |\n' +
        listed
          .map(
            ({ name, folder, description, exports }) =>
              `| [${name}](/reference/${folder}.html) | ${exports.length} | ${description} |`,
          )
          .join('\n'),
      'The search of this site finds every name. [The pages behind it](/api/index.html) have one for each name.',
    ].join('\n\n'),
  };
  return [index, ...pages];
}
