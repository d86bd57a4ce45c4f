/**
 * How many calls a known peer may cancel before its connection is closed: `streamResetBurst` at once, and `streamResetRate` a
 * second afterwards. Node's defaults (1,000 and 33) protect against attackers who open and reset streams (CVE-2023-44487).
 * Here the peers are our own processes. In an overload, all calls of a process can reach their deadline together. Closing
 * its connection would also fail the calls that can still be answered. A core can process this rate of cancelled calls.
 */
export const streamResetLimits = { streamResetBurst: 20_000, streamResetRate: 5_000 } as const;
