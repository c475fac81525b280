"""Forms that create one thing however often they are sent."""

from hashlib import sha256

from pydantic import BaseModel

from api.security.authentication import Principal
from store.access.idempotency import RequestKey


def form_key(principal: Principal, once: str, what: str, form: BaseModel) -> RequestKey:
    """The key of a form: its random value `once`, and a hash of what was filled in.

    So a form that is changed after going back, and sent again, is another request.
    """
    content_hash = sha256(f"{what} {form.model_dump_json()}".encode()).hexdigest()
    return RequestKey(principal=principal.name, key=f"{once} {content_hash}", request_hash=content_hash)
