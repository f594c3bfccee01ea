/** The side that has a result for every row. */
export const keptSide = ({ axis }: { readonly axis: 0 | 1 }): 'i' | 'j' => (axis === 1 ? 'i' : 'j');
