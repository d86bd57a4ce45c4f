/** Stop what global-setup.ts started, from last to first. The two files run in the same process. */
export const stopServers: (() => Promise<void>)[] = [];

export default async function tearDown(): Promise<void> {
  for (const stop of stopServers.toReversed()) await stop();
}
