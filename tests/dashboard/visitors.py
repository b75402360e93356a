"""People before a browser, without one: they log in, keep cookies and send forms."""

import re

import httpx

from tests.service.servers import Server
from tests.stores import new_token


class Visitors:
    """Everybody who talks to one server; they are shown out at the end."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._clients: list[httpx.Client] = []

    def client(self, token: str | None = None) -> httpx.Client:
        """Return a client of the interface; with the token "" one of nobody."""
        self._clients.append(self.server.client(token))
        return self._clients[-1]

    def enter(self, scope: str = "admin", prefix: str = "") -> httpx.Client:
        """Log in with a new token."""
        return self.log_in(new_token(self.server.store, scope, prefix=prefix))[0]

    def log_in(self, token: str) -> tuple[httpx.Client, httpx.Response]:
        client = self.client("")
        page = client.get("/login")
        answer = client.post("/login", data={"csrf": csrf_in(page), "token": token, "next": "/"})
        return client, answer

    def leave(self) -> None:
        for client in self._clients:
            client.close()


def csrf_in(page: httpx.Response) -> str:
    found: list[str] = re.findall(r'name="csrf" value="([^"]+)"', page.text)
    return found[-1]


def post(client: httpx.Client, page: str, path: str, **fields: str) -> httpx.Response:
    """Send a form that stands on a page."""
    return client.post(path, data={"csrf": csrf_in(client.get(page)), **fields})
