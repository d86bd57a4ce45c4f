"""telebirr: its base URL is an argument. Only the address of the payment page is fixed, in an attribute that is replaced here."""

import requests
from flows import Callbacks, access as given, new_uuid, report, until
from telebirr.telebirr import Telebirr, TelebirrSuperApp

callbacks = Callbacks()
order = new_uuid().replace("-", "")
shop = Telebirr(
    {"title": "Tea", "amount": "12"},
    given["base_url"] + "/apiaccess/payment/gateway",
    given["fabric_app_id"],
    given["app_secret"],
    given["merchant_app_id"],
    given["merchant_code"],
    given["private_key"],
)
shop.webBaseUrl = given["web_base_url"]
page = shop.createOrder(merch_order_id=order, notify_url=callbacks.url("notification"))

app = TelebirrSuperApp(
    given["merchant_code"],
    given["fabric_app_id"],
    given["app_secret"],
    given["merchant_app_id"],
    given["private_key"],
    given["base_url"],
)


def status(id):
    answer = app.queryOrder(new_uuid().replace("-", ""), id)["biz_content"]
    return answer.get("order_status") or answer.get("trade_status")


report("waiting", status(order))
opened = requests.get(page)
report("page", [opened.status_code, "12" in opened.text])
requests.post(opened.url, data={"phone": "251911000250", "action": "pay"})
report("paid", until(lambda: status(order), lambda answer: answer not in ("WAIT_PAY", "PAYING")))
notification = callbacks.next("notification")
report("notification", [notification["trade_status"], notification["merch_order_id"] == order])

in_app = new_uuid().replace("-", "")
created, raw_request = app.request_create_order(
    new_uuid().replace("-", ""),
    "15",
    callbacks.url("in-app"),
    "https://shop.example/return",
    in_app,
    "30m",
    "Tea",
    "BuyGoods",
    "04",
)
report("in app", [created["result"], raw_request["prepay_id"] == created["biz_content"]["prepay_id"]])
