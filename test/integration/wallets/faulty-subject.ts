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

/** The route by which an operation's own request arrives, and the answer a healthy wallet gives there. */
type Routes = Readonly<
  Record<
    Operation,
    { readonly route: RegExp; readonly good: { readonly status: number; readonly body: unknown } }
  >
>;

interface SubjectFacts {
  readonly routes: Routes;
  /** What the connector must never let into an exchange. */
  readonly secrets: readonly string[];
  readonly payment: PaymentRequest;
  /** As a healthy wallet gave them, for the queries. */
  readonly references: { readonly payment: string; readonly reversal: string; readonly transaction: string };
}

/** A connector in front of a server that does what it is told. */
export interface FaultySubject extends SubjectFacts {
  readonly connector: WalletConnector;
  readonly wallet: ScriptedWallet;
  readonly close: () => Promise<void>;
}

/** Starts one whose server gives the good answer everywhere until it is told otherwise. */
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
