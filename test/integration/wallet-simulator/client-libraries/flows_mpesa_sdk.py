"""mpesa-sdk: its hosts are constants of a module, which are replaced here."""

import base64

import mpesa_sdk.urls
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from flows import Callbacks, access as mpesa, new_uuid, report, until
from mpesa_sdk.gateway import (
    Mpesa,
    MpesaRequestError,
    generate_mpesa_express_password,
    generate_timestamp,
    oauth_generate_token,
)

mpesa_sdk.urls.SANDBOX_BASE_URL = mpesa["base_url"]
callbacks = Callbacks()
shop = mpesa["short_code"]
with open(mpesa["certificate_path"], "rb") as file:
    certificate = x509.load_pem_x509_certificate(file.read())
credential = base64.b64encode(
    certificate.public_key().encrypt(mpesa["initiator_password"].encode(), PKCS1v15())
).decode()

token, _ = oauth_generate_token(mpesa["consumer_key"], mpesa["consumer_secret"])
client = Mpesa(token["access_token"])
timestamp = generate_timestamp()
signed = {
    "BusinessShortCode": shop,
    "Password": generate_mpesa_express_password(shop, mpesa["passkey"], timestamp),
    "Timestamp": timestamp,
}
pushed, _ = client.mpesa_express_payment(
    {
        **signed,
        "Amount": 30,
        "PartyA": "254711000220",
        "PartyB": shop,
        "PhoneNumber": "254711000220",
        "CallBackURL": callbacks.url("push"),
        "AccountReference": "ORDER3",
        "TransactionDesc": "Tea",
    }
)
called = callbacks.next("push")["Body"]["stkCallback"]
receipt = {item["Name"]: item.get("Value") for item in called["CallbackMetadata"]["Item"]}["MpesaReceiptNumber"]
report("paid", called["ResultCode"])


def query():
    try:
        return client.mpesa_express_query({**signed, "CheckoutRequestID": pushed["CheckoutRequestID"]})[0]
    except MpesaRequestError:
        return None


report("query", until(query, lambda answer: answer is not None)["ResultCode"])
initiator = {
    "Initiator": mpesa["initiator_name"],
    "SecurityCredential": credential,
    "Remarks": "Check",
    "QueueTimeOutURL": callbacks.url("late"),
}
client.transaction_status_request(
    {**initiator, "PartyA": shop, "TransactionID": receipt, "ResultURL": callbacks.url("status")}
)
report("status", callbacks.next("status")["Result"]["ResultCode"])
client.reversal_request(
    {
        **initiator,
        "TransactionID": receipt,
        "Amount": 30,
        "ReceiverParty": shop,
        "Occasion": "Refund",
        "ResultURL": callbacks.url("reversal"),
    }
)
report("reversal", callbacks.next("reversal")["Result"]["ResultCode"])
client.account_balance_request({**initiator, "PartyA": shop, "ResultURL": callbacks.url("balance")})
report("balance", callbacks.next("balance")["Result"]["ResultCode"])
client.b2c_payment_request(
    {
        "OriginatorConversationID": new_uuid(),
        "InitiatorName": mpesa["initiator_name"],
        "SecurityCredential": credential,
        "CommandID": "BusinessPayment",
        "Amount": 11,
        "PartyA": shop,
        "PartyB": "254711000221",
        "Remarks": "Payout",
        "QueueTimeOutURL": callbacks.url("late"),
        "ResultURL": callbacks.url("payout"),
    }
)
report("payout", callbacks.next("payout")["Result"]["ResultCode"])
client.c2b_register_url(
    {
        "ShortCode": shop,
        "ResponseType": "Completed",
        "ConfirmationURL": callbacks.url("confirmation"),
        "ValidationURL": callbacks.url("validation"),
    }
)
client.c2b_simulate_transaction(
    {"ShortCode": shop, "Amount": 40, "Msisdn": "254711000222", "BillRefNumber": "ORDER4"}
)
report("validation", callbacks.next("validation")["BillRefNumber"])
report("confirmation", callbacks.next("confirmation")["TransAmount"])
