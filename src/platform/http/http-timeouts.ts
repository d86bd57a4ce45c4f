/** How long every HTTP listener waits for a peer, in milliseconds. */
export const httpTimeoutsMs = {
  /** For the request line and the headers. */
  headers: 5_000,
  /** For the whole request with its body. RPC listeners wait for the default deadline of a call. */
  request: 10_000,
  /** Longer than the 60 s after which common balancers close an idle connection, so that they never use one that we closed. */
  keepAlive: 65_000,
  /**
   * For a client that reads nothing more of an answer. The time without a byte also passes while a request waits for its order, so
   * this is longer.
   */
  stalled: 90_000,
  /** How often Node checks connections against these limits. Its default is 30 s. */
  check: 1_000,
} as const;
