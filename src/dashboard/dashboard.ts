import type { BrowserSecrets } from '../platform/http/browser-secret.ts';
import type { EnvironmentName } from './access/page-context.ts';
import type { Assets } from './assets.ts';
import type { DashboardClients } from './clients.ts';
import type { Mailer } from './mail/mailer.ts';
import type { SendPage } from './send-page.ts';
import type { UnknownSecretLimits } from './session/limit-unknown-secrets.ts';

/** The parts that the routes of all areas use. */
export interface Dashboard {
  readonly clients: DashboardClients;
  readonly sendPage: SendPage;
  /** The public URL of the pages: scheme, host and port. Known once the process listens. */
  readonly baseUrl: () => string;
  /** Whether the public URL is https. */
  readonly isSecure: boolean;
  /** The public URL of the merchant API in each environment. */
  readonly restUrls: Readonly<Record<EnvironmentName, string>>;
  /** Sends one-time links; undefined without a mail server, when pages show the links instead. */
  readonly mailer: Mailer | undefined;
  /** The time zone of dates and times. */
  readonly timeZone: string;
  readonly now: () => Date;
  readonly randomBytes: (size: number) => Buffer;
  /** The secrets of browsers. A browser in which a user signed in has sign-in limits of its own. */
  readonly browserSecrets: BrowserSecrets;
  /** Limits how often core is asked about sessions and links that do not exist. */
  readonly unknownSecrets: UnknownSecretLimits;
  /** The pages' files. A page names those that only it needs. */
  readonly assets: Assets;
}
