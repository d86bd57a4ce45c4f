/** Offers the payment method in WooCommerce's checkout block. The browser loads it as it is. */
(() => {
  const { registerPaymentMethod } = globalThis.wc.wcBlocksRegistry;
  const { getSetting } = globalThis.wc.wcSettings;
  const { createElement } = globalThis.wp.element;
  const { decodeEntities } = globalThis.wp.htmlEntities;

  const settings = getSetting('gatehouse_data', {});
  const title = decodeEntities(settings.title ?? '');
  const Description = () => decodeEntities(settings.description ?? '');

  registerPaymentMethod({
    name: 'gatehouse',
    label: title,
    ariaLabel: title,
    content: createElement(Description),
    edit: createElement(Description),
    canMakePayment: () => true,
    supports: { features: settings.supports ?? ['products'] },
  });
})();
