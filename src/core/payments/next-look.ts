/** Seconds to wait before each look at a wallet that has not decided: soon while the payer types, then less and less often. */
const waitsSeconds = [2, 3, 3, 5, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];

/** When to ask the wallet again about an attempt that was taken `leases` times and is still open. */
export function nextLook(now: Date, leases: number): Date {
  const index = Math.min(Math.max(leases - 1, 0), waitsSeconds.length - 1);
  return new Date(now.getTime() + (waitsSeconds[index] ?? 3600) * 1000);
}
