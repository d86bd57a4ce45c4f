import { PaymentOption } from '../gen/gatehouse/v1/order_pb.js';

/** How the merchant API writes a chosen payment option; spec, "Resources and their fields". */
export type PaymentOptionName = 'walleta_ussd' | 'walletb_ussd' | 'walleta_wallet';

/** What a direct payment can be started with; spec, "Initiate direct payment". */
export const directPaymentOptions = ['walleta_ussd', 'walletb_ussd'] as const satisfies PaymentOptionName[];

export type DirectPaymentOptionName = (typeof directPaymentOptions)[number];

const names: Readonly<Record<PaymentOption, PaymentOptionName | ''>> = {
  [PaymentOption.UNSPECIFIED]: '',
  [PaymentOption.WALLETA_USSD]: 'walleta_ussd',
  [PaymentOption.WALLETB_USSD]: 'walletb_ussd',
  [PaymentOption.WALLETA_WALLET]: 'walleta_wallet',
};

const directOptions: Readonly<Record<DirectPaymentOptionName, PaymentOption>> = {
  walleta_ussd: PaymentOption.WALLETA_USSD,
  walletb_ussd: PaymentOption.WALLETB_USSD,
};

/** The name merchants know an option by; '' while nothing has been chosen. */
export function paymentOptionName(option: PaymentOption): PaymentOptionName | '' {
  return names[option];
}

/** The option a direct payment names; undefined for anything but the two that exist, exactly spelt. */
export function directPaymentOption(name: string): PaymentOption | undefined {
  const known = directPaymentOptions.find((option) => option === name);
  return known === undefined ? undefined : directOptions[known];
}
