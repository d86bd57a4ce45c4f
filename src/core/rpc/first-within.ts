/** The first rows whose payloads have at most this many bytes together. The first one is always among them. */
export function firstWithin<Row extends { readonly payload: Uint8Array }>(
  rows: readonly Row[],
  maxBytes: number,
): Row[] {
  let bytes = 0;
  return rows.filter(({ payload }, index) => (bytes += payload.length) <= maxBytes || index === 0);
}
