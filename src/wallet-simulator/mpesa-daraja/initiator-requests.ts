import type { MpesaBody } from './mpesa-body.ts';
import { required, requiredUrl, textOf } from './mpesa-body.ts';
import { badField } from './mpesa-reply.ts';
import { result } from './mpesa-shop.ts';
import type { MpesaShop } from './mpesa-shop.ts';

/** The ids of a request: the client's, and M-Pesa's. */
export type Conversation = readonly [originator: string, conversation: string];

/** The common functions for requests of an API user of the organisation. */
export interface InitiatorRequests {
  /** Acknowledges a request, and posts its result later. */
  readonly acknowledge: (
    body: MpesaBody,
    content: (ids: Conversation) => Parameters<typeof result>[2] | 'lost',
  ) => object;
  readonly newConversation: (body: MpesaBody) => Conversation;
  readonly acknowledgement: (ids: Conversation) => object;
  /** @throws MpesaRefusal for a field that M-Pesa does not take */
  readonly checkInitiator: (body: MpesaBody, command: RegExp) => void;
  readonly isInitiator: (body: MpesaBody) => boolean;
}

export function createInitiatorRequests(shop: MpesaShop): InitiatorRequests {
  const { after, delaysMs } = shop.context;

  const newConversation = (body: MpesaBody): Conversation => {
    const given = textOf(body, 'OriginatorConversationID');
    return [given === '' ? shop.newId('sim-') : given, shop.newId('AG_')];
  };

  const acknowledgement = ([originator, conversation]: Conversation): object => ({
    OriginatorConversationID: originator,
    ConversationID: conversation,
    ResponseCode: '0',
    ResponseDescription: 'Accept the service request successfully.',
  });

  return {
    newConversation,
    acknowledgement,
    acknowledge(body, content) {
      const ids = newConversation(body);
      const url = textOf(body, 'ResultURL');
      after(delaysMs.reversal, () => {
        const answer = content(ids);
        if (answer !== 'lost') void shop.post(url, result(ids[0], ids[1], answer));
      });
      return acknowledgement(ids);
    },
    checkInitiator(body, command) {
      required(body, 'CommandID', command);
      if (textOf(body, 'SecurityCredential') === '') throw badField('SecurityCredential');
      requiredUrl(body, 'ResultURL');
      requiredUrl(body, 'QueueTimeOutURL');
    },
    isInitiator: (body) =>
      shop.isInitiator(
        textOf(body, 'Initiator') || textOf(body, 'InitiatorName'),
        textOf(body, 'SecurityCredential'),
      ),
  };
}
