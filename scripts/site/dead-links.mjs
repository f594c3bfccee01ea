// Links between the pages of a site whose page or heading is not there.

const ATTRIBUTE = /\s(?:href|src)="([^"]*)"/g;
const ID = /\sid="([^"]*)"/g;

const decoded = (/** @type {string} */ text) =>
  text.replaceAll('&amp;', '&').replaceAll('&#39;', "'");

/** @param {string} html @returns {string} without scripts, whose strings look like tags */
const withoutScripts = (html) => html.replaceAll(/<script\b[\s\S]*?<\/script>/g, '');

/**
 * @param {ReadonlyMap<string, string>} pages HTML by path, such as `guide/memory.html`
 * @param {(path: string) => boolean} isFile whether there is another file of that path
 * @returns {string[]} `page: link` of every link that leads nowhere
 */
export function deadLinks(pages, isFile) {
  const texts = new Map([...pages].map(([page, html]) => [page, withoutScripts(html)]));
  /** @type {Map<string, ReadonlySet<string>>} */
  const anchors = new Map();
  const anchorsOf = (/** @type {string} */ page) => {
    const known = anchors.get(page);
    if (known) return known;
    const found = [...String(texts.get(page)).matchAll(ID)].map(([, id]) => decoded(String(id)));
    anchors.set(page, new Set(found));
    return new Set(found);
  };
  return [...texts].flatMap(([page, html]) => {
    const links = new Set([...html.matchAll(ATTRIBUTE)].map(([, link]) => decoded(String(link))));
    return [...links]
      .filter((link) => !leadsSomewhere(page, link))
      .map((link) => `${page}: ${link}`);
  });

  /** @param {string} page @param {string} link */
  function leadsSomewhere(page, link) {
    const url = new URL(link, `http://site/${page}`);
    if (url.host !== 'site') return true;
    const wanted = decodeURIComponent(url.pathname)
      .slice(1)
      .replace(/(^|\/)$/, '$1index.html');
    if (!texts.has(wanted)) return isFile(wanted);
    const anchor = decodeURIComponent(url.hash.slice(1));
    return anchor === '' || anchorsOf(wanted).has(anchor);
  }
}
