/** Stops what global-setup.ts started. The two run in the same process. */
export const stopServers: (() => Promise<void>)[] = [];

export default async function tearDown(): Promise<void> {
  for (const stop of stopServers) await stop();
}
