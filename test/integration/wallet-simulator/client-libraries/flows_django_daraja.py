"""django-daraja: a function returns its fixed hosts, and is replaced here."""

import pathlib
import shutil
import tempfile

import django
from django.conf import settings
from django.core.management import call_command
from flows import Callbacks, access as mpesa, report

folder = pathlib.Path(tempfile.mkdtemp())
(folder / "certs").mkdir()
shutil.copy(mpesa["certificate_path"], folder / "certs" / "sandbox.cer")
settings.configure(
    BASE_DIR=folder,
    INSTALLED_APPS=["django_daraja"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    MPESA_ENVIRONMENT="sandbox",
    MPESA_CONSUMER_KEY=mpesa["consumer_key"],
    MPESA_CONSUMER_SECRET=mpesa["consumer_secret"],
    MPESA_EXPRESS_SHORTCODE=mpesa["short_code"],
    MPESA_SHORTCODE=mpesa["short_code"],
    MPESA_SHORTCODE_TYPE="paybill",
    MPESA_PASSKEY=mpesa["passkey"],
    MPESA_INITIATOR_USERNAME=mpesa["initiator_name"],
    MPESA_INITIATOR_SECURITY_CREDENTIAL=mpesa["initiator_password"],
)
django.setup()
call_command("migrate", verbosity=0)

import django_daraja.mpesa.core as core  # noqa: E402
import django_daraja.mpesa.utils as utils  # noqa: E402

core.api_base_url = utils.api_base_url = lambda: mpesa["base_url"] + "/"
callbacks = Callbacks()
client = core.MpesaClient()
report("token", len(client.access_token()) > 20)
pushed = client.stk_push("0711000210", 15, "ORDER2", "Tea", callbacks.url("push"))
report("asked", [pushed.status_code, pushed.response_code])
import json  # noqa: E402

called = client.parse_stk_result(json.dumps(callbacks.next("push")))
report("paid", {"code": called["ResultCode"], "amount": called["Amount"], "phone": called["PhoneNumber"]})
payout = client.business_payment("0711000211", 20, "Payout", callbacks.url("payout"), "Payout")
report("payout", [payout.response_code, callbacks.next("payout")["Result"]["ResultCode"]])
