/**
 * How Node keeps the heap of the two processes that every request goes through, core and the REST facade, small. Left
 * alone it lets dead objects gather to several times what is in use before it looks for them. None of these is an upper
 * limit: in an overload the heap still grows as far as what waits needs (docs/adr/0011).
 */
export const heapFlags: readonly string[] = [
  // MiB of each half of the young generation: room for what the requests under way use, so that little grows old.
  '--max-semi-space-size=16',
  // MiB of old objects before they are looked through for the first time, and by how much they may grow until the next.
  '--initial-old-space-size=40',
  '--heap-growing-percent=40',
];

/**
 * For the same two: memory that Node has outside its heap is given back by glibc only in part, and the less the more of its
 * arenas there are, of which it makes eight for each CPU.
 */
export const heapEnvironment = { MALLOC_ARENA_MAX: '2' };
