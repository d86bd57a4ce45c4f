/** How long every HTTP listener waits for a peer, in milliseconds. */
export const httpTimeoutsMs = {
  /** For the request line and the headers. */
  headers: 5_000,
  /** For the whole request, its body included. RPC listeners wait for as long as a call without a deadline may take. */
  request: 10_000,
  /** Longer than the 60 s after which common balancers drop an idle connection, so that they never use one we closed. */
  keepAlive: 65_000,
  /** How often Node looks for connections that are past these limits. Its own default is 30 s. */
  check: 1_000,
} as const;
