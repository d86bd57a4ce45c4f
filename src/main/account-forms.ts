import type { ConfiguredWallet } from '../contract/wallets-file/read-wallets-file.ts';
import type { AccountForm, AccountForms } from '../core/merchant-wallets/account-form.ts';
import { connectorKinds } from '../wallets/connector-kinds.ts';
import { merchantFieldIssues, merchantFields, payeeOf } from '../wallets/merchant-account.ts';

/** The settings that merchants can replace with their own, by wallet. The protocol of each wallet defines them. */
export const accountForms = (wallets: readonly ConfiguredWallet[]): AccountForms =>
  new Map(
    wallets.flatMap(({ id, connector, environments }): [string, AccountForm][] => {
      const kind = connectorKinds.find(({ name }) => name === connector);
      if (kind === undefined || kind.merchantSettings.length === 0) return [];
      const settings = {
        SANDBOX: environments.sandbox?.settings ?? {},
        PRODUCTION: environments.production?.settings ?? {},
      };
      const form: AccountForm = {
        fields: merchantFields(kind),
        issues: (values) => merchantFieldIssues(kind, values),
        payee: (environment, openValues) => payeeOf(kind, settings[environment], openValues),
      };
      return [[id, form]];
    }),
  );
