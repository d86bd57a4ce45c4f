// mpesa-node of Safaricom: its host is fixed in an attribute, which is replaced here.
const Mpesa = require('mpesa-node');
const { access: given, listen, report } = require('./flows.cjs');

async function main() {
  const shop = given.short_code;
  const callbacks = await listen();
  const mpesa = new Mpesa({
    consumerKey: given.consumer_key,
    consumerSecret: given.consumer_secret,
    environment: 'sandbox',
    shortCode: shop,
    initiatorName: given.initiator_name,
    lipaNaMpesaShortCode: shop,
    lipaNaMpesaShortPass: given.passkey,
    securityCredential: given.initiator_password,
    certPath: given.certificate_path,
  });
  mpesa.baseURL = given.base_url;
  const late = callbacks.url('late');

  const { data: pushed } = await mpesa.lipaNaMpesaOnline(254711000260, 50, callbacks.url('push'), 'ORDER8');
  const { stkCallback } = (await callbacks.next('push')).Body;
  const items = Object.fromEntries(stkCallback.CallbackMetadata.Item.map(({ Name, Value }) => [Name, Value]));
  report('paid', { code: stkCallback.ResultCode, amount: items.Amount, phone: items.PhoneNumber });
  report('query', (await mpesa.lipaNaMpesaQuery(pushed.CheckoutRequestID)).data.ResultCode);

  await mpesa.transactionStatus(items.MpesaReceiptNumber, shop, 4, late, callbacks.url('status'));
  report('status', (await callbacks.next('status')).Result.ResultCode);
  await mpesa.reversal(items.MpesaReceiptNumber, 50, late, callbacks.url('reversal'), shop);
  report('reversal', (await callbacks.next('reversal')).Result.ResultCode);
  await mpesa.b2c(shop, 254711000261, 16, late, callbacks.url('payout'));
  report('payout', (await callbacks.next('payout')).Result.ResultCode);
  await mpesa.accountBalance(shop, 4, late, callbacks.url('balance'));
  report('balance', (await callbacks.next('balance')).Result.ResultCode);

  await mpesa.c2bRegister(callbacks.url('confirmation'), callbacks.url('validation'), shop);
  await mpesa.c2bSimulate(254711000262, 60, 'ORDER9');
  report('validation', (await callbacks.next('validation')).BillRefNumber);
  report('confirmation', (await callbacks.next('confirmation')).TransAmount);
  callbacks.close();
}

main().catch((error) => {
  console.error(error.response?.data ?? error);
  process.exit(1);
});
