"""Addresses, signatures and waits of webhooks."""

import pytest

from schemas.errors import Refused
from schemas.settings.process import ProcessSettings
from services.new_runs import webhook_url
from stages.webhooks import checked_url, is_public, signed_headers
from tests.receiver import SECRET


def test_a_message_is_signed_as_the_library_of_standard_webhooks_signs_it() -> None:
    key = ProcessSettings(ragq_webhook_secret=SECRET).webhook_key
    assert key is not None
    headers = signed_headers(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')

    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert (headers["webhook-id"], headers["webhook-timestamp"]) == ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330")


@pytest.mark.parametrize("secret", ["whsec_", "whsec_short", "not base64!", "whsec_" + "A" * 20])
def test_a_secret_that_is_no_key_is_refused_without_repeating_it(secret: str) -> None:
    with pytest.raises(Refused) as refused:
        ProcessSettings.from_environment({"RAGQ_WEBHOOK_SECRET": secret})
    assert "RAGQ_WEBHOOK_SECRET" in str(refused.value) and secret not in str(refused.value).replace("whsec_`", "")


HOSTILE = (
    *("ftp://example.org/", "example.org/hook", "https://", "https://user:password@example.org/"),
    *("https://example.org/#part", "https://example.org:99999/", "https://exa mple.org/", "https://[::1/"),
    *("https://example.org\\@10.0.0.1/", "https://exämple.org/", "https://example.org/" + "a" * 2000),
)
PRIVATE = (
    *("http://example.org/", "https://localhost/", "https://LOCALHOST.:8000/", "https://a.localhost/"),
    *("https://printer.local/", "https://metadata.google.internal/", "https://127.0.0.1/", "https://10.1.2.3/"),
    *("https://192.168.1.1/", "https://169.254.169.254/latest", "https://0.0.0.0/", "https://224.0.0.1/"),
    *("https://[::1]/", "https://[::ffff:10.0.0.1]/", "https://[fd00::1]/"),
)


@pytest.mark.parametrize("url", HOSTILE)
def test_what_is_no_address_is_refused(url: str) -> None:
    for allow_private in (False, True):
        with pytest.raises(Refused):
            checked_url(url, allow_private=allow_private)


@pytest.mark.parametrize("url", PRIVATE)
def test_private_addresses_are_refused_unless_allowed(url: str) -> None:
    with pytest.raises(Refused) as refused:
        checked_url(url, allow_private=False)
    assert "RAGQ_WEBHOOK_ALLOW_PRIVATE=true" in str(refused.value)
    assert checked_url(url, allow_private=True) == url


def test_an_address_inside_another_one_counts() -> None:
    addresses = ("64:ff9b::10.0.0.1", "64:ff9b::9.9.9.9", "2002:7f00:1::", "2620:fe::fe")
    assert [is_public(address) for address in addresses] == [False, True, False, True]


def test_nobody_is_told_without_a_secret() -> None:
    assert ProcessSettings.from_environment({"RAGQ_WEBHOOK_SECRET": ""}).webhook_key is None
    with pytest.raises(Refused, match="RAGQ_WEBHOOK_SECRET"):
        webhook_url(ProcessSettings(), "https://hooks.example.org/")
    assert webhook_url(ProcessSettings(), None) is None
    settings = ProcessSettings(ragq_webhook_secret=SECRET)
    assert webhook_url(settings, "https://hooks.example.org/") == "https://hooks.example.org/"
