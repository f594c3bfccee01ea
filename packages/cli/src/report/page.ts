import { createHash } from 'node:crypto';
import { escapeHtml, html, type SafeHtml } from './escape-html.js';

/**
 * A self-contained page: one style element that the content policy names by its hash, pictures only as data URIs,
 * no script and nothing from elsewhere.
 */
export function renderPage(title: string, style: string, body: SafeHtml): string {
  const hash = createHash('sha256').update(style).digest('base64');
  const policy = `default-src 'none'; img-src data:; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
  const head = html`<meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="${policy}" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${title}</title>`;
  return `<!doctype html>\n<html lang="en">\n<head>\n${head.text}\n<style>${checkedStyle(style)}</style>\n</head>\n<body>\n${body.text}\n</body>\n</html>\n`;
}

function checkedStyle(style: string): string {
  if (escapeHtml(style).includes('&lt;')) {
    throw new RangeError('Cannot build the page: a style sheet cannot contain "<". Remove it.');
  }
  return style;
}
