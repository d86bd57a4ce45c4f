// mtn-momo: its base URL is configuration.
const { create } = require('mtn-momo');
const { access: mtn, listen, report, until } = require('./flows.cjs');
const { randomUUID } = require('node:crypto');

async function main() {
  const callbacks = await listen();
  const momo = create({ callbackHost: '127.0.0.1', baseUrl: mtn.base_url });
  const users = momo.Users({ primaryKey: mtn.collection_subscription_key });
  const userId = await users.create('127.0.0.1');
  const { apiKey } = await users.login(userId);
  const collections = momo.Collections({
    userId,
    userSecret: apiKey,
    primaryKey: mtn.collection_subscription_key,
  });
  const disbursements = momo.Disbursements({
    userId,
    userSecret: apiKey,
    primaryKey: mtn.disbursement_subscription_key,
  });

  const pay = (partyId) =>
    collections.requestToPay({
      amount: '9',
      currency: 'EUR',
      externalId: 'order-7',
      payer: { partyIdType: 'MSISDN', partyId },
      payerMessage: 'Tea',
      payeeNote: 'Tea',
      callbackUrl: callbacks.url('paid'),
    });
  const id = await pay('256770000130');
  const paid = await until(
    () => collections.getTransaction(id),
    ({ status }) => status !== 'PENDING',
  );
  report('paid', { status: paid.status, amount: paid.amount, id: paid.financialTransactionId });
  report('callback', (await callbacks.next('paid')).status);
  // The library rejects a payment that has failed with an error of its own.
  const declined = await pay('46733123451');
  await until(
    () => collections.getTransaction(declined).catch((error) => ({ status: error.name })),
    ({ status }) => status !== 'PENDING',
  ).then(({ status }) => report('declined', status));

  const transfer = await disbursements.transfer({
    referenceId: randomUUID(),
    amount: '4',
    currency: 'EUR',
    externalId: 'payout-7',
    payee: { partyIdType: 'MSISDN', partyId: '256770000131' },
    payerMessage: 'Payout',
    payeeNote: 'Payout',
  });
  const moved = await until(
    () => disbursements.getTransaction(transfer),
    ({ status }) => status !== 'PENDING',
  );
  report('transfer', moved.status);
  report('balance', (await collections.getBalance()).currency);
  report('active', await collections.isPayerActive('256770000130'));
  callbacks.close();
}

void main();
