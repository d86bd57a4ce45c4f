import type { EnvironmentName } from './access/place.ts';
import type { Assets } from './assets.ts';
import type { DashboardClients } from './clients.ts';
import type { Mailer } from './mail/mailer.ts';
import type { SendPage } from './send-page.ts';

/** What the routes of every area are given. */
export interface Dashboard {
  readonly clients: DashboardClients;
  readonly sendPage: SendPage;
  /** Where people reach the pages: scheme, host and port. Known once it listens. */
  readonly baseUrl: () => string;
  /** Whether people reach the pages over https. */
  readonly isSecure: boolean;
  /** Where merchants' programs reach the API, in each environment. */
  readonly restUrls: Readonly<Record<EnvironmentName, string>>;
  /** Sends one-time links; undefined when no mail is set up, and people are told them in another way. */
  readonly mailer: Mailer | undefined;
  /** In which dates and times are written. */
  readonly timeZone: string;
  readonly now: () => Date;
  readonly randomBytes: (size: number) => Buffer;
  /** The pages' own files; those that only some pages need are named by them. */
  readonly assets: Assets;
}
