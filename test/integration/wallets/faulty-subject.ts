import type { PaymentRequest, WalletConnector } from '../../../src/wallets/connector/wallet-connector.ts';
import { json, startScriptedWallet } from './scripted-wallet.ts';
import type { ScriptedWallet } from './scripted-wallet.ts';

/** The calls that go out to a wallet. */
export const operations = [
  'initiate',
  'query',
  'recover',
  'reverse',
  'queryReversal',
  'statement',
  'health',
] as const;
export type Operation = (typeof operations)[number];

/** The route of an operation's own request, and the answer of a healthy wallet there. */
type Routes = Readonly<
  Record<
    Operation,
    { readonly route: RegExp; readonly good: { readonly status: number; readonly body: unknown } }
  >
>;

interface SubjectFacts {
  readonly routes: Routes;
  /** The texts that no exchange of the connector may contain. */
  readonly secrets: readonly string[];
  readonly payment: PaymentRequest;
  /** References of a healthy wallet, for the queries. */
  readonly references: { readonly payment: string; readonly reversal: string; readonly transaction: string };
}

/** A connector in front of a server that the test scripts. */
export interface FaultySubject extends SubjectFacts {
  readonly connector: WalletConnector;
  readonly wallet: ScriptedWallet;
  readonly close: () => Promise<void>;
}

/** Starts one whose server gives the good answer everywhere until the test changes that. */
export async function startFaultySubject(
  facts: SubjectFacts,
  connect: (origin: string) => WalletConnector,
): Promise<FaultySubject> {
  const wallet = await startScriptedWallet();
  for (const { route, good } of Object.values(facts.routes)) wallet.on(route, json(good.status, good.body));
  const connector = connect(wallet.origin);
  const close = async (): Promise<void> => {
    await connector.close();
    await wallet.close();
  };
  return { ...facts, connector, wallet, close };
}
