"""mpesakit: its HTTP client has a fixed host in an attribute, which is replaced here."""

from flows import Callbacks, access as mpesa, new_uuid, report, until
from mpesakit import MpesaClient
from mpesakit.b2c.schemas import B2CCommandIDType
from mpesakit.errors import MpesaApiException
from mpesakit.security.get_credential import generate_security_credential

callbacks = Callbacks()
client = MpesaClient(mpesa["consumer_key"], mpesa["consumer_secret"])
client.http_client.base_url = mpesa["base_url"]
shop = int(mpesa["short_code"])
credential = generate_security_credential(mpesa["initiator_password"], mpesa["certificate_path"])


def push(phone, name):
    return client.stk_push(
        business_short_code=shop,
        transaction_type="CustomerPayBillOnline",
        amount=10,
        party_a=phone,
        party_b=str(shop),
        phone_number=phone,
        callback_url=callbacks.url(name),
        account_reference="ORDER1",
        transaction_desc="Tea",
        passkey=mpesa["passkey"],
    )


def query(pushed):
    try:
        return client.stk_query(
            business_short_code=shop,
            checkout_request_id=pushed.CheckoutRequestID,
            passkey=mpesa["passkey"],
        )
    except MpesaApiException as error:
        report("pending", error.error.error_message)
        return None


pushed = push("254711000201", "push")
called = client.process_stk_callback(callbacks.next("push")).Body.stkCallback
receipt = next(item.Value for item in called.CallbackMetadata.Item if item.Name == "MpesaReceiptNumber")
report("paid", {"callback": called.ResultCode, "same": called.CheckoutRequestID == pushed.CheckoutRequestID})
report("query", until(lambda: query(pushed), lambda answer: answer is not None).ResultCode)
push("254700000003", "declined")
report("declined", client.process_stk_callback(callbacks.next("declined")).Body.stkCallback.ResultCode)

client.transactions.query_status(
    initiator=mpesa["initiator_name"],
    security_credential=credential,
    transaction_id=receipt,
    party_a=shop,
    identifier_type=4,
    result_url=callbacks.url("status"),
    queue_timeout_url=callbacks.url("late"),
    remarks="Check",
)
# Where the library has its own models of results, they are not the documented ones.
found = callbacks.next("status")["Result"]["ResultParameters"]["ResultParameter"]
report("status", {item["Key"]: item.get("Value") for item in found})

reversal = client.reversal.reverse(
    initiator=mpesa["initiator_name"],
    security_credential=credential,
    transaction_id=receipt,
    amount=10,
    receiver_party=shop,
    result_url=callbacks.url("reversal"),
    queue_timeout_url=callbacks.url("late"),
    remarks="Refund",
)
report("reversal", {"code": reversal.ResponseCode, "result": callbacks.next("reversal")["Result"]["ResultCode"]})

client.b2c.send_payment(
    originator_conversation_id=new_uuid(),
    initiator_name=mpesa["initiator_name"],
    security_credential=credential,
    command_id=B2CCommandIDType.BusinessPayment,
    amount=12,
    party_a=str(shop),
    party_b="254711000202",
    remarks="Payout",
    queue_timeout_url=callbacks.url("late"),
    result_url=callbacks.url("payout"),
)
report("payout", callbacks.next("payout")["Result"]["ResultCode"])

client.balance.query(
    initiator=mpesa["initiator_name"],
    security_credential=credential,
    command_id="AccountBalance",
    party_a=shop,
    identifier_type=4,
    remarks="Balance",
    result_url=callbacks.url("balance"),
    queue_timeout_url=callbacks.url("late"),
)
report("balance", callbacks.next("balance")["Result"]["ResultCode"])

registered = client.c2b.register_url(
    short_code=shop,
    response_type="Completed",
    confirmation_url=callbacks.url("confirmation"),
    validation_url=callbacks.url("validation"),
)
report("registered", registered.ResponseCode)
