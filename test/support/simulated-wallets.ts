import { randomBytes } from 'node:crypto';

/** Settings of a simulator and of the processes that talk to it, which know each other's secrets. */
export function simulatedWallets(timeScale: number) {
  const secret = (): string => randomBytes(16).toString('hex');
  const credentials = () => ({ client_id: secret(), client_secret: secret(), api_key: secret() });
  const known = { walleta: credentials(), walletb: credentials() };
  return {
    callbackKey: randomBytes(32).toString('hex'),
    simulatorSettings: {
      GATEHOUSE_SIMULATOR_PORT: '0',
      GATEHOUSE_SIMULATOR_CREDENTIALS: JSON.stringify(known),
      GATEHOUSE_SIMULATOR_TIME_SCALE: String(timeScale),
    },
    walletsAt: (simulatorUrl: string): string =>
      JSON.stringify(
        (['walleta', 'walletb'] as const).map((wallet) => ({
          wallet,
          environment: 'sandbox',
          base_url: `${simulatorUrl}/${wallet}`,
          ...known[wallet],
          callback_api_key: known[wallet].api_key,
          payee: { type: 'accountid', id: '2999' },
          currencies: ['ETB', 'USD'],
          // A wallet that hangs is given up on soon, so that a test sees what follows.
          call_timeout_ms: 1_000,
        })),
      ),
  };
}
