import pg from 'pg';
import { shared, standIn } from '../../support/shared-stack.ts';
import { startStack } from '../../support/stack.ts';
import type { Stack } from '../../support/stack.ts';
import { openAccountDesk } from './account-desk.ts';
import type { AccountDesk } from './account-desk.ts';

/** Two cores with accounts, and a merchant whose members they can be. */
export interface AccountSite {
  readonly stack: Stack;
  readonly desk: AccountDesk;
  /** Their database, for facts that no RPC shows. */
  readonly database: pg.Client;
  readonly merchantId: string;
  readonly close: () => Promise<void>;
}

export async function openAccountSite(): Promise<AccountSite> {
  const stack = await startStack({ cores: 2, facades: 0 });
  const desk = openAccountDesk(stack);
  const database = new pg.Client({ connectionString: stack.databaseUrl });
  await database.connect();
  return {
    stack,
    desk,
    database,
    merchantId: (await stack.createMerchant()).id,
    close: async () => {
      await database.end();
      desk.close();
      await stack.stop();
    },
  };
}

/** The site of all tests of a file, and its parts. */
export function sharedAccountSite() {
  const site = shared(openAccountSite, ({ close }) => close());
  return {
    site,
    stack: standIn(() => site.stack),
    desk: standIn(() => site.desk),
    database: standIn(() => site.database),
  };
}
