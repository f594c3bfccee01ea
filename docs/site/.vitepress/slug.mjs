/**
 * The anchor of a heading, as the repository's Markdown is linked: lower case, hyphens for spaces, no other signs.
 * @param {string} heading
 */
export const slug = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
