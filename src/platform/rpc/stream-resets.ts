/**
 * How often a peer may give calls up before its connection is closed: `streamResetBurst` at once and `streamResetRate` a
 * second from then on. Node's own bound (1,000 and 33) is against strangers who open and reset streams to keep a server
 * busy (CVE-2023-44487). Here the peers are our own processes, and in an overload all the calls of one pass their deadline
 * together: closing its connection would fail the calls that could still be answered. What one connection may give up
 * stays below what a core can take.
 */
export const streamResetLimits = { streamResetBurst: 20_000, streamResetRate: 5_000 } as const;
