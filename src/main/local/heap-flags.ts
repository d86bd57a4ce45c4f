/**
 * Node flags that keep the heap small. Every request passes core and the REST facade, and anyone can request pages of the checkout. Downloads
 * of the dashboard, lists of webhooks and answers of wallets create much garbage. By default, garbage grows to several times the used memory before a
 * collection. None of the flags is an upper limit. In an overload, the heap still grows as needed (docs/adr/0011).
 */
export const heapFlags: readonly string[] = [
  // MiB of each half of the young generation. It holds the memory of requests under way, so that few objects are promoted.
  '--max-semi-space-size=16',
  // MiB of old objects before the first collection, and the growth until the next.
  '--initial-old-space-size=40',
  '--heap-growing-percent=40',
  // V8 would otherwise allocate requests in the old generation for good, in a process whose first ones lived long.
  '--no-allocation-site-pretenuring',
];

/**
 * For the same processes. glibc returns only part of the memory outside Node's heap to the system. It returns less
 * with more arenas, and by default makes eight per CPU.
 */
export const heapEnvironment = { MALLOC_ARENA_MAX: '2' };
