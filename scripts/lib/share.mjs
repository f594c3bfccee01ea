/**
 * Which of a list belong to a share, such as '0/3': every third, from the first on.
 * @param {string} text
 * @returns {(value: unknown, place: number) => boolean} for `filter`
 */
export function inShare(text) {
  const [share = NaN, shares = NaN] = text.split('/').map(Number);
  if (!(Number.isInteger(share) && Number.isInteger(shares) && share >= 0 && share < shares)) {
    throw new Error(`--share is '${text}'. Pass which part of how many, such as 0/3.`);
  }
  return (_, place) => place % shares === share;
}
