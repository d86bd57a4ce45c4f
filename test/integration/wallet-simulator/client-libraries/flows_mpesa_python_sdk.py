"""
mpesa-python-sdk of Safaricom Ethiopia: its base URL is an argument. Its registration of URLs fails in the library itself.
"""

import base64

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from flows import Callbacks, access as mpesa, new_uuid, report
from mpesa import B2C, Auth, STKPush

callbacks = Callbacks()
base_url, shop = mpesa["base_url"], mpesa["short_code"]
token = Auth(base_url, mpesa["consumer_key"], mpesa["consumer_secret"]).get_token()
report("token", [token["token_type"], token["expires_in"]])

request = {
    "MerchantRequestID": new_uuid(),
    "BusinessShortCode": shop,
    "TransactionType": "CustomerPayBillOnline",
    "Amount": 20,
    "PartyA": "251711000240",
    "PartyB": int(shop),
    "PhoneNumber": "251711000240",
    "TransactionDesc": "Tea",
    "CallBackURL": callbacks.url("push"),
    "AccountReference": "ORDER6",
    "ReferenceData": [{"Key": "CashierName", "Value": "Abeba"}],
}
push = STKPush(base_url, token["access_token"])
asked = push.send_stk_push(push.create_payload(shop, mpesa["passkey"], **request))
report("asked", asked["ResponseCode"] if isinstance(asked, dict) else asked.json()["ResponseCode"])
report("paid", callbacks.next("push")["Body"]["stkCallback"]["ResultCode"])

with open(mpesa["certificate_path"], "rb") as file:
    certificate = x509.load_pem_x509_certificate(file.read())
payout = {
    "InitiatorName": mpesa["initiator_name"],
    "SecurityCredential": base64.b64encode(
        certificate.public_key().encrypt(mpesa["initiator_password"].encode(), PKCS1v15())
    ).decode(),
    "CommandID": "BusinessPayment",
    "Amount": 14,
    "PartyA": int(shop),
    "PartyB": "251711000241",
    "Remarks": "Payout",
    "QueueTimeOutURL": callbacks.url("late"),
    "ResultURL": callbacks.url("payout"),
    "Occassion": "Payout",
}
try:
    B2C(base_url, token["access_token"]).make_payment(payout)
except AttributeError:
    # After an accepted payout the library fails in its own log line.
    pass
report("payout", callbacks.next("payout")["Result"]["ResultCode"])
