/** As many random bytes as a UUID takes. */
const drawBytes = 16;
const poolBytes = 256 * drawBytes;

/**
 * Draws 16 random bytes at a time from many that were made at once: asking the system's generator for a few costs almost
 * as much as asking it for thousands. Each draw is valid until the pool comes round, so take what you need of it at once.
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
