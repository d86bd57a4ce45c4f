/** The order that an argument names: `ord_…`, or the merchant's order_number. */
export const orderKey = (name: string) =>
  /^ord_[0-9a-hjkmnp-tv-z]{26}$/.test(name)
    ? ({ case: 'orderId', value: name } as const)
    : ({ case: 'orderNumber', value: name } as const);
