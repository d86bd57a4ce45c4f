import { createTransport } from 'nodemailer';
import type { Logger } from '../../platform/logger.ts';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** The request that it is sent for: the log names it, and neither whom the mail is for nor what it says. */
  readonly requestId: string;
}

export interface Mailer {
  /** Gives whether the mail server took it, and never fails. Why it did not is in the log. */
  readonly send: (mail: Mail) => Promise<boolean>;
  /** Waits for the mails that are on their way. */
  readonly close: () => Promise<void>;
}

const timeoutsMs = { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000 };
/** More than people ask for; beyond it mails are refused, and the log says so. */
const mostOnTheirWay = 100;

/**
 * `smtpUrl`: smtp:// or smtps://, with user and password where the server asks for them. With a password, smtp:// goes on
 * only by STARTTLS: whoever stands between could keep that from being offered, and would be told the password. Else it is
 * taken where it is offered. A server's certificate is always checked.
 */
export function createMailer(smtpUrl: string, from: string, logger: Logger): Mailer {
  const transport = createTransport(
    {
      url: smtpUrl,
      ...timeoutsMs,
      requireTLS: smtpUrl.startsWith('smtp:') && new URL(smtpUrl).password !== '',
      pool: true,
      maxConnections: 2,
    },
    // What a mail may not do: read files, or fetch addresses.
    { from, disableFileAccess: true, disableUrlAccess: true },
  );
  const onTheirWay = new Set<Promise<boolean>>();
  return {
    send({ requestId, ...mail }) {
      const about = { request_id: requestId, subject: mail.subject };
      if (onTheirWay.size >= mostOnTheirWay) {
        logger.error(
          { ...about, waiting: onTheirWay.size },
          'a mail was not sent: too many are on their way',
        );
        return Promise.resolve(false);
      }
      const sending = transport.sendMail(mail).then(
        () => {
          logger.info(about, 'mail sent');
          return true;
        },
        (error: unknown) => {
          logger.error({ ...about, err: withoutAddress(error, mail.to) }, 'a mail was not sent');
          return false;
        },
      );
      onTheirWay.add(sending);
      void sending.finally(() => onTheirWay.delete(sending));
      return sending;
    },
    close: async () => {
      await Promise.all(onTheirWay);
      transport.close();
    },
  };
}

/** What the log says of a failure. Servers repeat whom a mail was for, and the error has it in fields of its own. */
function withoutAddress(error: unknown, address: string): object {
  if (!(error instanceof Error)) return { message: String(error).replaceAll(address, '…') };
  const { name, message, code, responseCode, command } = error as Error & Readonly<Record<string, unknown>>;
  return { type: name, message: message.replaceAll(address, '…'), code, responseCode, command };
}
