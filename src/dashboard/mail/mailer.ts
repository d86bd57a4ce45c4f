import { createTransport } from 'nodemailer';
import type { Transporter } from 'nodemailer';
import type { Logger } from '../../platform/logger.ts';

/**
 * The kind of a mail. The recipient of a password link cannot sign in without it, so mails of other kinds do not delay it.
 * `merchantId` is undefined for an invitation of an operator.
 */
export type MailSubject =
  | { readonly kind: 'password' | 'notice' }
  | { readonly kind: 'invitation'; readonly merchantId: string | undefined };

/** `too-many`: the mail was refused, because too many others are being sent. `failed`: the log has the reason. */
export type MailResult = 'sent' | 'failed' | 'too-many';

export interface Mail {
  readonly about: MailSubject;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** The id of its request, for the log. The log contains neither the recipient nor the text. */
  readonly requestId: string;
}

export interface Mailer {
  /** Returns whether the mail server accepted it. Never rejects. */
  readonly send: (mail: Mail) => Promise<MailResult>;
  /** Waits until all mails in progress are sent or have failed. */
  readonly close: () => Promise<void>;
}

const timeoutsMs = { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000 };
/** The time limit for one mail, including its wait for a connection. A server that sends its replies bit by bit reaches none of the timeouts above. */
const mailLimitMs = 60_000;
/** The limit of each of the two queues, which users do not reach. Further mails are refused and logged. */
const maxMailsInFlight = 100;
/** While the mail server is slow, neither notices nor the invitations of one merchant fill the queue that all other invitations use. */
const maxInFlightOf = { password: maxMailsInFlight, notice: maxMailsInFlight / 2, invitation: 10 };

/** No mail is repeated, and only an inviter sees the failure. */
const whatToDo =
  'check the mail server that GATEHOUSE_SMTP_URL names. If the mail has a link, its recipient must request another one';

/**
 * `smtpUrl`: smtp:// or smtps://, with user and password if the server requires them. With a password, smtp:// requires
 * STARTTLS. Otherwise an attacker in the network could suppress STARTTLS and read the password. Without a password, STARTTLS
 * is used if the server offers it. The server's certificate is always checked.
 */
export function createMailer(smtpUrl: string, from: string, logger: Logger, limitMs = mailLimitMs): Mailer {
  const openQueue = (): Queue => ({
    transport: createTransport(
      {
        url: smtpUrl,
        ...timeoutsMs,
        requireTLS: smtpUrl.startsWith('smtp:') && new URL(smtpUrl).password !== '',
        pool: true,
        maxConnections: 2,
      },
      // A mail must neither read files nor fetch URLs.
      { from, disableFileAccess: true, disableUrlAccess: true },
    ),
    inFlight: new Map(),
  });
  // Each with connections of its own: a link for a password does not wait until the server has accepted the invitations before it.
  const [passwords, others] = [openQueue(), openQueue()];
  return {
    send({ requestId, about, ...mail }) {
      const { transport, inFlight } = about.kind === 'password' ? passwords : others;
      const facts = { request_id: requestId, subject: mail.subject };
      if (!hasRoom(inFlight, about)) {
        logger.error(
          { ...facts, waiting: inFlight.size },
          `a mail was not sent, because too many others are being sent; ${whatToDo}`,
        );
        return Promise.resolve('too-many');
      }
      const sending = transport.sendMail({ ...mail, signal: AbortSignal.timeout(limitMs) }).then(
        (): MailResult => {
          logger.info(facts, 'mail sent');
          return 'sent';
        },
        (error: unknown): MailResult => {
          logger.error({ ...facts, err: withoutAddress(error, mail.to) }, `a mail was not sent; ${whatToDo}`);
          return 'failed';
        },
      );
      inFlight.set(sending, about);
      void sending.finally(() => inFlight.delete(sending));
      return sending;
    },
    close: async () => {
      await Promise.all([...passwords.inFlight.keys(), ...others.inFlight.keys()]);
      passwords.transport.close();
      others.transport.close();
    },
  };
}

interface Queue {
  readonly transport: Pick<Transporter, 'sendMail' | 'close'>;
  readonly inFlight: Map<Promise<MailResult>, MailSubject>;
}

function hasRoom(inFlight: Queue['inFlight'], about: MailSubject): boolean {
  const alike = [...inFlight.values()].filter((other) => partOf(other) === partOf(about));
  return inFlight.size < maxMailsInFlight && alike.length < maxInFlightOf[about.kind];
}

/** A limit counts the mails of which this is the same. */
const partOf = (about: MailSubject): string =>
  about.kind === 'invitation' ? `invitation ${about.merchantId ?? ''}` : about.kind;

/** The log fields of a failure, without the recipient, which servers repeat and the error contains. */
function withoutAddress(error: unknown, address: string): object {
  if (!(error instanceof Error)) return { message: String(error).replaceAll(address, '…') };
  const { name, message, code, responseCode, command } = error as Error & Readonly<Record<string, unknown>>;
  return { type: name, message: message.replaceAll(address, '…'), code, responseCode, command };
}
