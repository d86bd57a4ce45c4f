import { canonicalDecimal } from '../../contract/decimal-text.ts';
import type { Acknowledgement } from '../connector/outcomes.ts';
import type { Answer } from '../connector/raw-exchange.ts';
import type { CallOptions, ReversalRequest } from '../connector/wallet-connector.ts';
import type { ConfirmationParts } from './confirm-payment.ts';
import { isReceipt } from './messages.ts';
import { writeReference } from './references.ts';

/**
 * Requests a reversal, and records its conversation.
 * @param ownConversation our id of the conversation, where the provider takes one. It is part of the callback URL, so it does
 * not prove that a result comes from M-Pesa, and is not recorded.
 */
export async function requestReversal(
  parts: ConfirmationParts,
  request: ReversalRequest,
  options: CallOptions,
  ownConversation?: string,
): Promise<Answer<Acknowledgement>> {
  const amount = canonicalDecimal(request.amount) ?? '';
  const receipt = request.providerTransactionId;
  if (!isReceipt(receipt) || !/^[1-9][0-9]*$/.test(amount) || request.currency !== parts.currency) {
    const providerText = `M-Pesa reverses only whole amounts of ${parts.currency}, and needs the receipt of the payment`;
    return {
      result: { kind: 'refused', reason: 'invalid_request', providerCode: '', providerText },
      exchanges: [],
    };
  }
  const { result, exchanges } = await parts.api.reverse(
    {
      receipt,
      amount,
      remarks: 'Payment returned',
      address: parts.address,
      ...(ownConversation === undefined ? {} : { conversation: ownConversation }),
    },
    options,
  );
  if (result.kind !== 'asked') return { result, exchanges };
  const ids = result.ids.filter((id) => id !== ownConversation);
  const providerReference = writeReference({ sent: { ids, at: parts.now().getTime() } });
  return { result: { kind: 'accepted', providerReference, queryNow: false }, exchanges };
}
