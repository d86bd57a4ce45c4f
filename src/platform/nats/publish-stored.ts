import { ErrorCode, NatsError, createInbox, headers as newHeaders } from 'nats';
import type { Msg, MsgHdrs, NatsConnection } from 'nats';

export interface EventMessage {
  readonly subject: string;
  /** A repeat with the same id within the stream's window is stored once. */
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface StoreOptions {
  /** The name of the stream that must store the messages. */
  readonly stream: string;
  /** The prefix of the connection's inboxes; by default the client's own "_INBOX". */
  readonly inboxPrefix?: string;
  readonly timeoutMs: number;
}

/**
 * Publishes the messages in order without waiting between them. Resolves when the stream has stored every message, or with
 * 'no stream' when no stream accepts one of the subjects. One subscription receives all answers. The client's own function
 * creates a request, a promise, a timer and an error for each message. They were two thirds of the cost of relaying.
 * @throws when an answer is late, or when the broker refuses a message
 */
export function publishStored(
  connection: NatsConnection,
  messages: readonly EventMessage[],
  { stream, inboxPrefix, timeoutMs }: StoreOptions,
): Promise<'stored' | 'no stream'> {
  if (messages.length === 0) return Promise.resolve('stored');
  return new Promise((resolve, reject) => {
    const inbox = createInbox(inboxPrefix);
    let missing = messages.length;
    let hint = '';
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      answers.unsubscribe();
      settle();
    };
    // Before the timer, because it throws when the connection was closed meanwhile.
    const answers = connection.subscribe(inbox, {
      callback: (error, answer) => {
        const storedIn = error ?? streamOf(answer, stream);
        if (storedIn === undefined) end(() => resolve('no stream'));
        else if (storedIn instanceof Error) end(() => reject(storedIn));
        else if (storedIn !== stream)
          hint = `: its stream ${storedIn} takes them; delete that stream, or remove their subjects from it`;
        else if ((missing -= 1) === 0) end(() => resolve('stored'));
      },
    });
    const timer = setTimeout(
      () =>
        end(() =>
          reject(
            new Error(
              `the broker did not confirm ${missing} of ${messages.length} messages for ${stream} in time${hint}`,
            ),
          ),
        ),
      timeoutMs,
    );
    try {
      for (const { subject, id, headers, body } of messages)
        connection.publish(subject, body, { reply: inbox, headers: headersOf(id, headers) });
    } catch (error) {
      end(() => reject(refusalOf(error, connection)));
    }
  });
}

/** The client refuses a message that the broker would refuse, and its own text is a code. */
function refusalOf(error: unknown, { info }: NatsConnection): Error {
  const tooLarge: string = ErrorCode.MaxPayloadExceeded;
  if (!(error instanceof Error)) return new Error(String(error));
  if (!(error instanceof NatsError) || error.code !== tooLarge) return error;
  return new Error(
    `the broker accepts messages of at most ${info?.max_payload} bytes, and one has more: raise max_payload in its configuration, and restart the broker, because a reload does not reach connected clients`,
    { cause: error },
  );
}

/**
 * Headers in their written form. The client's own functions take four times as long: they check each name against all others, and build the
 * text header by header. @throws when a value contains a line break
 */
function headersOf(id: string, others: Readonly<Record<string, string>>): MsgHdrs {
  let text = `NATS/1.0\r\nNats-Msg-Id: ${id}\r\n`;
  for (const name in others) text += `${name}: ${lineOf(others[name] ?? '')}\r\n`;
  const written = Buffer.from(`${text}\r\n`, 'latin1');
  return Object.assign(newHeaders(), { encode: () => written });
}

function lineOf(value: string): string {
  if (value.includes('\n') || value.includes('\r')) throw new TypeError('a header contains a line break');
  return value;
}

/**
 * The stream that has stored a message; undefined if there is none. A PubAck names the stream and the sequence number in it. A refusal has
 * an error instead.
 */
function streamOf(answer: Msg, stream: string): string | Error | undefined {
  // "No responders": no subscriber listens to the subject, so no stream accepts it.
  if (answer.headers?.code === 503) return undefined;
  const ack = answer.json<{ readonly stream?: string; readonly error?: { readonly description?: string } }>();
  if (ack.error === undefined && ack.stream !== undefined) return ack.stream;
  const description = ack.error?.description ?? 'for no stated reason';
  const option = limitOptions[description];
  const full =
    option === undefined
      ? ''
      : `. The stream ${stream} is full: raise this limit, or remove it with nats stream edit ${stream} ${option}=-1`;
  return new Error(`the broker refused a message: ${description}${full}`);
}

/** The limits that a stream with "discard new" refuses messages at, in the broker's words, and their options. */
const limitOptions: Readonly<Record<string, string>> = {
  'maximum bytes exceeded': '--max-bytes',
  'maximum messages exceeded': '--max-msgs',
};
