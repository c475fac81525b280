"""ragq's transport with kombu's record of unacknowledged messages, which a worker of Celery alone needs."""

from kombu.transport import redis as kombu_redis

from workers import broker


class Channel(broker.Channel):
    """Keeps a copy of each message in the broker until it is acknowledged."""

    ack_emulation = True
    do_restore = True


class Transport(kombu_redis.Transport):
    """Named in `broker_transport`."""

    Channel = Channel
