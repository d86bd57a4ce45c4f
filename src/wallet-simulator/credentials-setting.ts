import { EnvError, makeExactValidator } from 'envalid';

/** The credentials between a wallet and its client, from the simulator's setting. */
export interface SimulatorCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly apiKey: string;
}

export const simulatorCredentials = makeExactValidator<
  Readonly<Record<'walleta' | 'walletb', SimulatorCredentials>>
>((input) => {
  const all = parseJson(input);
  const read = (wallet: string): SimulatorCredentials => {
    const [clientId, clientSecret, apiKey] = ['client_id', 'client_secret', 'api_key'].map((name) =>
      textAt(all, wallet, name),
    );
    if (clientId === undefined || clientSecret === undefined || apiKey === undefined) {
      throw new EnvError(
        'must be JSON with credentials for both wallets: ' +
          '{"walleta":{"client_id":"…","client_secret":"…","api_key":"…"},"walletb":{…}}',
      );
    }
    return { clientId, clientSecret, apiKey };
  };
  return { walleta: read('walleta'), walletb: read('walletb') };
});

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The text at a path of own properties; undefined when it is absent or empty. */
function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = Object.getOwnPropertyDescriptor(value, name)?.value;
  }
  return typeof value === 'string' && value !== '' ? value : undefined;
}
