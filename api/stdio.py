"""The tools of MCP on standard input and output: `python -m api.stdio`, with `--sensitive` for texts of transcripts."""

import asyncio
import sys

from mcp.server.stdio import stdio_server

from api.app import context, make_app
from api.mcp import make_server
from api.security.authentication import Principal
from schemas.errors import RagqError


async def serve(*, is_sensitive: bool) -> None:
    """Serve until the client closes standard input. Whoever may start this may read the database."""
    ctx = context()
    try:
        local = Principal(name="open", can_write=True)
        server = make_server(make_app(ctx), local=local, is_sensitive=is_sensitive)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        await ctx.close()


if __name__ == "__main__":
    try:
        asyncio.run(serve(is_sensitive="--sensitive" in sys.argv))
    except RagqError as error:
        sys.exit(f"ragq: {error}")
