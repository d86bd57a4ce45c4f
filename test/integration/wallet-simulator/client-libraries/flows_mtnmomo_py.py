"""
mtnmomo-py: its base URL is configuration. It reads the reason of a failed payment only as an object, and MTN sends a text.
"""

from flows import Callbacks, access as mtn, new_uuid, report, until
from mtnmomo import MoMoClient, MoMoConfig, MoMoConflictError, ProductCredentials

callbacks = Callbacks()


def client(user, key):
    return MoMoClient(
        MoMoConfig(
            collection=ProductCredentials(mtn["collection_subscription_key"], user, key),
            disbursement=ProductCredentials(mtn["disbursement_subscription_key"], user, key),
            base_url=mtn["base_url"],
        )
    )


provisioning = client("", "").sandbox
user = provisioning.create_api_user("127.0.0.1")
key = provisioning.create_api_key(user)
report("user", vars(provisioning.get_api_user(user)))

momo = client(user, key)
report("token", vars(momo.collection.create_access_token()))


def payment(payer, amount="10"):
    return {
        "amount": amount,
        "currency": "EUR",
        "externalId": "order-1",
        "payer": {"partyIdType": "MSISDN", "partyId": payer},
        "payerMessage": "Tea",
        "payeeNote": "Order 1",
    }


def result(ask, reference):
    answer = until(lambda: ask(reference), lambda answer: answer.status != "PENDING")
    return {"status": answer.status, "amount": answer.amount, "id": answer.financial_transaction_id}


collection, disbursement = momo.collection, momo.disbursement
paid = collection.request_to_pay(payment("256770000100"), callback_url=callbacks.url("paid"))
report("paid", result(collection.get_request_to_pay_status, paid))
report("callback", callbacks.next("paid"))
collection.send_request_to_pay_delivery_notification(paid, "Thank you")
try:
    collection.request_to_pay(payment("256770000100"), reference_id=paid)
except MoMoConflictError as error:
    report("repeated", error.code)

refund = disbursement.refund(
    {
        "amount": "4",
        "currency": "EUR",
        "externalId": "refund-1",
        "payerMessage": "Refund",
        "payeeNote": "Refund",
        "referenceIdToRefund": paid,
    },
    version="v2_0",
    callback_url=callbacks.url("refund"),
)
report("refund", result(disbursement.get_refund_status, refund))
report("refund callback", callbacks.next("refund")["status"])
payee = {"partyIdType": "MSISDN", "partyId": "256770000101"}
payout = {**payment("256770000101", "3"), "payee": payee}
del payout["payer"]
transfer = disbursement.transfer(payout, reference_id=new_uuid())
report("transfer", result(disbursement.get_transfer_status, transfer))
report("deposit", result(disbursement.get_deposit_status, disbursement.deposit(payout)))
report("balance", vars(collection.get_account_balance("EUR")))
report("active", collection.validate_account_holder_status("msisdn", "256770000100"))
report("name", collection.get_basic_user_info("msisdn", "256770000100")["given_name"])
