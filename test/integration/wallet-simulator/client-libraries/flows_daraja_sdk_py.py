"""daraja-sdk-py: its host is a constant of a module, which is replaced here."""

import base64

import daraja.environment
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from daraja.client import Mpesa
from flows import Callbacks, access as mpesa, report, until

daraja.environment.SANDBOX_BASE_URL = mpesa["base_url"]
callbacks = Callbacks()
with open(mpesa["certificate_path"], "rb") as file:
    certificate = x509.load_pem_x509_certificate(file.read())
credential = base64.b64encode(
    certificate.public_key().encrypt(mpesa["initiator_password"].encode(), PKCS1v15())
).decode()
client = Mpesa(
    {
        "consumer_key": mpesa["consumer_key"],
        "consumer_secret": mpesa["consumer_secret"],
        "passkey": mpesa["passkey"],
        "initiator_name": mpesa["initiator_name"],
        "security_credential": credential,
        "max_retries": 0,
        "retry_config": {"max_retries": 0},
    }
)
shop = int(mpesa["short_code"])


def push(phone, name):
    return client.stk_push(
        {
            "BusinessShortCode": shop,
            "TransactionType": "CustomerPayBillOnline",
            "Amount": 25,
            "PartyA": phone,
            "PartyB": shop,
            "PhoneNumber": phone,
            "CallBackURL": callbacks.url(name),
            "AccountReference": "ORDER5",
            "TransactionDesc": "Tea",
        }
    )


pushed = push(254711000230, "push")
called = callbacks.next("push")["Body"]["stkCallback"]
receipt = {item["Name"]: item.get("Value") for item in called["CallbackMetadata"]["Item"]}["MpesaReceiptNumber"]
report("paid", called["ResultCode"])
question = {"BusinessShortCode": str(shop), "CheckoutRequestID": pushed.CheckoutRequestID}
report("query", until(lambda: client.stk_query(question), lambda answer: answer.ResultCode != "4999").ResultCode)

initiator = {
    "Initiator": mpesa["initiator_name"],
    "SecurityCredential": credential,
    "QueueTimeOutURL": callbacks.url("late"),
    "Remarks": "Check",
}
client.transaction_status(
    {
        **initiator,
        "CommandID": "TransactionStatusQuery",
        "TransactionID": receipt,
        "PartyA": shop,
        "ResultURL": callbacks.url("status"),
    }
)
report("status", callbacks.next("status")["Result"]["ResultCode"])
client.reversal(
    {
        **initiator,
        "CommandID": "TransactionReversal",
        "TransactionID": receipt,
        "Amount": 25,
        "ReceiverParty": shop,
        "ResultURL": callbacks.url("reversal"),
    }
)
report("reversal", callbacks.next("reversal")["Result"]["ResultCode"])
client.account_balance(
    {**initiator, "CommandID": "AccountBalance", "PartyA": shop, "ResultURL": callbacks.url("balance")}
)
report("balance", callbacks.next("balance")["Result"]["ResultCode"])
client.b2c(
    {
        "InitiatorName": mpesa["initiator_name"],
        "SecurityCredential": credential,
        "CommandID": "BusinessPayment",
        "Amount": 13,
        "PartyA": shop,
        "PartyB": 254711000231,
        "Remarks": "Payout",
        "QueueTimeOutURL": callbacks.url("late"),
        "ResultURL": callbacks.url("payout"),
    }
)
report("payout", callbacks.next("payout")["Result"]["ResultCode"])
registered = client.c2b_register_url(
    {
        "ShortCode": str(shop),
        "ResponseType": "Completed",
        "ConfirmationURL": callbacks.url("confirmation"),
        "ValidationURL": callbacks.url("validation"),
    }
)
report("registered", registered.ResponseCode)
