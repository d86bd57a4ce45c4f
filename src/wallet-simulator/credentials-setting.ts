import { EnvError, makeExactValidator } from 'envalid';

/** What a wallet and its client share, as the simulator is told it. */
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

/** The text at a path of own properties, or undefined when there is none, or an empty one. */
function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = Object.getOwnPropertyDescriptor(value, name)?.value;
  }
  return typeof value === 'string' && value !== '' ? value : undefined;
}
