import { createTransport } from 'nodemailer';
import type { Logger } from '../../platform/logger.ts';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** The id of its request, for the log. The log contains neither the recipient nor the text. */
  readonly requestId: string;
}

export interface Mailer {
  /** Returns whether the mail server accepted it. Never rejects: the log has the reason of a failure. */
  readonly send: (mail: Mail) => Promise<boolean>;
  /** Waits until all mails in progress are sent or have failed. */
  readonly close: () => Promise<void>;
}

const timeoutsMs = { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000 };
/** For one mail, with its wait for a connection. A server that sends its replies bit by bit reaches none of the timeouts above. */
const mailLimitMs = 60_000;
/** More than users cause. Further mails are refused and logged. */
const maxMailsInFlight = 100;

/** No mail is repeated, and only an inviter sees the failure. */
const whatToDo =
  'check the mail server that GATEHOUSE_SMTP_URL names. If the mail has a link, its recipient must request another one';

/**
 * `smtpUrl`: smtp:// or smtps://, with user and password if the server requires them. With a password, smtp:// requires
 * STARTTLS. Otherwise an attacker in the network could suppress STARTTLS and read the password. Without a password, STARTTLS
 * is used if the server offers it. The server's certificate is always checked.
 */
export function createMailer(smtpUrl: string, from: string, logger: Logger, limitMs = mailLimitMs): Mailer {
  const transport = createTransport(
    {
      url: smtpUrl,
      ...timeoutsMs,
      requireTLS: smtpUrl.startsWith('smtp:') && new URL(smtpUrl).password !== '',
      pool: true,
      maxConnections: 2,
    },
    // A mail must neither read files nor fetch URLs.
    { from, disableFileAccess: true, disableUrlAccess: true },
  );
  const onTheirWay = new Set<Promise<boolean>>();
  return {
    send({ requestId, ...mail }) {
      const about = { request_id: requestId, subject: mail.subject };
      if (onTheirWay.size >= maxMailsInFlight) {
        logger.error(
          { ...about, waiting: onTheirWay.size },
          `a mail was not sent, because too many others are being sent; ${whatToDo}`,
        );
        return Promise.resolve(false);
      }
      const sending = transport.sendMail({ ...mail, signal: AbortSignal.timeout(limitMs) }).then(
        () => {
          logger.info(about, 'mail sent');
          return true;
        },
        (error: unknown) => {
          logger.error({ ...about, err: withoutAddress(error, mail.to) }, `a mail was not sent; ${whatToDo}`);
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

/** The log fields of a failure, without the recipient, which servers repeat and the error contains. */
function withoutAddress(error: unknown, address: string): object {
  if (!(error instanceof Error)) return { message: String(error).replaceAll(address, '…') };
  const { name, message, code, responseCode, command } = error as Error & Readonly<Record<string, unknown>>;
  return { type: name, message: message.replaceAll(address, '…'), code, responseCode, command };
}
