"""
mobilemoney-py: its host is fixed in a table, which is replaced here. It cannot ask for the status of a payment, and its
disbursements fail in the library itself.
"""

import asyncio

import mobilemoney.client
from flows import access as mtn, new_uuid, report
from mobilemoney.request.route import Route

Route.BASE = {"sandbox": mtn["base_url"], "live": mtn["base_url"]}


async def main():
    client = mobilemoney.client.Client()
    client.is_sandbox()
    user = new_uuid()
    subscription = mtn["collection_subscription_key"]
    report("user", await client.create_api_user(user, subscription, "127.0.0.1"))
    report("user found", await client.get_api_user(user, subscription))
    _, created = await client.create_api_key(user, subscription)
    basic = client.basic_token(user, created["apiKey"])

    collection = client.collection(subscription)
    _, token = await collection.create_access_token(basic)
    bearer = client.bearer_token(token["access_token"])
    party = {"partyIdType": "MSISDN", "partyId": "256770000120"}
    body = {"amount": "5", "currency": "EUR", "externalId": "order-3", "payerMessage": "Tea", "payeeNote": "Tea"}
    report("asked", await collection.request_to_pay(bearer, new_uuid(), "sandbox", {**body, "payer": party}))
    report("balance", await collection.get_account_balance(bearer, "sandbox"))
    report("name", await collection.get_basic_user_info("256770000120", bearer, "sandbox"))


asyncio.run(main())
