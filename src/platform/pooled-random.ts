/** The number of random bytes in a UUID. */
const drawBytes = 16;
const poolBytes = 256 * drawBytes;

/**
 * Returns 16 random bytes at a time from a larger pool. The system's generator takes almost as long for a few bytes as for
 * thousands. The pool is reused, so copy or use each result at once.
 */
export function pooledRandom(fill: (bytes: Uint8Array) => unknown): () => Uint8Array {
  const pool = new Uint8Array(poolBytes);
  let next = poolBytes;
  return () => {
    if (next === poolBytes) {
      fill(pool);
      next = 0;
    }
    next += drawBytes;
    return pool.subarray(next - drawBytes, next);
  };
}
