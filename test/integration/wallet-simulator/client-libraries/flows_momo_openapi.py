"""momo-openapi: its base URL is configuration. Only its provisioning has a fixed host, which is replaced here."""

import momo_openapi.sandbox
from flows import access as mtn, report, until
from momo_openapi import Collection, Disbursement, MomoConfig

momo_openapi.sandbox.SANDBOX_URL = mtn["base_url"]
user, key = momo_openapi.sandbox.provision_sandbox_user(mtn["collection_subscription_key"], "127.0.0.1")


def config(product):
    return MomoConfig(
        subscription_key=mtn[f"{product}_subscription_key"],
        user_id=user,
        credential_token=key,
        target_environment="sandbox",
        base_url=mtn["base_url"],
        currency="EUR",
    )


def status(client, reference):
    answer = until(
        lambda: client.get_transaction_status(reference), lambda answer: answer["status"] != "PENDING"
    )
    return {"status": answer["status"], "amount": answer["amount"], "reason": answer.get("reason")}


collection = Collection(config("collection"))
disbursement = Disbursement(config("disbursement"))
report("paid", status(collection, collection.request_to_pay(7, "256770000110", "order-2")))
report("declined", status(collection, collection.request_to_pay(7, "46733123451", "order-2")))
report("transfer", status(disbursement, disbursement.transfer("2", "256770000111", "payout-2")))
report("balance", disbursement.get_balance()["currency"])
