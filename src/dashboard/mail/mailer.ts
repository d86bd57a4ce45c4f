import { createTransport } from 'nodemailer';
import type { Logger } from '../../runtime/logger.ts';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends mails in the background: how long it takes, and whether it works, is nothing that the page's reader is told. */
export interface Mailer {
  readonly send: (mail: Mail) => void;
  /** Waits for the mails that are on their way. */
  readonly close: () => Promise<void>;
}

const timeoutsMs = { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000 };
/** More than people ask for; beyond it mails are refused, and the log says so. */
const mostOnTheirWay = 100;

/** `smtpUrl`: smtp:// or smtps://, with user and password where the server asks for them. */
export function createMailer(smtpUrl: string, from: string, logger: Logger): Mailer {
  const transport = createTransport(
    { url: smtpUrl, ...timeoutsMs, pool: true, maxConnections: 2 },
    // What a mail may not do: read files, or fetch addresses.
    { from, disableFileAccess: true, disableUrlAccess: true },
  );
  const onTheirWay = new Set<Promise<void>>();
  return {
    send(mail) {
      if (onTheirWay.size >= mostOnTheirWay) {
        logger.error({ waiting: onTheirWay.size }, 'a mail was not sent: too many are on their way');
        return;
      }
      const sending = transport.sendMail(mail).then(
        () => logger.info({ subject: mail.subject }, 'mail sent'),
        (error: unknown) => logger.error({ err: error }, 'a mail was not sent'),
      );
      onTheirWay.add(sending);
      void sending.finally(() => onTheirWay.delete(sending));
    },
    close: async () => {
      await Promise.all(onTheirWay);
      transport.close();
    },
  };
}
