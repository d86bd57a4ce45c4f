/** The page, app or text that the payer needs to confirm a payment, if the wallet does not prompt the payer's phone. */
export type NextAction =
  /** The payer's browser must open this page of the wallet. */
  | { readonly kind: 'redirect'; readonly url: string }
  /** The payer must scan this text as a QR code. */
  | { readonly kind: 'qr'; readonly payload: string }
  /** The payer must follow this text. */
  | { readonly kind: 'instructions'; readonly text: string };
