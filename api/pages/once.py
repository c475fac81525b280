"""Forms that make one thing however often they are sent."""

from hashlib import sha256

from pydantic import BaseModel

from api.security.authentication import Principal
from store.access.idempotency import RequestKey


def form_key(principal: Principal, once: str, what: str, form: BaseModel) -> RequestKey:
    """The key of a form: of its mark `once`, which was made with it, and of what was filled in.

    So a form that went back, was changed and is sent again asks for something else.
    """
    said = sha256(f"{what} {form.model_dump_json()}".encode()).hexdigest()
    return RequestKey(principal=principal.name, key=f"{once} {said}", request_hash=said)
