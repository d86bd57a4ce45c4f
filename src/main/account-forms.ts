import type { ConfiguredWallet } from '../contract/wallets-file/read-wallets-file.ts';
import type { AccountForm, AccountForms } from '../core/merchant-wallets/account-form.ts';
import { connectorKinds } from '../wallets/connector-kinds.ts';
import { merchantFieldIssues, merchantFields } from '../wallets/merchant-account.ts';

/** The settings that merchants can replace with their own, by wallet. The protocol of each wallet defines them. */
export const accountForms = (wallets: readonly ConfiguredWallet[]): AccountForms =>
  new Map(
    wallets.flatMap(({ id, connector }): [string, AccountForm][] => {
      const kind = connectorKinds.find(({ name }) => name === connector);
      if (kind === undefined || kind.merchantSettings.length === 0) return [];
      return [[id, { fields: merchantFields(kind), issues: (values) => merchantFieldIssues(kind, values) }]];
    }),
  );
