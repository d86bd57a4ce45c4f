import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { SimulatedProtocol, WalletContext } from '../simulated-wallet.ts';
import { createCallbackSender } from './callbacks.ts';
import { journalEntry } from './journal-entries.ts';
import { listBalances, listCharges, listPrompts } from './observations.ts';
import { promptExpired } from './outcomes.ts';
import { addWalletApi } from './wallet-api.ts';
import { createWallet } from './wallet.ts';

const text = Type.String({ minLength: 1 });
const clientFields = { client_id: text, client_secret: text, api_key: text };
const credentialsSchema = Type.Object({
  ...clientFields,
  /** Further clients of the wallet, such as merchants with contracts of their own. Callbacks carry the first client's key. */
  other_clients: Type.Optional(Type.Array(Type.Object(clientFields))),
});

const credentialsOf = (given: { client_id: string; client_secret: string; api_key: string }) => ({
  clientId: given.client_id,
  clientSecret: given.client_secret,
  apiKey: given.api_key,
});

/** The GSMA Mobile Money API 1.2 for merchant payments. */
export const gsma: SimulatedProtocol = {
  credentials: credentialsSchema,
  // The SDKs of the GSMA add the path of its sandbox to every base URL.
  sandboxPath: '/2/oauth/simulator/v1.2/mm',
  mount: async (scope, context) => {
    const given = Value.Decode(credentialsSchema, context.credentials);
    const credentials = credentialsOf(given);
    const clients = [given, ...(given.other_clients ?? [])].map(credentialsOf);
    const wallet = createWallet({
      ...context,
      wallet: context.id,
      journal: context.journal.of(journalEntry),
      callBack: createCallbackSender({
        credentials,
        now: context.now,
        timeoutMs: context.callbackTimeoutMs,
        closing: context.closing,
      }),
    });
    const tokens = await addWalletApi(scope, { ...apiOptions(context), wallet, clients });
    return {
      id: context.id,
      prompts: (payer) => listPrompts(wallet, payer),
      charges: (payer) => listCharges(wallet, payer),
      balances: () => listBalances(wallet),
      decide: (promptId, decision) => {
        const prompt = wallet.book.request(promptId);
        if (prompt?.transaction.type !== 'merchantpay') return undefined;
        const isDone = {
          approve: () => wallet.approve(prompt),
          decline: () => wallet.decline(prompt),
          time_out: () => wallet.refuse(prompt, promptExpired),
          lose_answer: () => wallet.completeSilently(prompt),
        }[decision]();
        return isDone ? 'done' : 'not_open';
      },
      expireTokens: tokens.expireAll,
      close: wallet.close,
    };
  },
};

const apiOptions = ({
  received,
  after,
  now,
  randomBytes,
  tokenLifetimeSeconds,
  delaysMs,
}: WalletContext) => ({
  received,
  after,
  now,
  randomBytes,
  tokenLifetimeSeconds,
  hangMs: delaysMs.hang,
});
