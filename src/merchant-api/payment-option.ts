import { paymentOptionPattern } from '../contract/payment-option.ts';

/** The form of a payment option in a schema. The existing options are configuration, so only core knows them. */
export const optionPattern = paymentOptionPattern;

/** The form of an option for direct payments. */
export const directOptionPattern = '^[a-z][a-z0-9]{1,30}_ussd$';
