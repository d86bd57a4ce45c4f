import { optionNamed, optionOfNumber, paymentOptions } from '../contract/payment-options.ts';
import type { PaymentOptionName } from '../contract/payment-options.ts';
import type { PaymentOption } from '../gen/gatehouse/v1/order_pb.js';

/** What a direct payment can be started with; spec, "Initiate direct payment". */
export const directPaymentOptions: readonly PaymentOptionName[] = paymentOptions
  .filter(({ channel }) => channel === 'ussd')
  .map(({ name }) => name);

/** The name by which merchants know an option; '' while nothing has been chosen. */
export const paymentOptionName = (option: PaymentOption): PaymentOptionName | '' =>
  optionOfNumber(option)?.name ?? '';

/** The option that a direct payment names; undefined for anything but those that exist, exactly spelt. */
export function directPaymentOption(name: string): PaymentOption | undefined {
  const option = optionNamed(name);
  return option?.channel === 'ussd' ? option.number : undefined;
}
