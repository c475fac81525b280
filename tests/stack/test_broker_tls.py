"""TLS to the broker checks the certificate and the host name."""

import ssl

from stack.connections import broker_address
from workers.app import make_app


def test_a_redis_url_without_options_is_not_taken_for_permission_to_skip_the_check() -> None:
    with make_app("rediss://:pw@broker.example:6379/0").connection_for_read() as connection:
        assert connection.ssl == {"ssl_cert_reqs": ssl.CERT_REQUIRED, "ssl_check_hostname": True}


def test_an_authority_in_the_url_replaces_those_of_the_machine() -> None:
    with make_app("rediss://:pw@broker.example:6379/0?ssl_ca_certs=/ca.pem").connection_for_read() as connection:
        # redis-py asks for a certificate of the host unless it is told otherwise.
        assert connection.ssl == {"ssl_ca_certs": "/ca.pem"}


def test_rabbitmq_is_asked_for_a_certificate_of_its_name() -> None:
    url = "amqps://me:pw@broker.example:5671/ragq?ssl_ca_certs=/ca.pem&ssl_certfile=/me.pem&ssl_keyfile=/me.key"
    assert broker_address(url).tls == {
        "cert_reqs": ssl.CERT_REQUIRED,
        "server_hostname": "broker.example",
        "ca_certs": "/ca.pem",
        "certfile": "/me.pem",
        "keyfile": "/me.key",
    }
    with make_app(url).connection_for_read() as connection:
        assert (connection.virtual_host, connection.ssl) == ("ragq", broker_address(url).tls)


def test_without_tls_nothing_is_added() -> None:
    assert make_app("amqp://me:pw@broker.example/ragq").conf.broker_use_ssl is None
